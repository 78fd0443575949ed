import { isJsonObject } from "../chat/json.ts";
import type { JsonObject } from "../chat/json.ts";
import type { Json } from "../chat/message.ts";

/** Collector of `reasoning_details`, which stream in pieces and are returned whole and in order. */
export interface ReasoningDetails {
  /** Takes pieces and returns their readable text. */
  readonly take: (pieces: unknown) => string;
  /** Returns the details so far; none unless the server wants them back. */
  readonly all: () => readonly Json[];
}

const detailText = ({ text, summary }: JsonObject): string =>
  typeof text === "string" ? text : typeof summary === "string" ? summary : "";

/** Appends a piece's texts; other fields are sent only once, and are null elsewhere. */
const mergePiece = (known: JsonObject, piece: JsonObject): JsonObject => {
  const grown = ["text", "summary", "data"].flatMap((key) => {
    const more = piece[key];
    const before = known[key];
    return typeof more === "string" && typeof before === "string" ? [[key, before + more] as const] : [];
  });
  const given = Object.entries(piece).filter(([, value]) => value !== null);
  return { ...known, ...Object.fromEntries([...given, ...grown]) };
};

export const createReasoningDetails = (keep: boolean): ReasoningDetails => {
  const details: JsonObject[] = [];
  const keepPiece = (piece: JsonObject): void => {
    const at = details.findLastIndex(({ index, type }) => index === piece["index"] && type === piece["type"]);
    const known = piece["index"] === undefined ? undefined : details[at];
    if (known === undefined) details.push(piece);
    else details[at] = mergePiece(known, piece);
  };
  const take = (pieces: unknown): string => {
    if (!Array.isArray(pieces)) return "";
    const taken = pieces.filter(isJsonObject);
    if (keep) taken.forEach(keepPiece);
    return taken.map(detailText).join("");
  };
  return { take, all: () => details };
};
