/** A piece of a reply's text, told apart into reasoning and answer. */
interface Piece {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

/** Splits a leading `<think>…</think>` off a text that comes in any pieces. */
export interface ThinkTags {
  readonly feed: (text: string) => readonly Piece[];
  /** What was held back because it could have been the start of a tag. */
  readonly end: () => readonly Piece[];
}

const open = "<think>";
const close = "</think>";

/** Length of the longest end of `text` that white space and then the beginning of `tag` could make. */
const heldBack = (text: string, tag: string): number => {
  let held = Math.min(text.length, tag.length - 1);
  while (held > 0 && !tag.startsWith(text.slice(text.length - held))) held -= 1;
  const before = text.slice(0, text.length - held);
  return text.length - before.trimEnd().length;
};

const piece = (type: Piece["type"], text: string): readonly Piece[] => (text === "" ? [] : [{ type, text }]);

export const createThinkTags = (): ThinkTags => {
  let at: "start" | "inside" | "leading" | "after" = "start";
  let held = "";
  let thought = false;

  const inside = (): readonly Piece[] => {
    if (!thought) held = held.trimStart();
    const end = held.indexOf(close);
    const cut = end < 0 ? held.length - heldBack(held, close) : end;
    const text = end < 0 ? held.slice(0, cut) : held.slice(0, cut).trimEnd();
    thought ||= text !== "";
    held = held.slice(end < 0 ? cut : cut + close.length);
    if (end >= 0) at = "leading";
    return end < 0 ? piece("reasoning", text) : [...piece("reasoning", text), ...answer()];
  };
  const answer = (): readonly Piece[] => {
    if (at === "leading") held = held.trimStart();
    if (held !== "") at = "after";
    const text = held;
    held = "";
    return piece("text", text);
  };
  const begin = (): readonly Piece[] => {
    const text = held.trimStart();
    if (text.startsWith(open)) {
      at = "inside";
      held = text.slice(open.length);
      return inside();
    }
    if (open.startsWith(text)) return [];
    at = "after";
    return answer();
  };

  const feed = (text: string): readonly Piece[] => {
    if (at === "after") return piece("text", text);
    held += text;
    if (at === "start") return begin();
    return at === "inside" ? inside() : answer();
  };
  const end = (): readonly Piece[] => {
    const text = held;
    held = "";
    return piece(at === "inside" ? "reasoning" : "text", at === "inside" ? text.trimEnd() : text);
  };
  return { feed, end };
};
