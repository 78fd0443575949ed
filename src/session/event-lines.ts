import type { ReportedMessage, SessionEvent, EventType } from "../agent/state/events.ts";
import type { Json } from "../chat/message.ts";
import { firstCharacters } from "../chat/text.ts";
import { utf8Length } from "../chat/tokens.ts";
import { digestJson } from "../tools/canonical.ts";
import { findNearestName } from "../tools/suggest.ts";
import { pageBytes } from "./paging.ts";
import { refuseField } from "./problems.ts";
import type { Ask } from "../agent/state/ask.ts";
import { answerScopeOf } from "./rpc.ts";
import type { Principal } from "./rpc.ts";

/** Events are stored and sent as one line of JSON each, whose `data` has at most 64 KiB of UTF-8. */

const dataLimit = 65_536;

/** Returns whether a text has more UTF-8 bytes than data may have; most are short enough to skip the count. */
const isTooLong = (text: string): boolean =>
  text.length * 3 > dataLimit && (text.length > dataLimit || utf8Length(text) > dataLimit);

/**
 * Cuts texts to `most` characters, and lists and objects to fewer entries, but never to fewer than Limpet's own objects
 * have. Lists and objects below `levels` levels become empty.
 */
const truncateValue = (value: Json, most: number, levels: number): Json => {
  const entries = levels === 0 ? 0 : Math.max(24, most >> 6);
  if (typeof value === "string") return value.length <= most ? value : `${firstCharacters(value, most)}…`;
  if (Array.isArray(value))
    return value.slice(0, entries).map((each: Json) => truncateValue(each, most, levels - 1));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).slice(0, entries);
  return Object.fromEntries(kept.map(([key, each]) => [key, truncateValue(each, most, levels - 1)]));
};

/** Cuts, the mildest first. With three levels left, an ask is whole but for its input, which is on the fourth. */
const cuts: readonly (readonly [most: number, levels: number])[] = [
  ...[32_768, 8_192, 2_048, 512, 128].map((most) => [most, Infinity] as const),
  ...[5, 4, 3, 2, 1].map((levels) => [128, levels] as const),
];

/** Returns the digest of a call's whole arguments, for an event that shows a part of them. */
const inputDigestOf = (data: Json): { readonly input_sha256?: string } =>
  typeof data === "object" && data !== null && "input" in data
    ? { input_sha256: digestJson(data["input"]) }
    : {};

const cutData = (data: Json): Json => {
  const digest = inputDigestOf(data);
  for (const [most, levels] of cuts) {
    const cut = truncateValue(data, most, levels);
    const shown =
      typeof cut === "object" && cut !== null && !Array.isArray(cut)
        ? { ...cut, ...digest, truncated: true }
        : cut;
    if (!isTooLong(JSON.stringify(shown))) return shown;
  }
  return { ...digest, truncated: true };
};

/** Fits the text of data by cutting its longest texts and lists first; the session's messages keep the whole. */
export const fitData = (text: string): string =>
  isTooLong(text) ? JSON.stringify(cutData(JSON.parse(text) as Json)) : text;

/**
 * Quotes a text in ASCII, because one character beyond Latin-1 would double the memory of the event's text. The text
 * is put together from its characters: V8 keeps two bytes a character in what `replace` makes of a wider text.
 */
const toAscii = (text: string): string =>
  JSON.stringify(text)
    .split("")
    .map((unit) => (unit < "\u0080" ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`))
    .join("");

let knownAgent = { name: "", prefix: "", text: "" };

/** Returns an event's agent as text; it caches the last one, since most events share the agent of the one before. */
const agentText = ({ name, prefix }: SessionEvent["agent"]): string => {
  if (knownAgent.name !== name || knownAgent.prefix !== prefix)
    knownAgent = { name, prefix, text: `{"name":${toAscii(name)},"prefix":${toAscii(prefix)}}` };
  return knownAgent.text;
};

/** Pieces of an event's line, without what the commit adds to it. */
export interface EventText {
  readonly type: string;
  /** Fields that are shared by most events of a commit: the thread, its agent, the run and the turn. */
  readonly scope: string;
  /** The event's own fields; the text is empty or begins with a comma. */
  readonly own: string;
  readonly data: string;
}

/** Texts of a commit's events, and of the messages in them. */
export interface EventTexts {
  readonly events: readonly EventText[];
  readonly messages: ReadonlyMap<ReportedMessage, string>;
  /** Whether a secret was taken out, so that the events differ from what other rows hold. */
  readonly redacted: boolean;
}

const scopeText = ({ thread, agent, run, turn }: SessionEvent): string => {
  let text = `"thread":"${thread}","agent":${agentText(agent)}`;
  if (run !== undefined) text += `,"run":"${run}"`;
  if (turn !== undefined) text += `,"turn":${turn}`;
  return text;
};

const ownText = ({ attempt, call, item, node }: SessionEvent): string => {
  let text = "";
  if (attempt !== undefined) text += `,"attempt":${attempt}`;
  if (call !== undefined) text += `,"call":${JSON.stringify(call)}`;
  if (item !== undefined) text += `,"item":${JSON.stringify(item)}`;
  if (node !== undefined) text += `,"node":${JSON.stringify(node)}`;
  return text;
};

/** Returns the data of an event that reports a message with this text. */
export const messageData = (message: string, final: boolean): string =>
  fitData(`{"message":${message},"final":${final}}`);

const dataText = (event: SessionEvent, messages: Map<ReportedMessage, string>): string => {
  if (event.type !== "message_added") return fitData(JSON.stringify(event.data));
  const { message, final } = event.data;
  const text = JSON.stringify(message);
  messages.set(message, text);
  return messageData(text, final);
};

/** Builds the texts field by field, which costs a fraction of serialised copies. */
export const eventTextsOf = (events: readonly SessionEvent[]): EventTexts => {
  const messages = new Map<ReportedMessage, string>();
  const texts = events.map((event) => ({
    type: event.type,
    scope: scopeText(event),
    own: ownText(event),
    data: dataText(event, messages),
  }));
  return { events: texts, messages, redacted: false };
};

/** Returns the lines of a commit's events, the first of which has the number `first`. */
export const eventLinesOf = (
  events: readonly EventText[],
  session: string,
  first: number,
  at: number,
): readonly string[] => {
  const id = JSON.stringify(session);
  const after = `","at":${at},"session":${id},"type":"`;
  return events.map(({ type, scope, own, data }, index) => {
    const seq = first + index;
    return `{"v":1,"seq":${seq},"id":${id.slice(0, -1)}:${seq}${after}${type}",${scope}${own},"data":${data}}`;
  });
};

const scopePattern = /^"thread":"([^"]+)"/;

/** Returns the thread of an event from the text of its shared fields. */
export const threadOfScope = (scope: string): string => scopePattern.exec(scope)?.[1] ?? "";

/** Event of the log: what filters ask for, and its line, which is built on demand. */
export interface LoggedEvent {
  readonly seq: number;
  readonly type: string;
  readonly thread: string;
  /** The length of its texts in the log, where content that stands in other rows is left out. */
  readonly length: number;
  readonly line: () => string;
}

/** Filters events by type and thread, shows them as a caller may see them, and cuts the log into pages. */

const eventTypes = {
  session_created: true,
  session_updated: true,
  session_migrated: true,
  model_changed: true,
  input_accepted: true,
  input_edited: true,
  input_applied: true,
  input_withdrawn: true,
  input_returned: true,
  steering_injected: true,
  run_start: true,
  run_waiting: true,
  run_resumed: true,
  run_end: true,
  agent_start: true,
  agent_end: true,
  turn_start: true,
  turn_end: true,
  turn_metrics: true,
  llm_request_preparing: true,
  llm_request_start: true,
  llm_reasoning: true,
  llm_text: true,
  llm_tool_prepare: true,
  llm_finish: true,
  attempt_aborted: true,
  provider_failover: true,
  message_added: true,
  messages_retired: true,
  tool_call_start: true,
  tool_cache_hit: true,
  tool_call_parked: true,
  tool_call_end: true,
  ask_user: true,
  ask_resolved: true,
  ask_expired: true,
  ask_cancelled: true,
  file_change: true,
  context_window_warning: true,
  status_update: true,
  plan_created: true,
  localization_done: true,
  checkpoint: true,
  effect_applied: true,
  compaction: true,
  loop_detected: true,
  episode_recorded: true,
  verify: true,
  task_changed: true,
  dispatch_progress: true,
  store_changed: true,
  mcp_status: true,
  budget_warning: true,
  budget_reached: true,
  error: true,
} as const satisfies { readonly [Type in EventType]: true };

/** Returns the first of some types that no event has; undefined if all are known. */
export const findUnknownType = (types: readonly string[]): string | undefined =>
  types.find((type) => !Object.hasOwn(eventTypes, type));

/** Says that no event has a type, and which known type is the nearest. */
export const describeUnknownType = (type: string): string => {
  const nearest = findNearestName(type, Object.keys(eventTypes));
  const hint = nearest === null ? "the reference of the API lists the types" : `did you mean ${nearest}?`;
  return `no event has the type ${JSON.stringify(type)}; ${hint}`;
};

/** Refuses the first of some types that no event has. */
export const requireEventTypes = (types: readonly string[]): void => {
  const unknown = findUnknownType(types);
  if (unknown !== undefined) refuseField("invalid_request", "/types", describeUnknownType(unknown));
};

/** Types and threads of which a reader wants events; null stands for all. */
export interface EventFilter {
  readonly types: readonly string[] | null;
  readonly threads: readonly string[] | null;
}

/** Returns whether an event passes a filter; cursors stay valid, since each event keeps its `seq`. */
export const matchesFilter = (
  { type, thread }: Pick<LoggedEvent, "type" | "thread">,
  { types, threads }: EventFilter,
): boolean => (types === null || types.includes(type)) && (threads === null || threads.includes(thread));

/** Events that a page takes, and how many lines and bytes it holds at most. */
interface EventQuery {
  readonly filter: EventFilter;
  readonly before: number;
  readonly limit: number;
  readonly bytes: number;
}

/** Events and characters of the log that a page reads at most to find the wanted ones; the page may then be short. */
const mostRead = { events: 10_000, characters: 4 * pageBytes };

/**
 * Takes the first events that are wanted and fit a page; `read` counts all events up to the end of the page. The lines
 * of the others are not built, since that reads whole messages.
 */
export const takeEvents = (
  events: Iterable<LoggedEvent>,
  { filter, before, limit, bytes: most }: EventQuery,
): { readonly lines: readonly string[]; readonly read: number } => {
  const lines: string[] = [];
  let [read, bytes, characters] = [0, 0, 0];
  for (const event of events) {
    if (event.seq >= before) break;
    const line = matchesFilter(event, filter) ? event.line() : null;
    bytes += line === null ? 0 : utf8Length(line);
    if (lines.length > 0 && bytes > most) break;
    if (line !== null) lines.push(line);
    read += 1;
    characters += event.length;
    if (lines.length === limit || read === mostRead.events || characters > mostRead.characters) break;
  }
  return { lines, read };
};

/**
 * Shows asks and events to a caller. Only a caller who may decide about an authorization sees its address,
 * since opening it acts for a person; others see that it is asked for, and by which server.
 */

type Caller = Pick<Principal, "scopes">;

const maySignIn = ({ scopes }: Caller): boolean => scopes.includes(answerScopeOf("authorization"));

const hideAddress = ({ authorization, ...ask }: Ask): object => {
  if (authorization === undefined) return ask;
  const { url: _, ...shown } = authorization;
  return { ...ask, authorization: shown };
};

/** Returns the text of an ask as a caller may see it. */
export const showAsk = (json: string, caller: Caller): string =>
  maySignIn(caller) ? json : JSON.stringify(hideAddress(JSON.parse(json) as Ask));

/** Returns whether every caller may see an event as it is. */
export const isShownToAll = ({ type }: Pick<SessionEvent, "type">): boolean => type !== "ask_user";

/** Line of an event that not every caller may see as it is. */
const askLine = /^\{"v":1,"seq":\d+,"id":"[^"]*","at":\d+,"session":"[^"]*","type":"ask_user"/;

const showEvent = (line: string): string => {
  if (!askLine.test(line)) return line;
  const event = JSON.parse(line) as { readonly data: { readonly ask: Ask } };
  return JSON.stringify({ ...event, data: { ...event.data, ask: hideAddress(event.data.ask) } });
};

/** Returns the lines of events as a caller may see them. */
export const showEvents = (lines: readonly string[], caller: Caller): readonly string[] =>
  maySignIn(caller) ? lines : lines.map(showEvent);
