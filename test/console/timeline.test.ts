import { expect, test } from "vitest";
import { emptyTranscript } from "../../src/client/fold/draft.ts";
import type { CallEntry, ModelCallFacts, Transcript, TurnFacts } from "../../src/client/transcript.ts";
import { describeCall } from "../../src/console/calls/verbs.ts";
import { contextShare, sentTurns, turnsOf } from "../../src/console/run/figures.ts";
import { labelTick, lanesOf, nameTurns, ticksOf } from "../../src/console/run/timeline.ts";

/** AP-54: what the timeline says and draws. */

const modelCall = (from: number, to: number): ModelCallFacts =>
  ({
    purpose: "turn",
    failure: null,
    started_at: from,
    ended_at: to,
    usage: null,
    cost_usd: null,
  }) as unknown as ModelCallFacts;

const turnOf = (calls: readonly string[], fields: Partial<TurnFacts> = {}): TurnFacts => ({
  turn: 1,
  started_at: 0,
  ended_at: 10,
  model_calls: [modelCall(0, 10)],
  calls,
  effects: [],
  metrics: null,
  ...fields,
});

const callEntry = (fields: object): CallEntry =>
  ({
    kind: "call",
    call: "c",
    tool: "exec_run",
    input: { command: "npm", args: ["test"] },
    state: "waiting",
    outcome: null,
    children: [],
    asks: [],
    at: 10,
    started_at: 10,
    ended_at: null,
    ...fields,
  }) as unknown as CallEntry;

type Run = Transcript["runs"][number];

const runOf = (id: string, thread: string, timeline: readonly TurnFacts[]): Run =>
  ({ id, thread, timeline, started_at: 0 }) as unknown as Run;

const titlesOf = (calls: readonly string[], entries: readonly CallEntry[]): readonly string[] => {
  const run = runOf("run_1", "main", [turnOf(calls)]);
  const threads = [{ id: "main", entries }] as unknown as Transcript["threads"];
  return lanesOf({ ...emptyTranscript, threads, runs: [run] }, run, 20).map(({ title }) => title);
};

const asking = (tool: string, input: object, kind = "approval"): CallEntry =>
  callEntry({ tool, input, asks: [{ kind, status: "open", opened_at: 10, closed_at: null }] });

test.each([
  [
    "exec_run",
    { command: "git", args: ["push", "origin", "fix/tide"] },
    "Asks to run git push origin fix/tide",
  ],
  ["fs_edit", { path: "src/tide.ts" }, "Asks to edit tide.ts"],
  ["fs_mkdir", { path: "src/new/" }, "Asks to make folder new"],
  ["git_commit", { message: "Say it all" }, "Asks to commit"],
  ["shared_state_set", { key: "tide" }, "Asks to set shared value tide"],
  ["crm__find", { who: "Ada" }, "Asks to use crm__find"],
])("AP-54: the timeline says of %s(%j) that waits for an approval: %s", (tool, input, title) => {
  expect(titlesOf(["c"], [asking(tool, input)])).toEqual([title]);
});

test("AP-54: the timeline says who has to answer a call that waits, although another one of its turn does not", () => {
  const done = callEntry({ call: "d", tool: "fs_read", state: "done", outcome: "ok", ended_at: 11 });
  expect(titlesOf(["d", "c"], [done, asking("exec_run", {})])).toEqual(["Asks to run"]);
  const kinds = ["question", "authorization", "client_tool"];
  expect(kinds.map((kind) => titlesOf(["c"], [asking("x", {}, kind)])[0])).toEqual([
    "Asks you",
    "Asks you to sign in",
    "Waits for its program",
  ]);
});

test("AP-54: a turn tells all that its calls did in full, where its title tells the ends of paths and counts", () => {
  const done = { state: "done", outcome: "ok", ended_at: 11 };
  const read = callEntry({ ...done, call: "d", tool: "fs_read", input: { path: "src/deep/tide.ts" } });
  const entries = [read, callEntry(done)];
  const run = runOf("run_1", "main", [turnOf(["d", "c"]), turnOf([])]);
  const threads = [{ id: "main", entries }] as unknown as Transcript["threads"];
  expect(lanesOf({ ...emptyTranscript, threads, runs: [run] }, run, 20)).toMatchObject([
    { title: "Read tide.ts and 1 more", hint: "Read src/deep/tide.ts\nRan npm test" },
    { title: "Answered", hint: "Answered" },
  ]);
});

test("AP-54: every verb has an infinitive, which is no past tense", () => {
  const say = (tool: string) => describeCall(callEntry({ tool }), "infinitive").verb;
  expect(["fs_write", "exec_kill", "shared_tasks_claim", "memory_append", "spawn_agents"].map(say)).toEqual([
    "write",
    "end command",
    "take task",
    "keep in memory",
    "call",
  ]);
});

test.each([
  ["ok", "Ran npm test", "tool"],
  ["error", "Ran npm test", "failed"],
  ["cancelled", "Ran npm test · stopped", "unfinished"],
  ["unknown", "Ran npm test · nobody knows how it ended", "unfinished"],
  ["denied", "Not run npm test", "unfinished"],
  ["skipped", "Not run npm test", "unfinished"],
])("AP-54: the timeline says of a call with the outcome %s: %s", (outcome, title, kind) => {
  const entry = callEntry({ state: "done", outcome, ended_at: 20 });
  const run = runOf("run_1", "main", [turnOf(["c"])]);
  const threads = [{ id: "main", entries: [entry] }] as unknown as Transcript["threads"];
  const [lane] = lanesOf({ ...emptyTranscript, threads, runs: [run] }, run, 20);
  expect(lane).toMatchObject({ title, segments: [{ kind: "model" }, { kind }] });
});

test("AP-54: of several calls of a turn the first is named, and what came to no end is said of all", () => {
  const read = callEntry({
    call: "d",
    tool: "fs_read",
    input: { path: "a.md" },
    state: "done",
    outcome: "ok",
  });
  const stopped = callEntry({ state: "done", outcome: "cancelled" });
  const dropped = callEntry({ state: "done", outcome: "cancelled", started_at: null });
  expect(titlesOf(["c"], [dropped])).toEqual(["Not run npm test · stopped"]);
  expect(titlesOf(["d", "c"], [read, stopped])).toEqual(["Read a.md and 1 more · stopped"]);
});

test("AP-54: a turn whose calls the log no longer has used tools; it did not just answer", () => {
  expect([titlesOf([], []), titlesOf(["gone"], []), titlesOf(["gone", "too"], [])]).toEqual([
    ["Answered"],
    ["Used a tool"],
    ["Used 2 tools"],
  ]);
});

test.each([
  [{}, "Made the context smaller", false],
  [{ ended_at: null }, "Making the context smaller", false],
  [{ failure: "overloaded" }, "Could not make the context smaller", true],
  [{ failure: "cancelled" }, "Stopped", false],
])(
  "AP-54: a run that only made the context smaller has no turn to open: %j is %s",
  (fields, title, failed) => {
    const call = { ...modelCall(0, 10), purpose: "compaction", ...fields } as ModelCallFacts;
    const run = runOf("run_2", "main", [turnOf([], { turn: 0, model_calls: [call] })]);
    const transcript = { ...emptyTranscript, runs: [run] };
    expect(lanesOf(transcript, run, 20)).toMatchObject([{ turn: null, depth: 0, title, failed }]);
    expect(turnsOf(transcript)).toEqual([]);
    expect(contextShare(transcript, 16_000)).toBeNull();
    const before = { ...modelCall(0, 10), estimated_tokens: 8_000 };
    const runs = [runOf("run_1", "main", [turnOf([], { model_calls: [before] })]), run];
    expect(contextShare({ ...emptyTranscript, runs }, 16_000)).toBe(0.5);
  },
);

test("AP-54: a turn that ended before its first model call had no context, and the newest that had one is told", () => {
  const before = { ...modelCall(0, 10), estimated_tokens: 8_000 };
  const sent = runOf("run_1", "main", [turnOf([], { model_calls: [before] })]);
  const failed = runOf("run_2", "main", [turnOf([], { model_calls: [] })]);
  const shown = (runs: Transcript["runs"]) => {
    const transcript = { ...emptyTranscript, runs };
    const turns = sentTurns(turnsOf(transcript));
    return [turns.map(({ run }) => run.id), contextShare(transcript, 16_000)];
  };
  expect(shown([failed])).toEqual([[], null]);
  expect(shown([sent, failed])).toEqual([["run_1"], 0.5]);
});

test.each([
  ["failed", ["model", "failed"]],
  ["completed", ["model", "model"]],
  ["cancelled", ["model", "model"]],
])("AP-54: the lane of a called agent that is %s has segments of %j", (state, kinds) => {
  const run = runOf("run_1", "main", [turnOf(["c"])]);
  const child = runOf("run_2", "t_1", [
    turnOf([], { model_calls: [modelCall(10, 12)] }),
    turnOf([], { turn: 2, model_calls: [modelCall(12, 15)] }),
  ]);
  const calls = [callEntry({ children: ["t_1"], state: "done", outcome: "ok", ended_at: 15 })];
  const threads = [
    { id: "main", entries: calls },
    { id: "t_1", prefix: "", agent: "scout", state, entries: [] },
  ] as unknown as Transcript["threads"];
  const lanes = lanesOf({ ...emptyTranscript, threads, runs: [run, child] }, run, 20);
  const lane = lanes.find(({ title }) => title.startsWith("scout"));
  expect(lane?.segments.map(({ kind }) => kind)).toEqual(kinds);
  expect(lane?.failed).toBe(state === "failed");
});

test("AP-54: a call that waits for another of its turn takes no time", () => {
  const asking = callEntry({ asks: [{ status: "open", opened_at: 10, closed_at: null, kind: "approval" }] });
  const behind = callEntry({ call: "d", state: "planned", started_at: null });
  const entries = [asking, behind].map((entry) => ({ ...entry, id: entry.call }));
  const run = runOf("run_1", "main", [turnOf(["c", "d"])]);
  const transcript = {
    ...emptyTranscript,
    runs: [run],
    threads: [{ id: "main", entries }],
  } as unknown as Transcript;
  const kinds = lanesOf(transcript, run, 50).flatMap(({ segments }) => segments.map(({ kind }) => kind));
  expect(kinds).toEqual(["model", "asks"]);
});

test("AP-54: labels of the time axis never touch, and every run of a tenth of a second or more has two", () => {
  const width = 106;
  const character = 7.2;
  for (let work = 100; work < 80_000_000; work = Math.ceil(work * 1.013)) {
    const ticks = ticksOf(work);
    expect(ticks.length, `${work} ms`).toBeGreaterThanOrEqual(2);
    expect(ticks.at(-1)).toBeLessThanOrEqual(work);
    for (const [at, tick] of ticks.slice(0, -1).entries()) {
      const end = (tick / work) * width + labelTick(tick).length * character;
      expect(end, `${work} ms`).toBeLessThan(((ticks[at + 1] ?? 0) / work) * width);
    }
  }
  expect(ticksOf(40)).toEqual([0]);
});

test("AP-54: bars of several runs are named by run and turn, those of one run by their turn", () => {
  const first = { run: runOf("run_1", "main", []), facts: turnOf([]) };
  const second = { run: runOf("run_2", "main", []), facts: turnOf([], { turn: 3 }) };
  expect([first, second].map(nameTurns([first, second]))).toEqual([
    { short: "1.1", long: "Run 1, turn 1", full: "1.1: Run 1, turn 1" },
    { short: "2.3", long: "Run 2, turn 3", full: "2.3: Run 2, turn 3" },
  ]);
  expect(nameTurns([second])(second)).toEqual({ short: "3", long: "Turn 3", full: "Turn 3" });
});
