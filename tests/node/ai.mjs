// The AI SDK with its three providers, and what it makes of a turn part by part.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { Order, serve } from "./lines.mjs";

const compatible = (baseURL) =>
  createOpenAICompatible({ name: "local", baseURL, includeUsage: true });
const MODELS = {
  chat: (baseURL) => compatible(baseURL).chatModel("m"),
  completions: (baseURL) => compatible(baseURL).completionModel("m"),
  messages: (baseURL) => createAnthropic({ baseURL, apiKey: "none" })("m"),
  responses: (baseURL) =>
    createOpenAI({ baseURL, apiKey: "none" }).responses("m"),
};
const look = tool({
  inputSchema: jsonSchema({
    type: "object",
    properties: { at: { type: "string" } },
  }),
});

const options = (dialect, { url, text, limit, more }) => ({
  model: MODELS[dialect](`${url}/v1`),
  prompt: text,
  maxOutputTokens: limit,
  maxRetries: 0,
  ...(dialect === "completions" ? {} : { tools: { look } }),
  ...more,
});

function read(result, order) {
  return {
    order: order?.kinds,
    reasoning: result.reasoningText ?? "",
    content: result.text,
    calls: result.toolCalls
      .filter((call) => !call.invalid)
      .map((call) => [call.toolName, JSON.stringify(call.input)]),
    finish: result.finishReason,
    output_tokens: result.totalUsage.outputTokens,
  };
}

const KEYS = ["reasoningText", "text", "toolCalls", "finishReason", "totalUsage"];

async function streamed(dialect, asked) {
  const result = streamText({ ...options(dialect, asked), onError: () => {} });
  const order = new Order();
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    order.add(part.type);
  }
  const values = await Promise.all(KEYS.map((key) => result[key]));
  return read(Object.fromEntries(KEYS.map((key, at) => [key, values[at]])), order);
}

const whole = async (dialect, asked) =>
  read(await generateText(options(dialect, asked)));

serve(
  Object.fromEntries(
    Object.keys(MODELS).flatMap((dialect) => [
      [`${dialect} streamed`, (asked) => streamed(dialect, asked)],
      [`${dialect} whole`, (asked) => whole(dialect, asked)],
    ]),
  ),
);
