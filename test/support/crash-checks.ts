import { expect } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import type { Frame, Watcher } from "./api-client.ts";
import type { Arrival } from "./stage.ts";

/** What must hold of a session after any crash (RE §2), judged by its log, by what a client saw, and by what the outside saw. */

export interface Case {
  readonly id: string;
  readonly session: string;
  readonly watcher: Watcher;
  readonly input: string;
  /** How often the server was killed while the session was at work. */
  kills: number;
}

const dataOf = (event: StoredEvent): Readonly<Record<string, unknown>> =>
  event.data as Readonly<Record<string, unknown>>;

/** I2 and I5: a dense log, and an end for each run and agent and turn that started. */
const checkLog = (events: readonly StoredEvent[]): void => {
  expect(
    events.map(({ seq }) => seq),
    "I2: seq is dense",
  ).toEqual(events.map((_, index) => index + 1));
  for (const what of ["run", "agent", "turn"]) {
    const count = (type: string): number => events.filter((event) => event.type === type).length;
    expect(count(`${what}_end`), `I5: each ${what} ends once`).toBe(count(`${what}_start`));
  }
  const ends = events.filter(({ type }) => type === "run_end").map(({ run }) => run);
  expect(new Set(ends).size, "I5: one run_end per run").toBe(ends.length);
  const calls = events
    .filter(({ type }) => type === "tool_call_end")
    .map(({ run, turn, call }) => `${run} ${turn} ${call}`);
  expect(new Set(calls).size, "each call ends once").toBe(calls.length);
};

/** The text that a client has of each item, from pieces and replacements. */
const shownItems = (frames: readonly Frame[]): ReadonlyMap<string, string> => {
  const items = new Map<string, string>();
  for (const frame of frames) {
    const item = String(frame["item"]);
    if (frame.type === "item_state") items.set(item, String(frame["text"]));
    if (frame.type === "delta" && frame["kind"] === "text_delta")
      items.set(item, (items.get(item) ?? "").slice(0, Number(frame["off"])) + String(frame["data"]));
  }
  return items;
};

/** I3: what a client saw is in the log, and the text it holds is the beginning of its item, or void. */
const checkSeen = (events: readonly StoredEvent[], watcher: Watcher): void => {
  for (const event of watcher.events)
    expect(events[event.seq - 1], "I3: a seen event is in the log").toEqual(event);
  const voided = new Set(
    events.filter(({ type }) => type === "attempt_aborted").flatMap((event) => dataOf(event)["items"]),
  );
  const texts = events
    .filter(({ type }) => type === "message_added")
    .flatMap(
      (event) => (dataOf(event)["message"] as { parts: readonly { type: string; text?: string }[] }).parts,
    )
    .flatMap(({ type, text }) => (type === "text" && text !== undefined ? [text] : []));
  for (const [item, text] of shownItems(watcher.frames)) {
    const kept = voided.has(item) || texts.some((whole) => whole.startsWith(text));
    expect(kept, `I3: ${item} is void or goes on as shown: ${JSON.stringify(text)}`).toBe(true);
  }
};

/** I6: a model call per turn and at most one more per kill; none for a turn whose answer a client had seen. */
const checkModelCalls = (given: Case, arrivals: readonly Arrival[], killedAt: number): void => {
  const asked = arrivals.filter(({ turn }) => turn !== undefined);
  const turns = new Set(asked.map(({ turn }) => turn)).size;
  expect(asked.length, "I6: model calls").toBeLessThanOrEqual(turns + given.kills);
  const answered = given.watcher.events.filter(({ type }) => type === "llm_finish").map(({ turn }) => turn);
  const again = asked.filter(({ at, turn }) => at > killedAt && answered.includes(turn));
  expect(again, "RE-P3: an answer that was committed is not asked for again").toEqual([]);
};

const outcomesOf = (events: readonly StoredEvent[], tool: string): readonly string[] =>
  events
    .filter((event) => event.type === "tool_call_end" && dataOf(event)["tool"] === tool)
    .map((event) => String(dataOf(event)["outcome"]));

/** SE-33: a call is run again so often, then its outcome is unknown. */
const mostReruns = 3;

/** I6 and I7: tools by their class. */
const checkToolCalls = (given: Case, events: readonly StoredEvent[], arrivals: readonly Arrival[]): void => {
  const called = (tool: string): readonly Arrival[] => arrivals.filter((arrival) => arrival.tool === tool);
  const [fired] = outcomesOf(events, "fire");
  expect(called("fire").length, "I7: an unsafe call reaches its tool at most once").toBeLessThanOrEqual(1);
  expect(["ok", "unknown"]).toContain(fired);
  if (fired === "ok") expect(called("fire")).toHaveLength(1);
  for (const tool of ["look", "put"]) {
    const lost = called(tool).length > mostReruns;
    expect([["ok"], ...(lost ? [["unknown"]] : [])], `outcome of ${tool}`).toContainEqual(
      outcomesOf(events, tool),
    );
    expect(called(tool).length, `I6: calls of ${tool}`).toBeLessThanOrEqual(1 + given.kills);
  }
  expect(new Set(called("put").map(({ key }) => key)).size, "RE-P5: one key for every attempt").toBe(1);
};

/** The files as the tale's third turn found them: written once, and appended to at most once. */
const checkFiles = ({ id }: Case, events: readonly StoredEvent[]): void => {
  const ends = events.filter(({ type, turn }) => type === "tool_call_end" && turn === 3);
  const outputs = new Map(
    ends.map((event) => [String(dataOf(event)["tool"]), JSON.stringify(dataOf(event))]),
  );
  expect(outputs.get("fs_read"), "the file is there").toContain(`written by ${id}`);
  const lines = outputs.get("exec_shell")?.split(id).length ?? 1;
  const [appended] = outcomesOf(events, "exec_shell");
  expect(lines - 1, "RE-P5: a command is not run twice").toBeLessThanOrEqual(1);
  if (appended === "ok") expect(lines - 1, "a command that succeeded was run").toBe(1);
};

/** Checks a session that played the tale to its end. */
export const checkTale = (
  given: Case,
  events: readonly StoredEvent[],
  arrivals: readonly Arrival[],
  killedAt: number,
): void => {
  const own = arrivals.filter(({ id }) => id === given.id);
  checkLog(events);
  checkSeen(events, given.watcher);
  const ends = events.filter(({ type }) => type === "run_end").map((event) => dataOf(event)["state"]);
  expect(ends, JSON.stringify(events.at(-1))).toEqual(["completed"]);
  checkModelCalls(given, own, killedAt);
  checkToolCalls(given, events, own);
  checkFiles(given, events);
};

/** Checks a session of any other play: I2, I3, I5. */
export const checkSession = (given: Case, events: readonly StoredEvent[]): void => {
  checkLog(events);
  checkSeen(events, given.watcher);
};
