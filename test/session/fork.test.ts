import { noSpending } from "../../src/agent/state/budget.ts";
import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { textsOf, dataOf, ends } from "../agent/loop/play.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist, settleSoon } from "../support/power-cut.ts";
import { createBigTool, createProbe } from "../support/probe.ts";
import { done, look, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { pngOf } from "../support/images.ts";

/** Sessions that begin with the chat of another one (SE-45). */

const forkId = "s_bbbbbbbbbbbbbbbbbbbbbbbbbb";

interface Pair {
  readonly source: Bench;
  /** A place for a fork of the source, or of another fork. */
  readonly fork: (source?: Bench) => Bench;
}

const big = createBigTool("so much to say ".repeat(20));

const open = async (yaml: string): Promise<Pair> => {
  const { toolbox } = createProbe(true);
  const engine = await engineOf(yaml, { toolboxes: [{ ...toolbox, tools: [...toolbox.tools, big] }] });
  const source = openBench({ engine });
  source.ok("create", { title: "Source", metadata: { subject: "ann" } });
  return { source, fork: (from = source) => openBench({ engine, id: forkId, source: from }) };
};

const say = async (bench: Bench, content: string): Promise<void> => {
  bench.send(content);
  await bench.idle();
};

const twoRuns = async (): Promise<Pair> => {
  const pair = await open(scripted(replies(look, said("One."), said("Two."), done)));
  await say(pair.source, "First");
  await say(pair.source, "Second");
  return pair;
};

const forkAt = (bench: Bench, { source, at }: { source: Bench; at: number | string }): void =>
  void bench.ok("fork", { source: source.id, at });

const idsOf = (bench: Bench): readonly string[] => bench.chat().map(({ id }) => id);

const texts = (bench: Bench): readonly string[] => bench.chat().map((message) => textsOf(message));

const everything = (bench: Bench): string =>
  JSON.stringify([bench.state(), bench.lines(), bench.rows("messages"), bench.rows("blobs")]);

test("SE-45 ★: a fork has the view of its point, no usage, no runs and no inputs, names its source, and leaves it untouched", async () => {
  const { source, fork } = await twoRuns();
  const before = everything(source);
  const at = idsOf(source)[3] ?? "";
  const { seq } = source.events().find(({ type }) => type === "turn_end") as StoredEvent;
  const bench = fork();
  forkAt(bench, { source, at });
  expect(texts(bench)).toEqual(["First", "", "look() done", "One."]);
  const { head, spent, asks, threads, title, metadata, ref } = bench.state();
  expect([title, metadata, ref, asks]).toEqual(["Source", { subject: "ann" }, null, {}]);
  expect(spent).toEqual(noSpending);
  expect(threads["main"]).toMatchObject({ inbox: [], run: null, lastRun: null });
  expect(bench.ok("runs")["data"]).toEqual([]);
  expect(bench.ok("inputs")["data"]).toEqual([]);
  const created = dataOf(bench, "session_created")[0];
  expect(created?.source).toMatchObject({ session: source.id });
  expect(created?.source?.seq).toBeGreaterThan(seq);
  expect(head).toBe(5);
  expect(everything(source)).toBe(before);
  bench.crash();
  await say(bench, "Another way");
  expect(texts(bench).slice(3)).toEqual(["One.", "Another way", "", "look() done", "One."]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(bench.ok("runs")["data"]).toMatchObject([{ id: "run_3" }]);
  checkInvariants(bench, []);
  expect(everything(source)).toBe(before);
});

test("SE-45: a fork inside a block lands before it, also while the source runs", async () => {
  const { source, fork } = await open(scripted(replies(look, said("One."), done)));
  source.hold = true;
  source.send("First");
  await source.steps();
  source.release();
  source.hold = true;
  for (let round = 0; round < 20 && source.chat().length < 3; round++) await source.steps();
  expect(source.state().threads["main"]?.run).not.toBeNull();
  for (const [at, length] of [
    ["msg_main_0", 1],
    ["msg_main_1", 1],
    ["msg_main_2", 3],
    [source.state().head, 3],
  ] as const) {
    const bench = fork();
    forkAt(bench, { source, at });
    expect(idsOf(bench), String(at)).toHaveLength(length);
    await say(bench, "On");
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    checkInvariants(bench, []);
  }
  source.release();
  await source.idle();
});

test("AP-24 AP-27: the events of a fork tell each message that it shows, and its log stays whole when packed", async () => {
  const { source, fork } = await twoRuns();
  const bench = fork();
  forkAt(bench, { source, at: source.state().head });
  const told = (): readonly unknown[] => dataOf(bench, "message_added").map(({ message }) => message);
  const originals = bench.chat();
  expect(told()).toEqual(originals);
  expect(bench.published).toEqual(bench.events());
  for (let round = 0; round < 20; round++) await say(bench, `Again ${round}`);
  expect(bench.rows("events").length).toBeGreaterThan(0);
  expect(told().slice(0, originals.length)).toEqual(originals);
  expect(bench.published).toEqual(bench.events());
  checkInvariants(bench, []);
});

test("SE-45 EF-2: what the source's view had shortened or retired is so in the fork too, and its originals are there", async () => {
  const effects =
    "effects: [{ kind: trim_tool_results, params: { max_result_length: 3, preserve_recent: 0 } }, { kind: compact, params: { threshold: 0.5, target: 0.3, keep_turns: 1 } }]";
  const use = "{ reply: [{ call: big }] }";
  const yaml = scripted(
    replies(use, said("One."), said("Two."), said("Sum of it all."), said("Three."), done),
  )
    .replace("effects: []", effects)
    .replace("context_window: 128000", "context_window: 24000");
  const { source, fork } = await open(yaml);
  const long = "word ".repeat(4_500);
  await say(source, `First ${long}`);
  const early = source.state().head;
  await say(source, `Second ${long}`);
  await say(source, `Third ${long}`);
  expect(dataOf(source, "compaction").map(({ stage }) => stage)).toContain("full");
  const late = fork();
  forkAt(late, { source, at: source.state().head });
  expect(late.chat()).toEqual(source.chat());
  expect(late.state().threads["main"]?.effects).toEqual(source.state().threads["main"]?.effects);
  const listed = (bench: Bench): readonly { id: string; state: string; parts: unknown }[] =>
    bench.ok("messages", { retired: true, limit: 100 })["data"] as never;
  const known = (bench: Bench): readonly unknown[] =>
    listed(bench).map(({ id, state, parts }) => [id, state, parts]);
  expect(known(late)).toEqual(known(source));
  late.crash();
  expect(late.chat()).toEqual(source.chat());
  const before = fork();
  forkAt(before, { source, at: early });
  expect(before.chat().every(({ summary }) => summary === undefined)).toBe(true);
  expect(idsOf(before)).toEqual(["msg_main_0", "msg_main_1", "msg_main_2", "msg_main_3"]);
  const again = fork(late);
  again.ok("fork", { source: late.id, at: late.state().head });
  expect(again.chat()).toEqual(source.chat());
  await say(late, "On");
  checkInvariants(late, []);
});

test("SE-45: images and long results that the messages name come along, later ones do not", async () => {
  const { source, fork } = await open(scripted(replies(said("Nice."), said("Nicer."), done)));
  const image = (data: string): object => ({ type: "image", media_type: "image/png", data });
  source.ok("send", { content: [image(pngOf(1, 1))] });
  await source.idle();
  const at = source.state().head;
  source.ok("send", { content: [image(pngOf(2, 2))] });
  await source.idle();
  const bench = fork();
  forkAt(bench, { source, at });
  expect(bench.rows("blobs")).toEqual(source.rows("blobs").slice(0, 1));
  expect(bench.rows("blobs")).toHaveLength(1);
});

test("SE-45: a tenant forks only its own sessions, and what is refused leaves nothing", async () => {
  const { source, fork } = await twoRuns();
  const refusal = (params: object, who: object = {}): string => {
    const bench = fork();
    try {
      const reply = bench.performAs(who, "fork", { source: source.id, ...params });
      return reply.ok ? "ok" : reply.problem.code;
    } catch (error) {
      expect(() => bench.state()).toThrow("there is no session");
      return (error as { problem: { code: string } }).problem.code;
    }
  };
  expect(refusal({ at: 1 }, { tenant: "t2" })).toBe("not_found");
  expect(refusal({ at: 9_999 })).toBe("cursor_ahead");
  expect(refusal({ at: "msg_main_77" })).toBe("not_found");
  expect(refusal({ at: 1, files: "restore" })).toBe("no_file_snapshot");
  expect(refusal({})).toBe("invalid_request");
});

test("SE-45 AP-6 RE-P2: a fork survives a power cut at every single write: it is there whole, or not at all", async () => {
  const { source, fork } = await twoRuns();
  const params = { source: source.id, at: source.state().head };
  let cuts = 0;
  for (let cut = 1; ; cut++) {
    const bench = fork();
    bench.cutAt(cut);
    const first = insist(bench, "fork", params, "f1");
    if (bench.writes() < cut) break;
    cuts += 1;
    bench.cutAt(null);
    expect(bench.perform("fork", params, "f1")).toMatchObject({ ok: true, replayed: true });
    expect(bench.ok("fork", params, "f1")).toEqual(first);
    expect(bench.chat()).toEqual(source.chat());
    await settleSoon(bench);
    checkInvariants(bench, []);
  }
  expect(cuts).toBeGreaterThan(8);
});

test("SE-37 SE-45: a plan is pinned by the run that follows it, and in no fork", async () => {
  const yaml = scripted(
    replies(said("1. Look."), look, look, done),
    "options: { plan_before_execute: true }",
  );
  const { source, fork } = await open(yaml);
  source.hold = true;
  source.send("First");
  while (source.requests.length < 3) {
    source.release();
    source.hold = true;
    await source.steps();
  }
  const made = fork();
  forkAt(made, { source, at: source.state().head });
  const marks = (bench: Bench): unknown => bench.chat().flatMap((message) => message.marks ?? []);
  expect([marks(source), marks(made)]).toEqual([["plan", "note"], ["note"]]);
});
