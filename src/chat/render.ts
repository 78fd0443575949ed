import { shownTokens } from "./message.ts";
import type { ContentPart, Message, Part } from "./message.ts";

/** Tags that only the runtime may write: in text of people, tools and MCP servers they are escaped on rendering. */
const ownTags =
  /<(?=\/?(?:note|identity|instructions|notes_protocol|project_context|skills|available_skills|available_agents|completion_protocol|delegation_context|handoff_context|prior_reflections|memory)\b)/gi;

const renderCache = new WeakMap<Message, Message>();

/** Escapes the runtime's tags in a text; the stored text stays as given. */
export const escapeTags = (text: string): string =>
  text.includes("<") ? text.replace(ownTags, "&lt;") : text;

const escapePart = (part: Part): Part => {
  if (part.type === "text") {
    const text = escapeTags(part.text);
    return text === part.text ? part : { ...part, text };
  }
  if (part.type !== "tool_result") return part;
  const content = part.content.map((piece) => escapePart(piece) as ContentPart);
  return content.every((piece, index) => piece === part.content[index]) ? part : { ...part, content };
};

const wrapNote = (message: Message): readonly Part[] =>
  shownParts(message).map((part) =>
    part.type === "text"
      ? { ...part, text: `<note from="${message.sender ?? message.origin}">${escapeTags(part.text)}</note>` }
      : part,
  );

const prefixSteering = (parts: readonly Part[]): readonly Part[] => {
  const at = parts.findIndex((part) => part.type === "text");
  if (at < 0) return [{ type: "text", text: "[STEERING] " }, ...parts];
  return parts.map((part, index) =>
    index === at && part.type === "text" ? { ...part, text: `[STEERING] ${part.text}` } : part,
  );
};

const overlayPart = (part: Part, text: string, media: boolean): Part => {
  if (part.type !== "tool_result") return { type: "text", text };
  const kept = media ? part.content.filter(({ type }) => type !== "text") : [];
  return { ...part, content: [{ type: "text", text }, ...kept] };
};

/** The parts of a message as a model sees them, with overlays applied. */
export const shownParts = ({ parts, overlay }: Pick<Message, "parts" | "overlay">): readonly Part[] =>
  overlay === undefined
    ? parts
    : parts.map((part, index) => {
        const text = overlay.texts[index];
        return text === undefined ? part : overlayPart(part, text, overlay.media);
      });

const renderParts = (message: Message): readonly Part[] => {
  const shown = shownParts(message);
  if (message.role === "assistant" || message.role === "system") return shown;
  if (message.role === "tool") return shown.map(escapePart);
  if (message.marks?.includes("note")) return wrapNote(message);
  // Agents write the task messages of their children in the runtime's tags on purpose.
  const parts = message.origin === "agent" ? shown : shown.map(escapePart);
  return message.marks?.includes("steering") ? prefixSteering(parts) : parts;
};

/** Renders a message for a model. The same message always gives the same object, so that it can be cached. */
export const renderMessage = (message: Message): Message => {
  const known = renderCache.get(message);
  if (known !== undefined) return known;
  const parts = renderParts(message);
  const same = parts === message.parts || parts.every((part, index) => part === message.parts[index]);
  const result = same ? message : { ...message, parts, tokens: shownTokens(message) };
  renderCache.set(message, result);
  return result;
};
