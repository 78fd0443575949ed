import type { Message, Part } from "../../src/chat/message.ts";
import type { ModelRequest } from "../../src/model/completer.ts";

/** Messages and model requests as tests of models, protocols and providers make them. */

let made = 0;

export const message = (
  role: Message["role"],
  parts: readonly Part[] | string,
  fields: Partial<Message> = {},
): Message => {
  made += 1;
  return {
    id: `msg_${made}`,
    pos: made,
    role,
    origin: role === "user" ? "human" : role === "assistant" ? "agent" : "system",
    parts: typeof parts === "string" ? [{ type: "text", text: parts }] : parts,
    at: 0,
    tokens: 10,
    ...fields,
  };
};

/** A tool's result message. */
export const result = (call: string, name: string, text: string, status: "ok" | "error" = "ok"): Message =>
  message("tool", [{ type: "tool_result", call, name, status, content: [{ type: "text", text }] }]);

export const request = (fields: Partial<ModelRequest> = {}): ModelRequest => ({
  model: "model-1",
  system: "You help.",
  messages: [message("user", "Hi.")],
  tools: [],
  toolChoice: "auto",
  maxTokens: 1_000,
  cache: { mode: "auto", ttl: "5m" },
  media: () => "aGVsbG8=",
  context: {
    session: "s_1",
    agent: "guide",
    thread: "main",
    run: "r_1",
    turn: 1,
    call: 0,
    attempt: 1,
    purpose: "turn",
  },
  ...fields,
});
