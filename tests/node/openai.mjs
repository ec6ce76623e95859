// The official OpenAI client: chat, responses and text completions.
import OpenAI from "openai";
import { Order, serve } from "./lines.mjs";

const client = ({ url }) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const usage = { stream_options: { include_usage: true } };

const chat = ({ text, limit, more }) => ({
  model: "m",
  max_tokens: limit,
  messages: [{ role: "user", content: text }],
  ...more,
});
const response = ({ text, limit, more }) => ({
  model: "m",
  max_output_tokens: limit,
  input: text,
  ...more,
});
const completion = ({ text, limit, more }) => ({
  model: "m",
  max_tokens: limit,
  prompt: text,
  ...more,
});

function readChat({ choices, usage }, order, reasoning) {
  const [{ message, finish_reason: finish }] = choices;
  return {
    order: order?.kinds,
    reasoning: reasoning ?? message.reasoning_content,
    content: message.content ?? "",
    calls: (message.tool_calls ?? []).map((call) => [
      call.function.name,
      call.function.arguments,
    ]),
    finish,
    output_tokens: usage?.completion_tokens,
  };
}

async function chatStreamed(asked) {
  const body = { ...chat(asked), ...usage };
  const stream = client(asked).chat.completions.stream(body);
  const order = new Order();
  let reasoning = "";
  for await (const { choices } of stream)
    for (const { delta, finish_reason: finish } of choices) {
      reasoning += delta.reasoning_content ?? "";
      if (delta.reasoning_content) order.add("reasoning");
      if (delta.content) order.add("text");
      if (delta.tool_calls) order.add("call");
      if (finish) order.kinds.push("finish");
    }
  return readChat(await stream.finalChatCompletion(), order, reasoning);
}

const chatWhole = async (asked) =>
  readChat(await client(asked).chat.completions.create(chat(asked)));

function readResponse({ output, output_text, status, usage }, order) {
  const items = (kind) => output.filter((item) => item.type === kind);
  const parts = items("reasoning").flatMap((item) => item.content);
  return {
    order: order?.kinds,
    reasoning: parts.map((part) => part.text).join(""),
    content: output_text,
    calls: items("function_call").map((call) => [call.name, call.arguments]),
    finish: status,
    output_tokens: usage?.output_tokens,
  };
}

async function responsesStreamed(asked) {
  const stream = client(asked).responses.stream(response(asked));
  const order = new Order();
  for await (const event of stream) order.add(event.type);
  const final = await stream.finalResponse();
  if (final.error) throw new Error(final.error.message);
  return readResponse(final, order);
}

const responsesWhole = async (asked) =>
  readResponse(await client(asked).responses.create(response(asked)));

async function completionsStreamed(asked) {
  const body = { ...completion(asked), ...usage, stream: true };
  const order = new Order();
  const got = { order: order.kinds, content: "", calls: [] };
  for await (const chunk of await client(asked).completions.create(body)) {
    for (const choice of chunk.choices) {
      got.content += choice.text;
      if (choice.text) order.add("text");
      if (choice.finish_reason) order.kinds.push("finish");
      got.finish = choice.finish_reason ?? got.finish;
    }
    got.output_tokens = chunk.usage?.completion_tokens ?? got.output_tokens;
  }
  return got;
}

async function completionsWhole(asked) {
  const { choices, usage } = await client(asked).completions.create(
    completion(asked),
  );
  return {
    content: choices[0].text,
    calls: [],
    finish: choices[0].finish_reason,
    output_tokens: usage?.completion_tokens,
  };
}

serve({
  "chat streamed": chatStreamed,
  "chat whole": chatWhole,
  "responses streamed": responsesStreamed,
  "responses whole": responsesWhole,
  "completions streamed": completionsStreamed,
  "completions whole": completionsWhole,
});
