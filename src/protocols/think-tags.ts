/** Piece of a reply's text, marked as reasoning or answer. */
interface ThinkPiece {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

/** Separates a leading `<think>…</think>` from a text that arrives in any pieces. */
export interface ThinkTags {
  readonly feed: (text: string) => readonly ThinkPiece[];
  /** Releases text that was held back as the possible start of a tag. */
  readonly end: () => readonly ThinkPiece[];
}

const openTag = "<think>";
const closeTag = "</think>";

/** Returns the length of the longest end of a text that consists of white space and then a beginning of the closing tag. */
const heldLength = (text: string): number => {
  let held = Math.min(text.length, closeTag.length - 1);
  while (held > 0 && !closeTag.startsWith(text.slice(text.length - held))) held -= 1;
  const before = text.slice(0, text.length - held);
  return text.length - before.trimEnd().length;
};

const createPieces = (type: ThinkPiece["type"], text: string): readonly ThinkPiece[] =>
  text === "" ? [] : [{ type, text }];

export const createThinkTags = (): ThinkTags => {
  let at: "start" | "inside" | "leading" | "after" = "start";
  let held = "";
  let thought = false;

  const inside = (): readonly ThinkPiece[] => {
    if (!thought) held = held.trimStart();
    const end = held.indexOf(closeTag);
    const cut = end < 0 ? held.length - heldLength(held) : end;
    const text = end < 0 ? held.slice(0, cut) : held.slice(0, cut).trimEnd();
    thought ||= text !== "";
    held = held.slice(end < 0 ? cut : cut + closeTag.length);
    if (end >= 0) at = "leading";
    return end < 0 ? createPieces("reasoning", text) : [...createPieces("reasoning", text), ...answer()];
  };
  const answer = (): readonly ThinkPiece[] => {
    if (at === "leading") held = held.trimStart();
    if (held !== "") at = "after";
    const text = held;
    held = "";
    return createPieces("text", text);
  };
  const begin = (): readonly ThinkPiece[] => {
    const text = held.trimStart();
    if (text.startsWith(openTag)) {
      at = "inside";
      held = text.slice(openTag.length);
      return inside();
    }
    if (openTag.startsWith(text)) return [];
    at = "after";
    return answer();
  };

  const feed = (text: string): readonly ThinkPiece[] => {
    if (at === "after") return createPieces("text", text);
    held += text;
    if (at === "start") return begin();
    return at === "inside" ? inside() : answer();
  };
  const end = (): readonly ThinkPiece[] => {
    const text = held;
    held = "";
    return createPieces(at === "inside" ? "reasoning" : "text", at === "inside" ? text.trimEnd() : text);
  };
  return { feed, end };
};
