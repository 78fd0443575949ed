import { renderMessage } from "../../chat/render.ts";
import type { Message } from "../../chat/message.ts";
import { estimateText } from "../../chat/tokens.ts";
import { callsOf } from "../../chat/view.ts";

/** A request for a plan differs from that of a turn by this text at its end, and by its tools. */

const text =
  "Before anything is done, make a plan: which files you need, what you will change in each, and in which order. Write the plan and nothing else. You cannot call tools now; you will carry the plan out afterwards.";

export const planInstruction: Message = renderMessage({
  id: "msg_plan_instruction",
  pos: -1,
  role: "user",
  origin: "system",
  sender: "plan",
  marks: ["note"],
  parts: [{ type: "text", text }],
  at: 0,
  tokens: estimateText(text),
});

/**
 * Returns whether a request for a plan declares tools: providers take calls in a history only with their
 * tools.
 */
export const declaresTools = (chat: readonly Message[]): boolean =>
  chat.some((message) => callsOf(message).length > 0);
