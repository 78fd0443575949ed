import type { Message, Part } from "../../src/chat/message.ts";

/** SE-6 written a second time, naive and apart from the product: what is wrong with a chat as a request, or null. */
export const invalidity = (chat: readonly Message[]): string | null => {
  if (chat[0]?.role !== "user") return "(a) it does not begin with a user message";
  if (chat.at(-1)?.role === "assistant") return "(e) it ends with the assistant";
  const seen = new Set<string>();
  let due: string[] = [];
  for (const message of chat) {
    const where = `${message.id}: `;
    if (message.role === "system") return `${where}a system message`;
    if (!message.parts.some(isVisible)) return `${where}(d) no visible content`;
    if (message.role === "tool") {
      const [part, ...more] = message.parts;
      if (part?.type !== "tool_result" || more.length > 0) return `${where}(b) not one result`;
      if (part.call !== due[0]) return `${where}(b, c) result of ${part.call}, but ${due[0]} is due`;
      due = due.slice(1);
      continue;
    }
    if (due.length > 0) return `${where}(b) comes before the results of ${due.join(", ")}`;
    for (const part of message.parts) {
      if (part.type === "tool_result") return `${where}(c) a result in a ${message.role} message`;
      if (part.type === "reasoning" && message.role === "user") return `${where}reasoning of a user`;
      if (part.type !== "tool_call") continue;
      if (message.role === "user") return `${where}a call in a user message`;
      if (seen.has(part.id)) return `${where}(c) ${part.id} is used twice`;
      seen.add(part.id);
      due.push(part.id);
    }
  }
  return due.length > 0 ? `(b) it ends without the results of ${due.join(", ")}` : null;
};

const isVisible = (part: Part): boolean =>
  part.type === "text" ? part.text.trim() !== "" : part.type !== "reasoning";
