import { expect } from "vitest";
import { shownTokens } from "../../src/chat/message.ts";
import type { Bench } from "./bench.ts";
import type { Probe } from "./probe.ts";

/** What must hold after any crash (RE §2, I1 to I10), on a session that came to rest. */
export const checkInvariants = (bench: Bench, inputs: readonly string[], probe?: Probe): void => {
  const events = bench.events();
  const applied = events
    .filter(({ type }) => type === "input_accepted")
    .map(({ data }) => (data as { input: string }).input);
  expect(
    applied.filter((id) => inputs.includes(id)).sort(),
    "I1: acknowledged inputs are there once",
  ).toEqual([...inputs].sort());
  expect(
    events.map(({ seq }) => seq),
    "I2: seq is dense",
  ).toEqual(events.map((_, index) => index + 1));
  const log = new Map(events.map((event) => [event.seq, JSON.stringify(event)]));
  for (const event of bench.published)
    expect(log.get(event.seq), "I3: what a client saw is in the log").toBe(JSON.stringify(event));
  for (const start of ["run", "agent", "turn"] as const) {
    const count = (type: string): number => events.filter((event) => event.type === type).length;
    expect(count(`${start}_end`), `I5: every ${start}_start has one ${start}_end`).toBe(
      count(`${start}_start`),
    );
  }
  const ends = events.filter(({ type }) => type === "run_end").map(({ run }) => run);
  expect(new Set(ends).size, "I5: one run_end per run").toBe(ends.length);
  const last = new Map(events.flatMap(({ run, type }) => (run === undefined ? [] : [[run, type]])));
  for (const run of ends)
    expect(last.get(run ?? ""), `AP-30: the last event of ${run} is its end`).toBe("run_end");
  const fired = probe?.calls.filter(({ tool }) => tool === "fire").map(({ key }) => key) ?? [];
  expect(new Set(fired).size, "I7: no unsafe call reached its tool twice").toBe(fired.length);
  const calls = events
    .filter(({ type }) => type === "tool_call_end")
    .map(({ call, run }) => `${run}/${call}`);
  expect(new Set(calls).size, "every call ended once").toBe(calls.length);
  const answered = bench.ledger().filter(({ outcome }) => outcome === "ok").length;
  expect(answered, "I9: each answered model call is in the ledger once").toBe(
    events.filter(({ type }) => type === "llm_finish").length,
  );
  const repaired = events.flatMap(({ type, data }) =>
    type === "error" && data.code === "history_repaired" ? [data.message] : [],
  );
  expect(repaired, "SE-3: transitions alone never break a chat").toEqual([]);
  expect(bench.leftTimers(), "a session at rest has no timer").toBe(0);
  for (const { id, chat, tokens } of Object.values(bench.state().threads))
    expect(tokens, `the tokens of ${id} are those of its chat`).toBe(
      chat.reduce((sum, message) => sum + shownTokens(message), 0),
    );
  expect(bench.alarm(), "I10: at rest there is no alarm").toBeNull();
};
