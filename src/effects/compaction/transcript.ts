import type { Block } from "../../chat/blocks.ts";
import type { Message, Part } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateEnd, mediaReference, withReferences } from "../shortened/texts.ts";

/** Formats the messages of a range, from their originals, as text for the model that summarises them. */

const argsLength = 200;
const resultLength = 500;

const labelOf = ({ role, marks }: Message): string =>
  marks?.includes("note") === true ? "note" : marks?.includes("steering") === true ? "user, steering" : role;

const lineOf = (message: Message, part: Part): string | null => {
  switch (part.type) {
    case "text":
      return /\S/.test(part.text) ? `[${labelOf(message)}] ${part.text}` : null;
    case "reasoning":
      return null;
    case "image":
    case "document":
      return `[${labelOf(message)}] ${mediaReference(message, part)}`;
    case "tool_call":
      return `[assistant] called ${part.name}(${truncateEnd(part.args, argsLength, "…")})`;
    case "tool_result": {
      const text = truncateEnd(textOf(part.content), resultLength, "…");
      const kind = part.status === "ok" ? "tool result" : `tool ${part.status}`;
      return `[${kind}: ${part.name}] ${withReferences(message, part.content, text)}`;
    }
  }
};

/** Block as the summarising model reads it. */
export interface TranscriptPiece {
  readonly block: Block;
  readonly text: string;
  readonly tokens: number;
}

/** Returns the transcript of a block. */
export const pieceOf = (
  view: readonly Message[],
  block: Block,
  tokens: (text: string) => number,
): TranscriptPiece => {
  const lines = view
    .slice(block.start, block.end)
    .flatMap((message) => message.parts.map((part) => lineOf(message, part)))
    .filter((line) => line !== null);
  const text = lines.join("\n");
  return { block, text, tokens: tokens(text) };
};
