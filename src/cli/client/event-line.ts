import type { EventType, StoredEvent } from "../../client/index.ts";
import { duration, oneLine, outputText, shortInput } from "./plain.ts";

/** This file writes an event as one line. */

type EventOf<T extends EventType> = Extract<StoredEvent, { readonly type: T }>;

type Told = readonly [EventType, (event: StoredEvent) => string];

const isOfType = <T extends EventType>(event: StoredEvent, type: T): event is EventOf<T> =>
  event.type === type;

const tell = <T extends EventType>(type: T, say: (event: EventOf<T>) => string): Told => [
  type,
  (event) => (isOfType(event, type) ? say(event) : ""),
];

const askText = ({ data: { ask } }: EventOf<"ask_user">): string => {
  const { id, kind, question, approval } = ask;
  const what = approval === undefined ? "" : `${approval.tool} ${shortInput(approval.input)}`;
  return `${id} ${kind} ${question?.text ?? what}`;
};

/** The events that `tail` shows, and what it says of each. */
const told: ReadonlyMap<string, Told[1]> = new Map([
  tell("tool_call_start", ({ data: { tool, input } }) => `${tool} ${shortInput(input)}`),
  tell("tool_call_end", ({ data: { tool, outcome, output, duration_ms } }) =>
    `${tool} ${outcome} ${duration(duration_ms)} ${outcome === "ok" ? "" : outputText(output)}`.trimEnd(),
  ),
  tell("error", ({ data: { code, message } }) => `${code}: ${message}`),
  tell("verify", ({ data: { state, command } }) => `${state} ${command}`),
  tell("checkpoint", ({ data: { fraction, text } }) => `${Math.round(fraction * 100)} % ${text}`),
  tell("status_update", ({ data: { text } }) => text),
  tell("ask_user", askText),
  tell("ask_resolved", ({ data: { ask, decision, by } }) => `${ask} ${decision} by ${by}`),
  tell("ask_expired", ({ data: { ask } }) => ask),
  tell("ask_cancelled", ({ data: { ask } }) => ask),
  tell("run_end", ({ data: { state, reason, error } }) => `${state} ${reason} ${error?.detail ?? ""}`),
]);

/** Writes an event as one line: its number, time, who and what; null for a type that is shown only among all. */
export const eventLine = (event: StoredEvent, all: boolean): string | null => {
  const say = told.get(event.type) ?? (all ? () => JSON.stringify(event.data) : null);
  if (say === null) return null;
  const time = new Date(event.at).toISOString().slice(11, 19);
  const who = event.thread === "main" ? "" : `${event.agent.prefix} ${event.agent.name} `;
  return `${event.seq} ${time} ${oneLine(`${who}${event.type} ${say(event)}`)}`;
};
