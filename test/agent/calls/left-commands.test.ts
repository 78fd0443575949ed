import { noBackgroundCommands } from "../../../src/agent/state/records.ts";
import { expect, test } from "vitest";
import { createEngine } from "../../../src/engine/create.ts";
import { createLocalWorkspace } from "../../sandbox/local.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { crewYaml, delegate } from "../../support/crew.ts";
import { engineOptions, teamOf } from "../../support/teams.ts";
import { replies, said } from "../../support/scripts.ts";
import { dataOf, ends } from "../loop/play.ts";

/** Sessions over a real workspace; each isolate reaches it over a line of its own, which dies with it. */
interface Stage {
  readonly bench: Bench;
  /** Ids of commands that a DELETE reached the sandbox for, in order. */
  readonly killed: readonly string[];
  /** How many commands run now. */
  readonly running: () => Promise<number>;
  /** Resolves when this many commands run. */
  readonly until: (count: number) => Promise<void>;
  /** The isolate dies, with all that it was about to send; another follows. */
  readonly die: () => void;
  /** Makes an empty file. */
  readonly put: (path: string) => Promise<unknown>;
  /** While true, no request gets through. */
  cut: boolean;
}

const boxes = "toolboxes: [exec, filesystem]\noptions: { cache_tool_results: true }";

/** A person's agent with these replies, and others. */
const staged = async (each: readonly string[], others: readonly Member[] = []): Promise<Stage> => {
  const workspace = createLocalWorkspace();
  const killed: string[] = [];
  let line = { dead: false };
  const main: Member = { name: "tester", script: replies(...each), yaml: boxes };
  const compiled = await teamOf(crewYaml([main, ...others]));
  const engineOn = (own: typeof line) =>
    createEngine(
      engineOptions(compiled, {
        env: {
          SANDBOX: {
            fetch: async (request: Request) => {
              if (own.dead || stage.cut) throw new Error("the line is dead");
              if (request.method === "DELETE") killed.push(request.url.split("/").at(-1) ?? "");
              return workspace.fetch(request);
            },
          },
        },
      }),
    );
  const running = async (): Promise<number> => {
    const answer = await workspace.fetch(new Request("http://s/v1/sandbox/any/running"));
    return (await answer.json<{ commands: number }>()).commands;
  };
  const bench = openBench({ engine: engineOn(line) });
  bench.ok("create", {});
  const stage: Stage = {
    bench,
    killed,
    running,
    until: async (count) => {
      while ((await running()) !== count) await bench.steps();
    },
    die: () => {
      line.dead = true;
      line = { dead: false };
      bench.deploy(engineOn(line));
    },
    put: (path) =>
      workspace.fetch(
        new Request(`http://s/v1/sandbox/any/file/workspace/${path}`, { method: "PUT", body: "" }),
      ),
    cut: false,
  };
  return stage;
};

const background = said(["exec_shell", { script: "sleep 100", background: true }]);

const foreground = said(["exec_shell", { script: "sleep 100" }]);

const question = said(["ask_user", { question: "Go on?" }]);

test("RE-C26 RE-P8: a cancel that was acknowledged while a command runs is kept by the next isolate: the kill is sent after the restart", async () => {
  const { bench, killed, running, until, die } = await staged([foreground]);
  bench.send("Go");
  await until(1);
  // The isolate dies in the tick of the acknowledgement: none of its own kills leaves.
  bench.ok("cancel", { mode: "now" });
  die();
  await bench.idle();
  await until(0);
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(killed.length).toBeGreaterThan(0);
  expect(await running()).toBe(0);
  expect(bench.state().commands).toEqual(noBackgroundCommands);
  expect(bench.alarm()).toBeNull();
});

test("TB-29 RE-P8: a cancel ends what called agents left in the background, those at work and those that are done", async () => {
  const { bench, until } = await staged(
    [said(delegate("quick")), said(delegate("busy"))],
    [
      { name: "quick", script: replies(background, said("Begun.")), yaml: "toolboxes: [exec]" },
      { name: "busy", script: replies(background, foreground), yaml: "toolboxes: [exec]" },
    ],
  );
  bench.send("Go");
  await until(3);
  bench.ok("cancel", { mode: "now" });
  await until(0);
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn", "cancelled:cancelled", "cancelled:cancelled"]);
  expect(bench.state().commands).toEqual(noBackgroundCommands);
});

test("TB-29: a cancel spares what an earlier run left in the background", async () => {
  const { bench, killed, until, running } = await staged([background, said("It runs."), question]);
  bench.send("Go");
  await until(1);
  await bench.idle();
  bench.send("Again");
  await bench.idle();
  bench.ok("cancel", { mode: "now" });
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn", "cancelled:cancelled"]);
  expect([await running(), killed]).toEqual([1, []]);
});

test.each(["now", "after_turn"])(
  "TB-29 RE-P8: a cancel (%s) ends what the run left in the background in an earlier turn",
  async (mode) => {
    const { bench, until } = await staged([background, question]);
    bench.send("Go");
    await until(1);
    await bench.idle();
    bench.ok("cancel", { mode });
    await until(0);
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled"]);
    expect(bench.state().commands).toEqual(noBackgroundCommands);
  },
);

test("RE-P8 RE-3: a kill that does not get through is tried again, also by the next isolate, and its command is named", async () => {
  const stage = await staged([background, question]);
  const { bench, until, die, running } = stage;
  bench.send("Go");
  await until(1);
  await bench.idle();
  const [exec] = bench.state().commands.running.map((command) => command.exec) ?? [];
  stage.cut = true;
  bench.ok("cancel", { mode: "now" });
  await bench.idle();
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(dataOf(bench, "error")).toEqual([
    { code: "kill_failed", message: expect.stringContaining(exec ?? "?"), retryable: true },
  ]);
  expect(bench.alarm()).toBe(bench.now() + 1_000);
  await bench.pass(1_000);
  expect(bench.alarm()).toBe(bench.now() + 2_000);
  expect(await running()).toBe(1);
  stage.cut = false;
  die();
  await bench.pass(2_000);
  await until(0);
  expect(dataOf(bench, "error")).toHaveLength(1);
  expect(bench.alarm()).toBeNull();
});

test("RE-P12: kills are given up after ten tries, and said so", async () => {
  const stage = await staged([background, question]);
  const { bench, until } = stage;
  bench.send("Go");
  await until(1);
  await bench.idle();
  stage.cut = true;
  bench.ok("cancel", { mode: "now" });
  await bench.idle();
  for (let tries = 0; bench.alarm() !== null; tries++) {
    expect(tries).toBeLessThan(10);
    await bench.pass((bench.alarm() ?? 0) - bench.now());
  }
  expect(dataOf(bench, "error").map(({ retryable }) => retryable)).toEqual([true, false]);
  expect(bench.state().commands).toEqual(noBackgroundCommands);
});

test("SE-20: nothing is cached while a command in the background may write; once it was seen to end, it is again", async () => {
  const script = "while [ ! -e go ]; do sleep 0.02; done; echo new > f";
  const read = said(["fs_read", { path: "f" }]);
  const { bench, until, put } = await staged([
    said(["fs_write", { path: "f", content: "old" }]),
    said(["exec_shell", { script, background: true }]),
    read,
    said("It runs."),
    read,
    said(["exec_poll", { exec_id: "{{input}}" }]),
    read,
    read,
    said("It ran."),
  ]);
  bench.send("Go");
  await bench.idle();
  await put("go");
  await until(0);
  bench.send(bench.state().commands.running[0]?.exec ?? "");
  await bench.idle();
  const reads = dataOf(bench, "tool_call_end").filter(({ tool }) => tool === "fs_read");
  expect(reads.map(({ output, cached }) => [output, cached])).toEqual([
    ["old", false],
    ["new\n", false],
    ["new\n", false],
    ["new\n", true],
  ]);
  expect(bench.state().commands).toEqual(noBackgroundCommands);
});

test("RE-P8: a command that is cut off while another cannot be ended has its own first try, at once", async () => {
  const stage = await staged([background, question, background, question]);
  const { bench, until, killed } = stage;
  const cancel = async (): Promise<void> => {
    bench.ok("cancel", { mode: "now" });
    await bench.idle();
  };
  bench.send("Go");
  await until(1);
  await bench.idle();
  stage.cut = true;
  await cancel();
  for (let tries = 1; tries < 9; tries++) await bench.pass((bench.alarm() ?? 0) - bench.now());
  stage.cut = false;
  bench.send("Again");
  await until(2);
  await bench.idle();
  await cancel();
  expect(new Set(killed).size).toBe(1);
  expect(bench.state().commands.ending.map(({ tries }) => tries)).toEqual([9]);
  await bench.pass((bench.alarm() ?? 0) - bench.now());
  await until(0);
  expect(bench.state().commands).toEqual(noBackgroundCommands);
});
