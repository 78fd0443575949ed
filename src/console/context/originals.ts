import type { KnownCalls } from "./names.ts";
import { callsById, nameCall, nameMessage } from "./names.ts";
import type { Api } from "../state/api.ts";
import type { ContextRow, SeenMessage } from "./view.ts";

/** Messages that are no longer sent, as the session keeps them. */

interface WirePart {
  readonly type: string;
  readonly text?: string;
  /** Of a call: its id, its tool and its arguments as JSON. */
  readonly id?: string;
  readonly name?: string;
  readonly args?: string;
  /** Of a result: the call that it answers, and what came of it. */
  readonly call?: string;
  readonly content?: readonly {
    readonly type?: string;
    readonly text?: string;
    readonly media_type?: string;
  }[];
  readonly media_type?: string;
}

/** A message as the API of messages tells it. */
export interface WireMessage {
  readonly id: string;
  readonly role: SeenMessage["role"];
  readonly origin: string;
  readonly tokens: number;
  readonly parts: readonly WirePart[];
  readonly summary?: object;
  readonly marks?: readonly string[];
  readonly overlay?: { readonly by: string | null; readonly tokens: number; readonly texts: object };
}

const mediaText = ({ type, media_type: media }: Pick<WirePart, "type" | "media_type">): string =>
  `[${type} ${media ?? ""}]`;

const partText = (part: WirePart): string => {
  if (part.type === "tool_call") return `${part.name ?? ""}(${part.args ?? ""})`;
  if (part.content !== undefined)
    return part.content
      .map(({ type = "", text, media_type = "" }) => text ?? mediaText({ type, media_type }))
      .join("\n");
  return part.text ?? mediaText(part);
};

/** The whole text of a message, as it compares with what was sent of it. */
export const originalText = ({ parts }: WireMessage): string => parts.map(partText).join("\n");

/** So many messages come in one answer of the API. */
const most = 200;

/** Reads the originals of what rows of a thread stand for, the newest where there are too many. */
export const readOriginals = async (
  api: Pick<Api, "read">,
  session: string,
  thread: string,
  rows: readonly ContextRow[],
  signal: AbortSignal,
): Promise<readonly WireMessage[]> => {
  const places = rows.flatMap((row) => row.places);
  if (places.length === 0) return [];
  const before = Math.max(...places) + 1;
  const limit = Math.min(most, before - Math.min(...places));
  const { data } = await api.read<{ readonly data: readonly WireMessage[] }>(
    `/sessions/${session}/messages?thread=${thread}&retired=true&before=${before}&limit=${limit}`,
    { signal },
  );
  const ids = new Set(rows.flatMap((row) => row.messages));
  return data.filter(({ id }) => ids.has(id));
};

/** A message with what a person is told of it. */
export interface OriginalBlock {
  readonly id: string;
  readonly name: string;
  readonly isCode: boolean;
  readonly role: string;
  readonly tokens: number;
  /** What it had been shortened to before it left, and by which effect; null if it was sent whole. */
  readonly shortened: { readonly by: string | null; readonly tokens: number } | null;
  readonly text: string;
  /** The calls that it asks for, by tool and subject. */
  readonly calls: readonly string[];
}

const callsIn = ({ parts }: WireMessage): NonNullable<SeenMessage["calls"]> =>
  parts.flatMap(({ type, id = "", name: tool = "", args = "", call = "" }) => {
    if (type === "tool_call") return [{ id, tool, args }];
    return type === "tool_result" ? [{ id: call, tool }] : [];
  });

const stateOf = ({ summary, marks = [] }: WireMessage): SeenMessage["state"] => {
  if (summary !== undefined) return "summary";
  return marks.includes("note") ? "note" : "full";
};

const blockOf = (message: WireMessage, agent: string, known: KnownCalls): OriginalBlock => {
  const { id, role, origin, tokens, parts, overlay } = message;
  const calls = callsIn(message);
  const isShortened = overlay !== undefined && Object.keys(overlay.texts).length > 0;
  return {
    ...nameMessage({ role, origin, state: stateOf(message), calls }, agent, known),
    id,
    role,
    tokens,
    shortened: isShortened ? { by: overlay.by, tokens: overlay.tokens } : null,
    text: parts
      .filter(({ type }) => type !== "tool_call")
      .map(partText)
      .join("\n"),
    calls: role === "assistant" ? calls.map((call) => nameCall(call, known)) : [],
  };
};

/** One block for each message; results have the names of the calls that are among the messages. */
export const blocksOf = (messages: readonly WireMessage[], agent: string): readonly OriginalBlock[] => {
  const known = callsById(messages.map((message) => ({ calls: callsIn(message) })));
  return messages.map((message) => blockOf(message, agent, known));
};

/** The blocks as one text to copy. */
export const joinBlocks = (blocks: readonly OriginalBlock[]): string =>
  blocks
    .map(({ name, role, text, calls }) => [`${name} (${role})`, text, ...calls].filter(Boolean).join("\n"))
    .join("\n\n");
