import type { ReportedMessage, SessionEvent } from "../agent/state/events.ts";
import type { Json } from "../chat/message.ts";
import { firstCharacters } from "../chat/text.ts";
import { utf8Length } from "../chat/tokens.ts";

/** Events are stored and sent as one line of JSON each, whose `data` has at most 64 KiB of UTF-8. */

const dataLimit = 65_536;

/** Returns whether a text has more UTF-8 bytes than data may have; most are short enough to skip the count. */
const isTooLong = (text: string): boolean =>
  text.length * 3 > dataLimit && (text.length > dataLimit || utf8Length(text) > dataLimit);

const truncateStrings = (value: Json, most: number): Json => {
  if (typeof value === "string") return value.length <= most ? value : `${firstCharacters(value, most)}…`;
  if (Array.isArray(value)) return value.map((each: Json) => truncateStrings(each, most));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, truncateStrings(each, most)]));
};

/** Fits data by cutting its longest texts first; the session's messages keep the whole. */
const fitData = (data: Json): Json => {
  for (let most = 32_768; most >= 64; most /= 4) {
    const cut = truncateStrings(data, most);
    const shown =
      typeof cut === "object" && cut !== null && !Array.isArray(cut) ? { ...cut, truncated: true } : cut;
    if (!isTooLong(JSON.stringify(shown))) return shown;
  }
  return { truncated: true };
};

/** Quotes a text in ASCII, because one character beyond Latin-1 would double the memory of the event's text. */
const toAscii = (text: string): string =>
  JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

let knownAgent = { name: "", prefix: "", text: "" };

/** Returns an event's agent as text; it caches the last one, since most events share the agent of the one before. */
const agentText = ({ name, prefix }: SessionEvent["agent"]): string => {
  if (knownAgent.name !== name || knownAgent.prefix !== prefix)
    knownAgent = { name, prefix, text: `{"name":${toAscii(name)},"prefix":${toAscii(prefix)}}` };
  return knownAgent.text;
};

/** Holds the texts of a commit's events, without what the commit adds to them, and of the messages in them. */
export interface EventTexts {
  readonly texts: readonly string[];
  readonly messages: ReadonlyMap<ReportedMessage, string>;
}

const dataText = (event: SessionEvent, messages: Map<ReportedMessage, string>): string => {
  if (event.type !== "message_added") return JSON.stringify(event.data);
  const { message, final } = event.data;
  const text = JSON.stringify(message);
  messages.set(message, text);
  return `{"message":${text},"final":${final}}`;
};

/** Builds the text field by field, which costs a fraction of a serialised copy. */
const eventTextOf = (event: SessionEvent, messages: Map<ReportedMessage, string>): string => {
  const { type, thread, agent, run, turn, attempt, call, item, node } = event;
  let text = `"type":"${type}","thread":"${thread}","agent":${agentText(agent)}`;
  if (run !== undefined) text += `,"run":"${run}"`;
  if (turn !== undefined) text += `,"turn":${turn}`;
  if (attempt !== undefined) text += `,"attempt":${attempt}`;
  if (call !== undefined) text += `,"call":${JSON.stringify(call)}`;
  if (item !== undefined) text += `,"item":${JSON.stringify(item)}`;
  if (node !== undefined) text += `,"node":${JSON.stringify(node)}`;
  const data = dataText(event, messages);
  const shown = isTooLong(data) ? JSON.stringify(fitData(event.data as unknown as Json)) : data;
  return `${text},"data":${shown}}`;
};

export const eventTextsOf = (events: readonly SessionEvent[]): EventTexts => {
  const messages = new Map<ReportedMessage, string>();
  return { texts: events.map((event) => eventTextOf(event, messages)), messages };
};

/** Returns the lines of a commit's events, the first of which has the number `first`. */
export const eventLinesOf = (
  texts: readonly string[],
  session: string,
  first: number,
  at: number,
): readonly string[] => {
  const id = JSON.stringify(session);
  const after = `","at":${at},"session":${id},`;
  return texts.map((text, index) => {
    const seq = first + index;
    return `{"v":1,"seq":${seq},"id":${id.slice(0, -1)}:${seq}${after}${text}`;
  });
};
