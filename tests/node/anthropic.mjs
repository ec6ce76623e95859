// The official Anthropic client: messages.
import Anthropic from "@anthropic-ai/sdk";
import { Order, serve } from "./lines.mjs";

const client = ({ url }) =>
  new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
const body = ({ text, limit, more }) => ({
  model: "m",
  max_tokens: limit,
  messages: [{ role: "user", content: text }],
  ...more,
});

function read({ content, stop_reason, usage }, order) {
  const blocks = (kind) => content.filter((block) => block.type === kind);
  return {
    order: order?.kinds,
    reasoning: blocks("thinking").map((block) => block.thinking).join(""),
    content: blocks("text").map((block) => block.text).join(""),
    calls: blocks("tool_use").map((block) => [
      block.name,
      JSON.stringify(block.input),
    ]),
    finish: stop_reason,
    output_tokens: usage.output_tokens,
  };
}

async function streamed(asked) {
  const stream = client(asked).messages.stream(body(asked));
  const order = new Order();
  for await (const event of stream)
    order.add(event.delta?.type ?? event.content_block?.type ?? event.type);
  return read(await stream.finalMessage(), order);
}

const whole = async (asked) =>
  // above some limit the client asks for no whole message unless it is told how long
  read(await client(asked).messages.create(body(asked), { timeout: 60_000 }));

serve({ "messages streamed": streamed, "messages whole": whole });
