import type { EventType } from "../../agent/state/events.ts";
import { utf8Length } from "../../chat/tokens.ts";
import { findNearestName } from "../../tools/suggest.ts";
import type { LoggedEvent } from "../event-lines.ts";
import { pageBytes } from "../paging.ts";
import { refuseField } from "../problems.ts";
import type { Ask } from "../../agent/state/ask.ts";
import { eventHeadOf } from "../event-lines.ts";
import { answerScopeOf } from "../rpc.ts";
import type { Principal } from "../rpc.ts";

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

const isAsk = (line: string): boolean => eventHeadOf(line).type === "ask_user";

/** Returns whether every caller may see these lines of events as they are. */
export const isShownToAll = (lines: readonly string[]): boolean => !lines.some(isAsk);

const showEvent = (line: string): string => {
  if (!isAsk(line)) return line;
  const event = JSON.parse(line) as { readonly data: { readonly ask: Ask } };
  return JSON.stringify({ ...event, data: { ...event.data, ask: hideAddress(event.data.ask) } });
};

/** Returns the lines of events as a caller may see them. */
export const showEvents = (lines: readonly string[], caller: Caller): readonly string[] =>
  maySignIn(caller) ? lines : lines.map(showEvent);
