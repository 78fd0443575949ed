import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/agent/state/events.ts";
import { eventLinesOf, eventTextsOf } from "../../src/session/event-lines.ts";

const agent = { name: "a", prefix: "🤖" };

const events = [
  { type: "turn_start", thread: "main", agent, run: "run_1", turn: 3, data: {} },
  { type: "turn_end", thread: "main", agent, run: "run_1", turn: 3, data: { calls: 2 } },
] as unknown as readonly SessionEvent[];

const told = (some: readonly SessionEvent[], session: string, head: number, at: number): readonly string[] =>
  eventLinesOf(eventTextsOf(some).events, session, head + 1, at);

test('AP-27: a line is the JSON of the whole event, with "v", "seq", "id", "at" and "session" in front', () => {
  const lines = told(events, 's_"1\\', 41, 1_700_000_000_000);
  const whole = (index: number): string => {
    const seq = 42 + index;
    const head = { v: 1, seq, id: `s_"1\\:${seq}`, at: 1_700_000_000_000, session: 's_"1\\' };
    return JSON.stringify({ ...head, ...events[index] }).replace("🤖", "\\ud83e\\udd16");
  };
  expect(lines).toEqual([whole(0), whole(1)]);
});

test("AP-27: data beyond 64 KiB is cut, its longest texts first, and says so", () => {
  const message = { short: "kept", long: "x".repeat(100_000) };
  const event = {
    type: "message_added",
    thread: "main",
    agent,
    data: { message, final: false },
  } as unknown as SessionEvent;
  const [line = ""] = told([event], "s_1", 0, 1);
  expect(line.length).toBeLessThanOrEqual(66_000);
  expect(JSON.parse(line)).toMatchObject({
    seq: 1,
    id: "s_1:1",
    data: { truncated: true, final: false, message: { short: "kept", long: expect.stringMatching(/^x+…$/) } },
  });
});

test("AP-27: 64 KiB are counted as UTF-8: signs of three bytes are cut where as many letters would not be", () => {
  const data = (sign: string) => ({ code: "c", message: sign.repeat(30_000), retryable: true });
  const events = ["x", "漢"].map((sign) => ({ type: "error", thread: "main", agent, data: data(sign) }));
  const [letters, signs] = told(events as unknown as readonly SessionEvent[], "s_1", 0, 1).map(
    (line) => (JSON.parse(line) as { data: object }).data,
  );
  expect(letters).toEqual(data("x"));
  expect(signs).toMatchObject({ truncated: true });
  expect(new TextEncoder().encode(JSON.stringify(signs)).byteLength).toBeLessThanOrEqual(65_536);
});

test("AP-27: every field of an event is told, whatever characters its call's id has", () => {
  const event = {
    type: "tool_call_end",
    thread: "main",
    agent: { name: 'né"', prefix: "漢" },
    run: "run_1",
    turn: 3,
    attempt: 2,
    call: 'c"\\n',
    item: "i\\\\",
    node: "n",
    data: { output: "漢" },
  } as unknown as SessionEvent;
  expect(JSON.parse(told([event], "s_1", 0, 1)[0] ?? "")).toEqual({
    v: 1,
    seq: 1,
    id: "s_1:1",
    at: 1,
    session: "s_1",
    ...event,
  });
});
