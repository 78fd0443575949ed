import * as fc from "fast-check";
import { expect, test } from "vitest";
import { PowerCut } from "../../support/bench.ts";
import type { Crew } from "../../support/crew.ts";
import { crew, delegate, eventsAs, spawn, task, toRest } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { replies, said } from "../../support/scripts.ts";
import { sizeOf } from "../../support/random-size.ts";

/** Random teams whose agents call each other in every way, while people and crashes interfere: all ends, once, and in order. */

type Piece = readonly [string, object];

const names = ["lead", "coder", "writer", "ghost"];

const agentName = fc.constantFrom(...names, "auto");

const taskArgs = fc.record(
  {
    agent: agentName,
    async: fc.boolean(),
    persistent: fc.boolean(),
    mode: fc.constantFrom("blocking", "interactive"),
    timeout_seconds: fc.constantFrom(5, 60),
  },
  { requiredKeys: ["agent"] },
);

const child = fc.constantFrom(
  "{{results.check_children.0.child}}",
  "{{results.spawn_agents.0.child}}",
  "t_none",
);

const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ name: fc.constantFrom("a", "b") }).map((args): Piece => ["look", args]),
  fc.constant<Piece>(["put", { name: "p" }]),
  fc.constant<Piece>(["fire", { name: "f" }]),
  fc.constant<Piece>(["ask_user", { question: "Go on?" }]),
  fc.constant<Piece>(["check_children", {}]),
  fc.constant<Piece>(["request_input", { question: "How?" }]),
  fc.constant<Piece>(["task_complete", { status: "completed", summary: "All of it." }]),
  fc.constant<Piece>(["spawn_agent", { task: "Help", max_turns: 2 }]),
  agentName.map((agent): Piece => ["handoff", { agent, reason: "r", context: "c" }]),
  taskArgs.map(({ agent, ...more }) => delegate(agent, more)),
  fc
    .tuple(fc.array(taskArgs, { maxLength: 3 }), fc.constantFrom("cancel", "collect"))
    .map(([tasks, on_error]) =>
      spawn(
        tasks.map(({ agent, ...more }) => task(agent, more)),
        { on_error },
      ),
    ),
  fc
    .record({ async: fc.boolean(), first: agentName, second: agentName, blocking: fc.boolean() })
    .map(({ async, first, second, blocking }): Piece => {
      const node = (id: string, agent: string, depends_on: readonly string[]) => ({
        id,
        agent,
        message: "Do it",
        depends_on,
        blocking,
      });
      return ["dispatch_tasks", { async, tasks: [node("a", first, []), node("b", second, ["a"])] }];
    }),
  child.map((id): Piece => ["cancel_child", { child: id }]),
  child.map((id): Piece => ["steer_child", { child: id, message: "Hurry" }]),
  child.map((id): Piece => [
    "answer_child",
    { child: id, question: "{{results.check_children.0.question.id}}", answer: "So." },
  ]),
);

const reply = fc
  .tuple(fc.boolean(), fc.array(piece, { maxLength: 3 }))
  .map(([speaks, pieces]) => (pieces.length === 0 || speaks ? said("Well.", ...pieces) : said(...pieces)));

const script = fc
  .array(reply, { minLength: 1, maxLength: 4 })
  .map((each) => replies(...each, said("End."), said("End.")));

const yaml = fc
  .record({
    inherit: fc.constantFrom("own", "intersect", "union"),
    async: fc.boolean(),
    mode: fc.constantFrom("blocking", "interactive"),
    depth: fc.constantFrom(0, 2, 3),
    concurrency: fc.constantFrom(0, 1),
  })
  .map(({ inherit, async, mode, depth, concurrency }) =>
    [
      `delegation: { inherit: ${inherit}, async: ${async}, ad_hoc: true, announce: { timeout: 60s, retries: 1 } }`,
      `options: { interaction_mode: ${mode}, max_delegation_depth: ${depth}, max_handoffs: 2, max_iterations: 6, question_timeout: 10m }`,
      `max_concurrency: ${concurrency}`,
      "capabilities: [{ name: work }]",
    ].join("\n"),
  );

const team = fc.tuple(
  ...["lead", "coder", "writer"].map((name) => fc.record({ name: fc.constant(name), script, yaml })),
);

type Move =
  | "step"
  | "crash"
  | "cut"
  | "cancel"
  | "cancel child"
  | "stop"
  | "stop child"
  | "hold"
  | "release"
  | "steer child"
  | "send"
  | "answer"
  | "interrupt"
  | "rollback"
  | "steer"
  | "compact"
  | "clear"
  | "rewind"
  | "time";

const moves = fc.array(
  fc.constantFrom<Move>(
    "step",
    "step",
    "crash",
    "cut",
    "cancel",
    "cancel child",
    "stop",
    "stop child",
    "hold",
    "release",
    "steer child",
    "send",
    "answer",
    "interrupt",
    "rollback",
    "steer",
    "compact",
    "clear",
    "rewind",
    "time",
  ),
  { maxLength: 16 },
);

const attempt = (act: () => void): void => {
  try {
    act();
  } catch (error) {
    if (!(error instanceof PowerCut)) throw error;
  }
};

/** Runs that were stopped gracefully, and the number of the last event before. */
interface Stop {
  readonly runs: readonly string[];
  readonly last: number;
}

/** Runs of a thread and of those that it called, however deep. */
const runsUnder = ({ bench }: Pick<Crew, "bench">, id: string): readonly string[] => {
  const threads = Object.values(bench.state().threads);
  const called = threads.filter(({ parent }) => parent?.thread === id);
  const own = threads.find((thread) => thread.id === id)?.run;
  return [...(own == null ? [] : [own.id]), ...called.flatMap((each) => runsUnder({ bench }, each.id))];
};

/** Stops a thread gracefully; nothing starts afterwards in its run or below it, except that a report is taken. */
const stopGracefully = (bench: Crew["bench"], thread: string): readonly Stop[] => {
  const runs = runsUnder({ bench }, thread);
  const last = bench.events().length;
  const stops: Stop[] = [];
  attempt(() => {
    bench.perform("cancel", { thread, mode: "after_turn" });
    stops.push({ runs, last });
  });
  return stops;
};

const interfere = async ({ bench }: Crew, move: Move, stops: Stop[]): Promise<void> => {
  const running = Object.values(bench.state().threads).find(({ id, run }) => id !== "main" && run !== null);
  const [ask] = Object.keys(bench.state().asks);
  if (move === "crash") bench.crash();
  if (move === "cut") bench.cutAt(5);
  if (move === "cancel") attempt(() => bench.perform("cancel", {}));
  if (move === "cancel child" && running !== undefined)
    attempt(() => bench.perform("cancel", { thread: running.id }));
  if (move === "stop") stops.push(...stopGracefully(bench, "main"));
  if (move === "stop child" && running !== undefined) stops.push(...stopGracefully(bench, running.id));
  if (move === "hold") bench.hold = true;
  if (move === "release") bench.release();
  if (move === "steer child" && running !== undefined)
    attempt(() => bench.perform("send", { content: "Now", thread: running.id, on_busy: "steer" }));
  if (move === "send") attempt(() => bench.perform("send", { content: "More", on_busy: "queue" }));
  if (move === "interrupt" || move === "rollback" || move === "steer")
    attempt(() => bench.perform("send", { content: "Anew", on_busy: move }));
  if (move === "compact" || move === "clear") attempt(() => bench.perform(move, {}));
  if (move === "rewind") attempt(() => bench.perform("rewind", { at: Math.floor(bench.state().head / 2) }));
  if (move === "answer" && ask !== undefined)
    attempt(() => bench.perform("answer", { ask, decision: "answer", text: "Yes" }));
  if (move === "time") await bench.tick(20_000);
  await bench.steps();
};

const checkStops = ({ bench }: Crew, stops: readonly Stop[]): void => {
  for (const { runs, last } of stops) {
    const started = bench.events().filter(({ seq, run, type }) => {
      const begins = type === "llm_request_start" || type === "tool_call_start";
      return seq > last && runs.includes(run ?? "") && begins;
    });
    const reports = started.filter(({ data }) => "tool" in data && data.tool === "task_complete");
    expect(started, "a stopped run begins nothing but its report").toEqual(reports);
  }
};

const checkTree = (made: Crew): void => {
  const { bench } = made;
  checkInvariants(bench, [], made.probe);
  const state = bench.state();
  for (const { id, run, child: own } of Object.values(state.threads)) {
    expect(run, `${id} has no run`).toBeNull();
    expect(id === "main" || own?.idle, `${id} is main, or kept for its next task`).toBe(true);
  }
  expect(state.queue).toEqual([]);
  expect(state.trees).toEqual({});
  expect(state.asks).toEqual({});
  const ends = eventsAs(made, "agent_end").map(({ thread, run }) => `${thread} ${run}`);
  const starts = eventsAs(made, "agent_start").map(({ thread, run }) => `${thread} ${run}`);
  expect(ends.toSorted()).toEqual(starts.toSorted());
  const rows = bench.rows("children").length;
  expect(rows).toBe(new Set(eventsAs(made, "agent_start").map(({ thread }) => thread)).size - 1);
};

test("AG-7 to AG-32 SE-31: random teams, people and crashes: every thread ends once, every call has one result", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(team, moves, async (members, played) => {
      const made = await crew(members, {
        team: "sessions: { max_running_threads: 2 }",
      });
      attempt(() => made.bench.perform("send", { content: "Go" }));
      const stops: Stop[] = [];
      for (const move of played) await interfere(made, move, stops);
      made.bench.cutAt(null);
      made.bench.release();
      await toRest(made);
      for (const { data } of eventsAs(made, "messages_retired"))
        seen.set(data.by, (seen.get(data.by) ?? 0) + 1);
      checkTree(made);
      checkStops(made, stops);
    }),
    sizeOf(200, 2026),
  );
  // Plays that never take a chat back prove nothing of it.
  for (const by of ["rollback", "clear", "rewind"]) expect(seen.get(by), by).toBeGreaterThan(5);
});
