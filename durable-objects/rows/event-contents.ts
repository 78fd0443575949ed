import { shownOutput } from "../../src/agent/calls/tool-calls.ts";
import type { SessionEvent } from "../../src/agent/state/events.ts";
import { reportWithoutOutput } from "../../src/agent/state/events.ts";
import { callsOfRun } from "../../src/agent/state/run.ts";
import type { Thread } from "../../src/agent/state/thread.ts";
import type { Message, ToolResultPart } from "../../src/chat/message.ts";
import type { EventText, EventTexts } from "../../src/session/event-lines.ts";
import { fitData, messageData } from "../../src/session/event-lines.ts";
import { loadOutcome } from "./call-outcomes.ts";
import { readMessageRows, writtenMessageJson } from "./encode.ts";
import type { LogRow } from "./event-log.ts";
import type { WrittenMessages } from "./results.ts";
import { messageKey, resultOf, resultPlaces } from "./results.ts";

/**
 * Content is stored once. The event of a message refers to the row that its commit wrote, and the end of a call to the
 * message with its result, whose place is known from the reply on; until then the call's outcome has a row. Reading
 * puts the content in. `m12 true` stands for message 12, `n12 false` for message 12 without its output, and `r12 {…}` for
 * data whose output stands in message 12.
 */

/** What a commit wrote and its state, to which its events may refer. */
export interface EventSources {
  readonly threads: Readonly<Record<string, Thread>>;
  readonly written: WrittenMessages;
  readonly messages: EventTexts["messages"];
}

/** Finds the place of the result of an ended call, and the result. */
const findResult = (
  { threads, written }: EventSources,
  thread: string,
  call: string,
): readonly [number, ToolResultPart] | null => {
  for (const [key, message] of written) {
    const result = key === messageKey(thread, message.pos) ? resultOf(call, message) : null;
    if (result !== null) return [message.pos, result];
  }
  const place = resultPlaces(threads[thread]).get(call);
  const open = callsOfRun(threads[thread]?.run ?? null).find((each) => each.call.id === call);
  return place === undefined || open === undefined || open.outcome === null
    ? null
    : [place, open.outcome.result];
};

const noOutput = '"output":null';

const messageReference = (
  { written, messages }: EventSources,
  { thread, data: { message, final } }: Extract<SessionEvent, { type: "message_added" }>,
): string | null => {
  const found = written.get(messageKey(thread, message.pos));
  if (found === undefined) return null;
  if (found === message) return `m${message.pos} ${final}`;
  const { overlay, ...original } = found;
  if (overlay !== undefined && JSON.stringify(original) === messages.get(message))
    return `m${message.pos} ${final}`;
  const isReport = JSON.stringify(reportWithoutOutput(found)) === messages.get(message);
  return isReport ? `n${message.pos} ${final}` : null;
};

/** Returns the data of an event as its row keeps it: a reference where a row of the same commit holds the content. */
export const replaceContent = (sources: EventSources, event: SessionEvent, data: string): string => {
  if (event.type === "message_added") return messageReference(sources, event) ?? data;
  if (event.type !== "tool_call_end" || event.call === undefined) return data;
  const [place, result] = findResult(sources, event.thread, event.call) ?? [];
  if (place === undefined || result === undefined || shownOutput(result.content) !== event.data.output)
    return data;
  return `r${place} ${JSON.stringify({ ...event.data, output: null })}`;
};

/** Pattern of a reference: its kind, the place of the message, and the rest. */
const referencePattern = /^([mnr])(\d+) (.*)$/s;

/** Returns the data of a call's end as its row keeps it, without the output if another row holds that. */
export const stripContent = (data: string): string =>
  data.startsWith("r") ? (referencePattern.exec(data)?.[3] ?? data) : data;

interface Reference {
  readonly thread: string;
  readonly kind: string;
  readonly pos: number;
  readonly rest: string;
  readonly call: string;
}

const readReference = ({ scope, own, data }: EventText): Reference | null => {
  const [, kind, pos, rest = ""] = (data.startsWith("{") ? null : referencePattern.exec(data)) ?? [];
  if (kind === undefined) return null;
  const { thread } = JSON.parse(`{${scope}}`) as { readonly thread: string };
  const { call = "" } = JSON.parse(`{${own.slice(1)}}`) as { readonly call?: string };
  return { thread, kind, pos: Number(pos), rest, call };
};

/** Reads the messages to which some events refer, as they were written. */
const readMessages = (sql: SqlStorage, references: readonly Reference[]): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  for (const thread of new Set(references.map((each) => each.thread))) {
    const places = references.filter((each) => each.thread === thread).map(({ pos }) => pos);
    for (const row of readMessageRows(sql, thread, Math.min(...places), Math.max(...places)))
      found.set(messageKey(thread, row.pos), writtenMessageJson(sql, thread, row));
  }
  return found;
};

const readOutput = (
  sql: SqlStorage,
  { thread, pos, call }: Reference,
  messages: ReadonlyMap<string, string>,
): string => {
  const message = messages.get(messageKey(thread, pos));
  const result =
    (message === undefined ? null : resultOf(call, JSON.parse(message) as Message)) ??
    loadOutcome(sql, thread, call)?.result;
  if (result === undefined) throw new Error(`the result of ${call} is not stored`);
  return JSON.stringify(shownOutput(result.content));
};

const dataOf = (sql: SqlStorage, reference: Reference, messages: ReadonlyMap<string, string>): string => {
  const { thread, kind, pos, rest } = reference;
  if (kind === "r") {
    const at = rest.indexOf(noOutput);
    const output = readOutput(sql, reference, messages);
    return fitData(`${rest.slice(0, at)}"output":${output}${rest.slice(at + noOutput.length)}`);
  }
  const message = messages.get(messageKey(thread, pos));
  if (message === undefined) throw new Error(`message ${pos} of ${thread} is not stored`);
  const report = kind === "m" ? message : JSON.stringify(reportWithoutOutput(JSON.parse(message) as Message));
  return messageData(report, rest === "true");
};

/**
 * Returns a function that puts the content into an event of these rows. Their messages are read together once
 * one is needed: reading and parsing whole messages is worth it only for events that are shown.
 */
export const createContentReader = (
  sql: SqlStorage,
  rows: readonly LogRow[],
): ((event: EventText) => EventText) => {
  let messages: ReadonlyMap<string, string> | null = null;
  return (event) => {
    const reference = readReference(event);
    if (reference === null) return event;
    messages ??= readMessages(
      sql,
      rows.flatMap(({ events }) => events.map(readReference)).filter((each) => each !== null),
    );
    return { ...event, data: dataOf(sql, reference, messages) };
  };
};
