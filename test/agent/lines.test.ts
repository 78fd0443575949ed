import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/agent/events.ts";
import { linesOf } from "../../src/agent/lines.ts";

const agent = { name: "a", prefix: "🤖" };
const events = [
  { type: "turn_start", thread: "main", agent, run: "run_1", turn: 3, data: {} },
  { type: "turn_end", thread: "main", agent, run: "run_1", turn: 3, data: { calls: 2 } },
] as unknown as readonly SessionEvent[];

test('AP-27: a line is the JSON of the whole event, with "v", "seq", "id", "at" and "session" in front', () => {
  const lines = linesOf(events, 's_"1\\', 41, 1_700_000_000_000);
  const whole = (index: number): string => {
    const seq = 42 + index;
    const head = { v: 1, seq, id: `s_"1\\:${seq}`, at: 1_700_000_000_000, session: 's_"1\\' };
    return JSON.stringify({ ...head, ...events[index] });
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
  const [line = ""] = linesOf([event], "s_1", 0, 1);
  expect(line.length).toBeLessThanOrEqual(66_000);
  expect(JSON.parse(line)).toMatchObject({
    seq: 1,
    id: "s_1:1",
    data: { truncated: true, final: false, message: { short: "kept", long: expect.stringMatching(/^x+…$/) } },
  });
});
