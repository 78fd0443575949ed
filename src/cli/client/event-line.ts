import type { EventType, StoredEvent } from "../../client/index.ts";
import { duration, oneLine, outputText, shortInput } from "./plain.ts";

/** Formats an event as one line. */

type EventOf<T extends EventType> = Extract<StoredEvent, { readonly type: T }>;

type EventText = readonly [EventType, (event: StoredEvent) => string];

const isOfType = <T extends EventType>(event: StoredEvent, type: T): event is EventOf<T> =>
  event.type === type;

const describe = <T extends EventType>(type: T, say: (event: EventOf<T>) => string): EventText => [
  type,
  (event) => (isOfType(event, type) ? say(event) : ""),
];

const askText = ({ data: { ask } }: EventOf<"ask_user">): string => {
  const { id, kind, question, approval } = ask;
  const what = approval === undefined ? "" : `${approval.tool} ${shortInput(approval.input)}`;
  return `${id} ${kind} ${question?.text ?? what}`;
};

/** Events that `tail` shows, and their texts. */
const eventTexts: ReadonlyMap<string, EventText[1]> = new Map([
  describe("tool_call_start", ({ data: { tool, input } }) => `${tool} ${shortInput(input)}`),
  describe("tool_call_end", ({ data: { tool, outcome, output, duration_ms } }) =>
    `${tool} ${outcome} ${duration(duration_ms)} ${outcome === "ok" ? "" : outputText(output)}`.trimEnd()),
  describe("error", ({ data: { code, message } }) => `${code}: ${message}`),
  describe("mcp_status", ({ data: { server, state, error = "" } }) => `${server} ${state} ${error}`),
  describe("verify", ({ data: { state, command } }) => `${state} ${command}`),
  describe("checkpoint", ({ data: { fraction, text } }) => `${Math.round(fraction * 100)} % ${text}`),
  describe("status_update", ({ data: { text } }) => text),
  describe("ask_user", askText),
  describe("ask_resolved", ({ data: { ask, decision, by } }) => `${ask} ${decision} by ${by}`),
  describe("ask_expired", ({ data: { ask } }) => ask),
  describe("ask_cancelled", ({ data: { ask } }) => ask),
  describe("run_end", ({ data: { state, reason, error } }) => `${state} ${reason} ${error?.detail ?? ""}`),
]);

/**
 * Formats an event as one line: its number, time, who and what; returns null for a type that is shown only with
 * all.
 */
export const eventLine = (event: StoredEvent, all: boolean): string | null => {
  const say = eventTexts.get(event.type) ?? (all ? () => JSON.stringify(event.data) : null);
  if (say === null) return null;
  const time = new Date(event.at).toISOString().slice(11, 19);
  const who = event.thread === "main" ? "" : `${event.agent.prefix} ${event.agent.name} `;
  return `${event.seq} ${time} ${oneLine(`${who}${event.type} ${say(event)}`)}`;
};
