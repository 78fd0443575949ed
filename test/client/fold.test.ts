import { expect, test } from "vitest";
import { leastCpuOf } from "../support/cpu.ts";
import type { Delta, StoredEvent } from "../../src/agent/state/events.ts";
import { foldFrames } from "../../src/client/fold/index.ts";
import type { FoldFrame } from "../../src/client/fold/index.ts";
import type { SnapshotBody } from "../../src/client/fold/start.ts";
import { emptyFold, startFold } from "../../src/client/fold/start.ts";
import type { CallEntry } from "../../src/client/transcript.ts";
import { dataOf, play, run } from "../agent/loop/play.ts";
import { effectStageOf, playSchedule, stageOf } from "../session/schedule.ts";
import { member, mission, spawn, task } from "../support/crew.ts";
import { done, look, replies, said, scripted } from "../support/scripts.ts";
import { checkTranscripts, foldSince } from "../support/transcripts.ts";

/** The fold of the typed client, over logs of real sessions on the bench. */

test.each([1, 2, 3, 4, 5, 6])(
  "AP-24 AP-51: clients that came at any time show the same after whatever happens, seed %i",
  async (seed) => {
    for (const stage of [await stageOf(seed), await effectStageOf(seed)])
      for (const bench of await playSchedule(stage, seed, 12)) checkTranscripts(bench, []);
  },
);

test("AP-24 AP-51: a cleared session begins anew for who watched and who comes later", async () => {
  const { bench } = await play(replies(said("Ok.")));
  bench.send("Go on");
  await bench.idle();
  const before = bench.ok("snapshot") as unknown as SnapshotBody;
  bench.ok("clear");
  checkTranscripts(bench, [before]);
  expect(bench.ok("get")).toMatchObject({ last_end: null });
});

test("AP-24 AP-41: what a snapshot says of the budget is not undone by events from before it", async () => {
  const { bench } = await play(replies(said("Ok.")));
  bench.ok("patch", { budget: { max_tokens: 100_000 } });
  bench.send("Go on");
  await bench.idle();
  const snapshot = bench.ok("snapshot") as unknown as SnapshotBody;
  expect(foldSince(snapshot, bench.events()).session?.budget).toEqual(snapshot.session.budget);
});

test("AP-24 SE-24: inputs wait in the order in which they are taken up, for who watched as for who comes later", async () => {
  const { bench } = await play(replies(said(["put", {}])), { instant: false });
  bench.send("Go on");
  await bench.steps();
  for (const id of ["a", "b", "c"]) {
    bench.ok("send", { id, content: id, on_busy: "queue" });
    if (id === "a") bench.ok("edit_input", { input: id, content: "A" });
  }
  bench.ok("send", { id: "now", content: "Stop", on_busy: "interrupt" });
  const snapshot = bench.ok("snapshot") as unknown as SnapshotBody;
  for (const { inputs } of [
    snapshot,
    foldSince(null, bench.events()),
    foldSince(snapshot, bench.events()),
    foldSince(snapshot, bench.events(), snapshot.seq - 3),
  ])
    expect(inputs.map(({ id }) => id)).toEqual(["now", "a", "b", "c"]);
});

test("AP-51: a run has as many turns for who watched it as for who asks for it, while it is under way, too", async () => {
  const { bench, probe } = await play(replies(look, look, said("Ok.")), { instant: false });
  bench.send("Go on");
  for (const turns of [1, 2, 3]) {
    await bench.steps();
    expect(bench.ok("runs")["data"]).toMatchObject([{ turns }]);
    const watched = foldSince(null, bench.events());
    const snapshot = bench.ok("snapshot") as unknown as SnapshotBody;
    for (const { runs } of [watched, foldSince(snapshot, bench.events())])
      expect(runs).toMatchObject([{ turns }]);
    probe.calls.at(-1)?.finish();
  }
});

test("AP-51: what a broken attempt used counts in its turn and in the session, for who watched as for who comes later", async () => {
  const { bench } = await play(replies(said("Once upon a time"), done));
  bench.hold = true;
  bench.send("Go on");
  await bench.steps();
  bench.crash();
  bench.release();
  await bench.idle();
  const watched = foldSince(null, bench.events());
  const { usage } = foldSince(bench.ok("snapshot") as unknown as SnapshotBody, []);
  const [broken, answered] = watched.runs[0]?.timeline.find(({ turn }) => turn === 1)?.model_calls ?? [];
  expect(broken?.failure).toBe("interrupted");
  expect(broken?.usage?.input).toBeGreaterThan(0);
  expect((broken?.usage?.total ?? 0) + (answered?.usage?.total ?? 0)).toBe(usage.total);
  expect(watched.usage).toMatchObject({ total: usage.total, calls: 2 });
});

const longLog = async (): Promise<readonly StoredEvent[]> => {
  const agent = "options: { max_iterations: 220 }\nguards: { tool_loops: false }";
  const { bench } = await play(replies(...Array.from({ length: 200 }, () => look)), { agent });
  bench.send("Go on");
  await bench.idle();
  return bench.events();
};

const framesOf = (events: readonly StoredEvent[]): readonly FoldFrame[] =>
  events.map((event) => ({ type: "event", event }));

/** Freezes a value with all that it holds, so that a change of it throws. */
const freeze = <T>(value: T): T => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
};

test("AP-51: the fold changes nothing that it was given, and shares what has not changed", async () => {
  const events = (await longLog()).slice(0, 400);
  let state = freeze(emptyFold);
  for (const frame of framesOf(events)) state = freeze(foldFrames(state, [frame]));
  expect(state.transcript).toEqual(foldSince(null, events));
  const next = foldFrames(state, framesOf(events));
  expect(next.transcript.threads).toBe(state.transcript.threads);
  expect(next.transcript.runs).toBe(state.transcript.runs);
});

const openText: readonly FoldFrame[] = [
  {
    type: "item_state",
    item: "i",
    kind: "text",
    thread: "main",
    attempt: 1,
    text: "",
  },
];

const delta = (off: number, data: string): FoldFrame => ({
  type: "delta",
  kind: "text_delta",
  thread: "main",
  item: "i",
  attempt: 1,
  off,
  data,
});

test("AP-20: pieces of text come once each, in their order; one behind a gap waits for the whole", async () => {
  const begun = foldFrames(emptyFold, framesOf((await longLog()).slice(0, 20)));
  const shown = (frames: readonly FoldFrame[]): string => {
    const { threads } = foldFrames(begun, frames).transcript;
    const entry = threads[0]?.entries.at(-1);
    const [part] = entry?.kind === "message" && entry.open ? entry.parts : [];
    return part?.type === "text" ? part.text : "nothing open";
  };
  expect(shown(openText)).toBe("");
  expect(shown([...openText, delta(0, "Hel"), delta(3, "lo")])).toBe("Hello");
  expect(shown([...openText, delta(0, "Hel"), delta(0, "Hel"), delta(2, "llo")])).toBe("Hello");
  expect(shown([...openText, delta(0, "Hel"), delta(5, "!")])).toBe("Hel");
  expect(shown([...openText, delta(0, "Hel"), { ...openText[0], text: "Hello!" } as FoldFrame])).toBe(
    "Hello!",
  );
});

test("AP-20 AP-51: a call that runs again after a crash shows what it prints now, and not what it had printed", async () => {
  const { bench, probe } = await play(replies(look, done), { instant: false });
  const printed: Delta[] = [];
  const print = (...pieces: readonly string[]): void => {
    for (const piece of pieces) probe.calls.at(-1)?.context.show(piece);
    printed.push(...bench.deltas.filter(({ kind }) => kind === "tool_output_delta").slice(printed.length));
  };
  bench.send("Go on");
  await bench.steps();
  print("one, ", "two");
  bench.crash();
  await bench.steps();
  print("1, ", "2");
  expect(printed.map(({ attempt, off }) => [attempt, off])).toEqual([
    [1, 0],
    [1, 5],
    [2, 0],
    [2, 3],
  ]);
  const { threads } = foldFrames(emptyFold, [...framesOf(bench.events()), ...printed]).transcript;
  expect(threads[0]?.entries.find(({ kind }) => kind === "call")).toMatchObject({ live: "1, 2" });
});

test("AP-51: 2,000 events are folded in 100 ms, and a piece of text costs no walk over them", async () => {
  const events = await longLog();
  expect(events.length).toBeGreaterThan(2_000);
  const frames = framesOf(events.slice(0, 2_000));
  expect(await leastCpuOf(() => foldFrames(emptyFold, frames))).toBeLessThan(100);
  const begun = foldFrames(foldFrames(emptyFold, frames), openText);
  const oneByOne = (): void => {
    let state = begun;
    for (let at = 0; at < 500; at += 1) state = foldFrames(state, [delta(at, "x")]);
  };
  expect(await leastCpuOf(oneByOne), "500 pieces").toBeLessThan(100);
});

test("AP-24 AP-51: runs that began together stand in their order for who watched as for who comes later", async () => {
  const { bench } = await mission([
    member("lead", [said(spawn([task("coder"), task("writer")])), said("All.")]),
    member("coder", [look, look, said("Coded.")]),
    member("writer", [said("Written.")]),
  ]);
  const snapshot = bench.ok("snapshot") as unknown as SnapshotBody;
  expect(snapshot.runs.map(({ id }) => id)).toEqual(["run_3", "run_2", "run_1"]);
  expect(foldSince(snapshot, []).runs.map(({ id }) => id)).toEqual(["run_1", "run_2", "run_3"]);
  checkTranscripts(bench, []);
});

test("AP-51: called threads stand in the order in which they began, however a snapshot lists them", () => {
  const thread = (
    id: string,
    run: string,
    started_at: number | null,
    status: "idle" | "ended" = "ended",
  ) => ({
    id,
    agent: "a",
    depth: id === "main" ? 0 : 1,
    run: null,
    last_run: run,
    status,
    started_at,
    parent: id === "main" ? null : { thread: "main", call: "c" },
  });
  const rows = [
    thread("d", "run_10", 20),
    thread("b", "run_3", 10),
    thread("main", "run_1", null, "idle"),
    thread("c", "run_9", 20),
    thread("a", "run_2", 10, "idle"),
  ];
  const snapshot = { session: { prefix: "" }, threads: rows, asks: [], inputs: [], runs: [], seq: 9 };
  const { transcript } = startFold(snapshot as unknown as SnapshotBody, 0);
  expect(transcript.threads.map(({ id }) => id)).toEqual(["main", "a", "b", "c", "d"]);
});

test.each(["", "permissions: { rules: [{ tool: look, action: deny }] }"])(
  "AP-51: a call with long arguments has the fields of any other, and tells of a cut once it has ended, %o",
  async (team) => {
    const shownFor = async (name: string): Promise<readonly CallEntry[]> => {
      const { bench } = await run(replies(said(["look", { name }]), done), { team });
      const events = bench.events().filter(({ type }) => type !== "message_added");
      const after = events.flatMap(({ seq, type }) => (/^tool_call_(start|end)$/.test(type) ? seq : []));
      return after.flatMap((last) => {
        const { threads } = foldSince(
          null,
          events.filter(({ seq }) => seq <= last),
        );
        return threads[0]?.entries.filter((entry) => entry.kind === "call") ?? [];
      });
    };
    const [short, long] = [await shownFor("short"), await shownFor("x".repeat(70_000))];
    const keysOf = (entries: readonly CallEntry[]) => entries.map((entry) => Object.keys(entry).sort());
    expect(keysOf(long)).toEqual(keysOf(short));
    expect(long.map(({ truncated }) => truncated)).toEqual(team === "" ? [false, true] : [true]);
  },
);

test("AP-51: the resolution of an ask has its own fields, whatever else the event of the answer brings", async () => {
  const { bench } = await run(replies(said(["ask_user", { question: "Which?" }]), done));
  const [ask] = dataOf(bench, "ask_user");
  bench.ok("answer", { ask: ask?.ask.id, decision: "answer", text: "This one" });
  await bench.idle();
  const events = bench
    .events()
    .map((event): StoredEvent =>
      event.type === "ask_resolved"
        ? { ...event, data: Object.assign({ truncated: true }, event.data) }
        : event,
    );
  const { threads } = foldSince(null, events);
  const call = threads[0]?.entries.find((entry) => entry.kind === "call");
  expect(call?.kind === "call" && Object.keys(call.asks[0]?.resolution ?? {})).toEqual(["decision", "by"]);
});

test("AP-51: a call that asks twice has both asks, the approval before what its client is asked", async () => {
  const ring = { name: "ring_bell", description: "Rings.", safety: "unsafe", params: { type: "object" } };
  const yaml = scripted("client_tools: [ring_bell]\n" + replies(said(["ring_bell", {}]), done)).replace(
    "preset: open",
    "preset: ask",
  );
  const { bench } = await run("", { yaml, create: { client_tools: [ring] } });
  for (const decision of [{ decision: "approve" }, { decision: "result", output: "It rang." }]) {
    bench.ok("answer", { ask: Object.values(bench.state().asks)[0]?.id, ...decision });
    await bench.idle();
  }
  const [call] =
    foldSince(null, bench.events()).threads[0]?.entries.filter((entry) => entry.kind === "call") ?? [];
  expect(call?.asks.map(({ kind, status, resolution }) => [kind, status, resolution?.decision])).toEqual([
    ["approval", "resolved", "approve"],
    ["client_tool", "resolved", "result"],
  ]);
});
