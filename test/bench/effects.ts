import { performance } from "node:perf_hooks";
import { createDraft, selectThread } from "../../src/agent/transaction/draft.ts";
import type { TransactionContext } from "../../src/agent/transaction/draft.ts";
import { runAfterEffects, runBeforeEffects } from "../../src/agent/hooks/effects.ts";
import type { Run } from "../../src/agent/state/run.ts";
import type { Session } from "../../src/agent/state/session.ts";
import { estimateText } from "../../src/chat/tokens.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { engineOf } from "../support/teams.ts";
import type { Engine } from "../../src/engine/engine.ts";
import type { Results } from "./table.ts";

/** What effects cost and save, in one process: the real core over the real store, a provider that answers from a string. */

const sse = (index: number, events: readonly object[]): Response =>
  new Response(
    events
      .map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join(""),
    { headers: { "content-type": "text/event-stream", "request-id": `req_${index}` } },
  );

const message = (stop: string, content: object, delta: object): readonly object[] => [
  {
    type: "message_start",
    message: { id: "m", model: "claude-sonnet-4-5", usage: { input_tokens: 10, output_tokens: 1 } },
  },
  { type: "content_block_start", index: 0, content_block: content },
  { type: "content_block_delta", index: 0, delta },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: stop }, usage: { output_tokens: 12 } },
  { type: "message_stop" },
];

interface Sent {
  calls: number;
  bytes: number;
  largest: number;
}

/** Calls one tool `turns` times, then answers; a request for a summary gets one. */
const providerOf =
  (turns: number, sent: Sent): typeof globalThis.fetch =>
  async (_input, init) => {
    const body = typeof init?.body === "string" ? init.body : "";
    sent.bytes += body.length;
    sent.largest = Math.max(sent.largest, body.length);
    const tools = body.includes('"tools"');
    if (!tools)
      return sse(
        0,
        message("end_turn", { type: "text", text: "" }, { type: "text_delta", text: "## Goal\nGo on." }),
      );
    sent.calls += 1;
    return sent.calls <= turns
      ? sse(
          sent.calls,
          message(
            "tool_use",
            { type: "tool_use", id: `toolu_${sent.calls}`, name: "look", input: {} },
            { type: "input_json_delta", partial_json: `{"name":"${sent.calls}"}` },
          ),
        )
      : sse(
          sent.calls,
          message("end_turn", { type: "text", text: "" }, { type: "text_delta", text: "Done." }),
        );
  };

const yaml = (effects: string, window: number): string => `
providers: [{ name: claude, kind: anthropic, model: claude-sonnet-4-5, api_key: "\${KEY}", context_window: ${window} }]
agents:
  - name: worker
    instructions: Work.
    toolboxes: [probe]
    permissions: { preset: open }
    options: { max_iterations: 500 }
    guards: { tool_loops: false }
    ${effects}
`;

interface Played {
  readonly bench: Bench;
  readonly sent: Sent;
  readonly engine: Engine;
  readonly ms: number;
  /** The run as it was in one of its turns. */
  readonly run: Run | null;
}

const play = async (turns: number, length: number, effects: string, window = 200_000): Promise<Played> => {
  const sent: Sent = { calls: 0, bytes: 0, largest: 0 };
  const probe = createProbe(false);
  const engine = await engineOf(yaml(effects, window), {
    toolboxes: [probe.toolbox],
    env: { KEY: "k" },
    fetch: providerOf(turns, sent),
  });
  const bench = openBench({ engine });
  bench.ok("create");
  const before = performance.now();
  bench.send("Work through all of it.");
  let done = 0;
  let run: Run | null = null;
  while (bench.types().at(-1) !== "run_end") {
    await bench.steps();
    run = bench.state().threads["main"]?.run ?? run;
    for (; done < probe.calls.length; done++)
      probe.calls[done]?.finish(
        `${done} ${"lorem ipsum dolor ".repeat(Math.ceil(length / 18))}`.slice(0, length),
      );
  }
  await bench.idle();
  return { bench, sent, engine, ms: performance.now() - before, run };
};

/** Milliseconds of both phases of a turn, nothing firing: the newest run of the thread, as it stood at its last turn. */
const phaseMs = ({ bench, engine, run }: Played, rounds: number): number => {
  const session = bench.state();
  const thread = session.threads["main"];
  if (thread === undefined) throw new Error("there is no thread");
  const agent = engine.agent("worker", session);
  const state: Session = { ...session, threads: { main: { ...thread, run } } };
  const context = { now: bench.now(), epoch: 1, agents: () => agent } as unknown as TransactionContext;
  const before = performance.now();
  for (let round = 0; round < rounds; round++) {
    const draft = createDraft(state, context);
    runBeforeEffects(selectThread(draft, "main"), 0);
    runAfterEffects(selectThread(draft, "main"));
    if (draft.events.length > 0) throw new Error("an effect fired");
  }
  return (performance.now() - before) / rounds;
};

/** The figures of effects: the cost of an idle phase, and what the generated pair saves over 400 turns. */
export const measureEffects = async (
  tell: (text: string) => void,
  passes: number,
  results: Results,
): Promise<void> => {
  tell("an idle effect phase at 500 messages");
  for (let pass = 0; pass < passes; pass++) {
    const played = await play(250, 100, "");
    phaseMs(played, 200);
    const phase = phaseMs(played, 1_000);
    results.add("idleEffects", (100 * phase) / (played.ms / 250));
    results.note("idleEffects", `${(phase * 1_000).toFixed(0)} µs`);
  }
  tell("400 turns with 8 KB results, with and without effects");
  const plain = (await play(400, 8_192, "effects: []", 0)).sent;
  const paired = (await play(400, 8_192, "")).sent;
  const mebibytes = ({ bytes }: Sent): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  results.add("effectBytes", (100 * paired.bytes) / plain.bytes);
  results.note("effectBytes", `${mebibytes(paired)} against ${mebibytes(plain)}`);
  results.add("largestRequest", estimateText("x".repeat(paired.largest)));
  results.note("largestRequest", `without effects ${estimateText("x".repeat(plain.largest))}`);
};
