import * as fc from "fast-check";
import { PowerCut } from "../../support/bench.ts";
import type { Crew, Member } from "../../support/crew.ts";
import { crew, delegate, toRest } from "../../support/crew.ts";
import { replies, said } from "../../support/scripts.ts";

/** A lead that leaves work in the background: what it and its agents say, and what people, clocks and crashes do meanwhile. */

const work = (...agents: readonly string[]) => agents.map((agent) => delegate(agent, { async: true }));

const graph = (...tasks: readonly object[]): readonly [string, object] => [
  "dispatch_tasks",
  { async: true, tasks: tasks.map((task) => ({ message: "Do", blocking: true, ...task })) },
];

const first = { id: "a", agent: "coder" };

const second = { id: "b", agent: "writer", depends_on: ["a"] };

const refusal = "{ reply: [{ refusal: No. }], finish: refusal }";

const silence = "{ reply: [{ reasoning: Hm. }] }";

const brokenOff = "{ fail: [{ status: 400, times: 9 }], reply: [{ text: Late. }] }";

/** What the lead's guardrail lets no person see. */
const withheld = "bad";

const begin: fc.Arbitrary<readonly string[]> = fc.constantFrom(
  [said(...work("coder", "writer"))],
  [said(...work("coder")), said("Started.")],
  [said(graph(first), ...work("writer"))],
  // The first announcement comes to nothing; what follows may be a summary of the chat.
  [said(...work("coder")), said("Started."), refusal, said("Told.")],
);

const leadReply = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(said("Told."), said("A long answer. ".repeat(300))) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      said(["look", {}]),
      said(["look", {}]),
      said("And", ["look", {}]),
      said(["put", {}]),
      said(["fire", {}]),
      said(["submit", {}]),
      said("Also", ["submit", {}]),
      said(["ask_user", { question: "Well?" }]),
    ),
  },
  { weight: 4, arbitrary: fc.constantFrom(said(withheld), silence, refusal, brokenOff) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      said(...work("coder")),
      said(...work("coder", "writer")),
      said(delegate("writer")),
      said(graph(first, second)),
    ),
  },
);

const childReply = fc.constantFrom(
  said("Result."),
  said(["look", {}]),
  said(["put", {}]),
  said(["ask_user", { question: "How?" }]),
  said(["request_input", { question: "Eh?" }]),
  refusal,
);

const leadYaml = fc
  .record({
    retries: fc.constantFrom(0, 1, 2),
    iterations: fc.constantFrom(2, 3, 6),
    mode: fc.constantFrom("blocking", "interactive"),
    memory: fc.constantFrom("", "memory: {}"),
    guard: fc.constantFrom(
      "",
      `middleware: [{ kind: output_guardrail, params: { must_not_contain: [${withheld}] } }]`,
    ),
    budget: fc.constantFrom("", "", "", ", budget: { max_tokens: 40000 }"),
  })
  .map(({ retries, iterations, mode, memory, guard, budget }) =>
    [
      `delegation: { async: true, announce: { timeout: 60s, retries: ${retries}, backoff: 2s } }`,
      `options: { max_iterations: ${iterations}, interaction_mode: ${mode}, question_timeout: 5m }`,
      "toolboxes: [probe, ask]",
      `guards: { tool_loops: false${budget} }`,
      memory,
      guard,
    ].join("\n"),
  );

const lead: fc.Arbitrary<Member> = fc
  .record({ begin, said: fc.array(leadReply, { minLength: 4, maxLength: 14 }), yaml: leadYaml })
  .map(({ begin: before, said: then, yaml }) => {
    const end = Array.from({ length: 4 }, () => said("End."));
    return { name: "lead", script: replies(...before, ...then, ...end), yaml };
  });

const called = (name: string): fc.Arbitrary<Member> =>
  fc
    .array(childReply, { minLength: 1, maxLength: 4 })
    .map((each) => ({ name, script: replies(...each, said("Done.")), yaml: "toolboxes: [probe, ask]" }));

/** The lead and the agents that it calls. */
export const team = fc.tuple(lead, called("coder"), called("writer"));

/** A time in which nothing may start by itself: after the event `from`, up to `to` (null = for ever). */
interface Stop {
  readonly from: number;
  to: number | null;
}

/** What was played, and when people had stopped everything. */
export interface Played extends Crew {
  readonly stops: Stop[];
}

const attempt = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof PowerCut)) throw error;
    return null;
  }
};

/** A person wants something again: runs may start. */
const stopOver = ({ bench, stops }: Played): void => {
  const stop = stops.at(-1);
  if (stop?.to === null) stop.to = bench.state().head;
};

const sends =
  (more: object) =>
  (played: Played): void => {
    stopOver(played);
    attempt(() => played.bench.perform("send", { content: "More. ".repeat(100), ...more }));
  };

const stops =
  (mode: "now" | "after_turn") =>
  (played: Played): void => {
    const { bench } = played;
    stopOver(played);
    const from = bench.state().head;
    const reply = attempt(() => bench.perform("cancel", { mode })) as { readonly ok: boolean } | null;
    if (reply?.ok === true) played.stops.push({ from, to: null });
  };

const cancelsChild = ({ bench }: Played): void => {
  const running = Object.values(bench.state().threads).find(({ id, run }) => id !== "main" && run !== null);
  if (running !== undefined) attempt(() => bench.perform("cancel", { thread: running.id }));
};

const answers = ({ bench }: Played): void => {
  const [ask] = Object.keys(bench.state().asks);
  if (ask !== undefined) attempt(() => bench.perform("answer", { ask, decision: "answer", text: "Yes" }));
};

const finishes = ({ probe }: Played): void => {
  for (const call of probe.calls) call.finish();
};

/** A person raises what the session may spend, but not by much. */
const grants = ({ bench }: Played): void => {
  const tokens = bench.state().spent.usage.total + 3_000;
  attempt(() => bench.perform("patch", { budget: { max_tokens: tokens } }));
};

/** Moves that leave every background call at work until it ends by itself. */
const gentle = {
  step: () => undefined,
  finish: finishes,
  crash: ({ bench }: Played) => bench.crash(),
  "cut at once": ({ bench }: Played) => bench.cutAt(1),
  "cut soon": ({ bench }: Played) => bench.cutAt(4),
  "cut later": ({ bench }: Played) => bench.cutAt(9),
  queue: sends({ on_busy: "queue" }),
  "queue light": sends({ on_busy: "queue", light: true }),
  steer: sends({ on_busy: "steer" }),
  send: sends({}),
  "send light": sends({ light: true }),
  compact: (played: Played) => {
    stopOver(played);
    attempt(() => played.bench.perform("compact", {}));
  },
  answer: answers,
  "time 2": ({ bench }: Played) => bench.tick(2_000),
  "time 70": ({ bench }: Played) => bench.tick(70_000),
};

const rough = {
  cancel: stops("now"),
  "cancel after": stops("after_turn"),
  "cancel but go on": (played: Played) => {
    stopOver(played);
    attempt(() => played.bench.perform("cancel", { queued: "keep" }));
  },
  "cancel child": cancelsChild,
  interrupt: sends({ on_busy: "interrupt" }),
  "interrupt light": sends({ on_busy: "interrupt", light: true }),
  rollback: sends({ on_busy: "rollback" }),
  patch: grants,
};

const acts: Readonly<Record<string, (played: Played) => unknown>> = { ...gentle, ...rough };

const often = ["step", "finish", "compact", "compact"];

/** Names of what happens, in order. */
export const moves = fc.array(fc.constantFrom(...often, ...Object.keys(acts)), { maxLength: 16 });

/** Whether all the lead's background calls come to an end of their own: nobody stops any, and no budget does. */
export const isGentle = ([{ yaml = "" }]: readonly [Member, ...Member[]], made: readonly string[]): boolean =>
  !yaml.includes("budget") && made.every((move) => move in gentle);

/** Plays the moves, then lets the session come to rest. */
export const playThrough = async (
  members: readonly Member[],
  made: readonly string[],
  instant: boolean,
): Promise<Played> => {
  const played: Played = { ...(await crew(members, { instant })), stops: [] };
  const { bench } = played;
  bench.send("Go. ".repeat(1_000));
  await bench.steps();
  for (const move of made) {
    await acts[move]?.(played);
    await bench.steps();
  }
  bench.cutAt(null);
  await toRest(played);
  return played;
};
