import { expect, test } from "vitest";
import type { Play } from "../agent/loop/play.ts";
import { dataOf, run } from "../agent/loop/play.ts";
import { openBench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

/** A line of the log for each finished step (RE-12). */

const replies = `
start: rest
scenes:
  - name: first
    when: { call: 0 }
    fail: [{ status: 529, times: 1 }]
    reply: [{ text: canary-reply }, { call: look, args: { name: canary-args } }, { call: put, args: { fail: true } }]
  - { name: rest, reply: [{ text: canary-answer }] }
`;

const played = async (level: string): Promise<Play> => {
  const observed = level === "" ? "" : `observability: { log_level: ${level} }`;
  const started = await run("", { yaml: scripted(replies, "", observed) });
  await started.bench.pass(60_000);
  return started;
};

test("RE-12 RE-14: at level debug each finished step is a line: which, how it ended, how long it took, the model of a failed attempt, and no content", async () => {
  const { bench } = await played("debug");
  const calls = bench.events().flatMap((event) => (event.type === "tool_call_end" ? [event.call] : []));
  const common = { msg: "step", session: bench.id, run: "run_1", thread: "main" };
  const tenant = expect.stringMatching(/^[0-9a-f]{16}$/) as string;
  const line = (level: string, turn: number, step: unknown, code: string, attempt?: number) => ({
    ...common,
    level,
    tenant,
    turn,
    step,
    code,
    duration_ms: expect.any(Number) as number,
    ...(attempt === undefined ? {} : { attempt }),
  });
  expect(bench.logs).toEqual([
    { ...line("warn", 1, "run_1.1.1", "overloaded", 1), model: "script/play" },
    line("debug", 1, "run_1.1.2", "tool_calls", 2),
    line("debug", 1, calls[0], "ok"),
    {
      ...common,
      level: "warn",
      msg: "tool_threw",
      tenant,
      step: calls[1],
      tool: "put",
      fault: "Error",
      frames: expect.arrayContaining([expect.stringContaining("/test/support/probe.ts:")]) as unknown,
    },
    line("debug", 1, calls[1], "error"),
    line("debug", 2, "run_1.2.1", "stop", 1),
  ]);
  expect(JSON.stringify(bench.logs)).not.toMatch(/canary|told to fail|"t1"/);
});

test("RE-12: by default only what went wrong is a line, at level error not even what passes", async () => {
  expect((await played("")).bench.logs.map(({ level, msg, code }) => [level, msg, code])).toEqual([
    ["warn", "step", "overloaded"],
    ["warn", "tool_threw", undefined],
  ]);
  const { bench } = await played("error");
  expect(bench.logs).toEqual([]);
});

const refused = "replies: [{ fail: [{ status: 401 }], reply: [{ text: x }] }]";

test("RE-16: an error event is a line, too, with its code alone", async () => {
  const { bench } = await run(refused, {});
  const [error] = dataOf(bench, "error");
  expect(bench.logs.map(({ level, msg, code }) => [level, msg, code])).toEqual([
    ["warn", "step", "auth"],
    ["error", "error", error?.code],
  ]);
});

test("RE-16: on a developer's machine the line of an error event has its message, too", async () => {
  const { toolbox } = createProbe(true);
  const engine = await engineOf(scripted(refused), { env: { LIMPET_DEV: "1" }, toolboxes: [toolbox] });
  const bench = openBench({ engine });
  bench.ok("create", {});
  bench.send("Go");
  await bench.idle();
  const [error] = dataOf(bench, "error");
  expect(bench.logs.at(-1)).toMatchObject({ level: "error", code: "provider_auth", message: error?.message });
});
