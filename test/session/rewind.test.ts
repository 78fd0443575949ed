import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { dataOf, ends, play, refused, textsOf } from "../agent/loop/play.ts";
import type { PlayOptions } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { createBigTool } from "../support/probe.ts";
import { insist, settleSoon } from "../support/power-cut.ts";
import { done, look, replies, said, scripted } from "../support/scripts.ts";

/** The way back to a turn boundary (SE-45). */

/** Two inputs: the first is answered after a call, the second at once. */
const twoRuns = async (options: PlayOptions = {}): Promise<Bench> => {
  const { bench } = await play(replies(look, said("One."), said("Two."), said("Three."), done), options);
  for (const input of ["First", "Second"]) {
    bench.send(input);
    await bench.idle();
  }
  return bench;
};

const idsOf = (bench: Bench): readonly string[] => bench.chat().map(({ id }) => id);

const textOf = (bench: Bench): readonly string[] => bench.chat().map((message) => textsOf(message));

const seqOf = (bench: Bench, type: StoredEvent["type"], nth = 0): number =>
  bench.events().filter((event) => event.type === type)[nth]?.seq ?? 0;

const rewind = (bench: Bench, at: number | string): void => void bench.ok("rewind", { at });

test("SE-45: a rewind retires what follows, keeps it readable, and goes on with seq and usage", async () => {
  const bench = await twoRuns();
  const { head, spent } = bench.state();
  const [, , , answer, ...later] = idsOf(bench);
  rewind(bench, answer ?? "");
  expect(textOf(bench)).toEqual(["First", "", "look() done", "One."]);
  expect(dataOf(bench, "messages_retired")).toEqual([{ messages: later, by: "rewind" }]);
  expect(bench.state().head).toBe(head + 1);
  expect(bench.state().spent).toEqual(spent);
  const listed = bench.ok("messages", { retired: true })["data"] as unknown as readonly {
    id: string;
    state: string;
  }[];
  expect(listed.flatMap(({ id, state }) => (state === "retired" ? [id] : []))).toEqual(later);
  bench.crash();
  expect(idsOf(bench)).toHaveLength(4);
  bench.send("Another way");
  await bench.idle();
  expect(textOf(bench).slice(3)).toEqual(["One.", "Another way", "Three."]);
  expect(ends(bench)).toHaveLength(3);
  checkInvariants(bench, []);
});

test("SE-45: a place inside a turn rounds down to before the turn, and the end of a turn is kept", async () => {
  const kept: readonly [string, (bench: Bench) => number | string, number][] = [
    ["the reply with the call", (bench) => idsOf(bench)[1] ?? "", 1],
    ["the call's start", (bench) => seqOf(bench, "tool_call_start"), 1],
    ["the call's end", (bench) => seqOf(bench, "tool_call_end"), 1],
    ["the result, which ends its turn", (bench) => idsOf(bench)[2] ?? "", 3],
    ["the end of the turn", (bench) => seqOf(bench, "turn_end"), 3],
    ["the answer", (bench) => idsOf(bench)[3] ?? "", 4],
    ["the begin of the answer's turn", (bench) => seqOf(bench, "turn_start", 1), 3],
    ["the end of the run", (bench) => seqOf(bench, "run_end"), 4],
    ["the second input", (bench) => idsOf(bench)[4] ?? "", 5],
    ["the newest event", (bench) => bench.state().head, 6],
    ["the beginning", () => 0, 0],
  ];
  for (const [name, at, length] of kept) {
    const bench = await twoRuns();
    const before = idsOf(bench);
    rewind(bench, at(bench));
    expect(idsOf(bench), name).toEqual(before.slice(0, length));
    bench.crash();
    expect(idsOf(bench), name).toEqual(before.slice(0, length));
    bench.send("On");
    await bench.idle();
    expect(ends(bench).at(-1), name).toBe("completed:end_turn");
    checkInvariants(bench, []);
  }
});

test("SE-45: a rewind twice and on, also back to what a rewind retired, leaves a valid view", async () => {
  const bench = await twoRuns();
  const [first, , , one, second, two] = idsOf(bench);
  rewind(bench, one ?? "");
  rewind(bench, first ?? "");
  expect(idsOf(bench)).toEqual([first]);
  bench.send("Again");
  await bench.idle();
  expect(textOf(bench)).toEqual(["First", "Again", "Three."]);
  const [, again, three] = idsOf(bench);
  rewind(bench, two ?? "");
  expect(textOf(bench).slice(3)).toEqual(["One.", "Second", "Two."]);
  expect(dataOf(bench, "messages_retired").at(-1)).toEqual({ messages: [again, three], by: "rewind" });
  const brought = dataOf(bench, "message_added").slice(-5);
  expect(brought.map(({ message }) => message)).toEqual(bench.chat().slice(1));
  expect(brought.map(({ final }) => final)).toEqual([false, false, true, false, true]);
  expect(brought.map(({ message }) => message.id).slice(2)).toEqual([one, second, two]);
  bench.crash();
  expect(textOf(bench).slice(3)).toEqual(["One.", "Second", "Two."]);
  bench.send("On");
  await bench.idle();
  expect(textOf(bench).slice(5)).toEqual(["Two.", "On", "Done."]);
  checkInvariants(bench, []);
});

test("SE-45: the context view of a past turn stays as it was, whatever a rewind took away and brought back", async () => {
  const bench = await twoRuns();
  const shownIn = (runId: string): readonly string[] =>
    (bench.ok("context", { run: runId, turn: 1 })["messages"] as unknown as readonly { id: string }[]).map(
      ({ id }) => id,
    );
  const then = shownIn("run_2");
  const [first, , , , , two] = idsOf(bench);
  rewind(bench, first ?? "");
  bench.send("Third");
  await bench.idle();
  const between = shownIn("run_3");
  expect(between).toHaveLength(2);
  rewind(bench, two ?? "");
  bench.crash();
  expect(shownIn("run_2")).toEqual(then);
  expect(shownIn("run_3")).toEqual(between);
});

const long = "word ".repeat(400);

const compacting = "effects: [{ kind: compact, params: { threshold: 0.5, target: 0.3, keep_turns: 1 } }]";

test("SE-45: a rewind to before a compaction shows the originals again, and the effect's state is that of then", async () => {
  const yaml = scripted(
    replies(said("One."), said("Two."), said("A summary of it all."), said("Three."), done),
  )
    .replace("effects: []", compacting)
    .replace("context_window: 128000", "context_window: 24000");
  const { bench } = await play("", { yaml });
  for (const input of ["First", "Second"]) {
    bench.send(`${input} ${long.repeat(10)}`);
    await bench.idle();
  }
  const before = bench.chat();
  const { effects } = bench.state().threads["main"] ?? {};
  bench.send(`Third ${long.repeat(10)}`);
  await bench.idle();
  expect(dataOf(bench, "compaction").map(({ stage }) => stage)).toContain("full");
  expect(idsOf(bench)).not.toContain("msg_main_0");
  const after = bench.chat();
  rewind(bench, before.at(-1)?.id ?? "");
  expect(bench.chat()).toEqual(before);
  expect(bench.state().threads["main"]?.effects).toEqual(effects);
  bench.crash();
  expect(bench.chat()).toEqual(before);
  rewind(bench, after.at(-1)?.id ?? "");
  bench.crash();
  expect(idsOf(bench)).toEqual(after.map(({ id }) => id));
  checkInvariants(bench, []);
});

test("SE-45 EF-2: what was trimmed later is whole again, and what was trimmed then stays trimmed", async () => {
  const big = createBigTool("so much to say ".repeat(20));
  const use = "{ reply: [{ call: big }] }";
  const trim = "effects: [{ kind: trim_tool_results, params: { max_result_length: 3, preserve_recent: 1 } }]";
  const yaml = scripted(replies(use, use, use, done, done)).replace("effects: []", trim);
  const { bench } = await play("", { yaml, tools: [big] });
  bench.send("Go");
  await bench.idle();
  const trimmed = (): readonly boolean[] =>
    bench
      .chat()
      .filter(({ role }) => role === "tool")
      .map(({ overlay }) => Object.keys(overlay?.texts ?? {}).length > 0);
  expect(trimmed()).toEqual([true, true, false]);
  rewind(bench, seqOf(bench, "turn_end", 2));
  expect(trimmed()).toEqual([true, false, false]);
  bench.crash();
  expect(trimmed()).toEqual([true, false, false]);
  rewind(bench, seqOf(bench, "turn_end", 3));
  bench.crash();
  expect(trimmed()).toEqual([true, true, false]);
  checkInvariants(bench, []);
});

test("SE-45: a rewind needs a session at rest, a place that exists, and files that stay", async () => {
  const bench = await twoRuns();
  const head = bench.state().head;
  expect(refused(bench, "rewind", {})).toBe("invalid_request");
  expect(refused(bench, "rewind", { at: head + 1 })).toBe("cursor_ahead");
  expect(refused(bench, "rewind", { at: "msg_main_99" })).toBe("not_found");
  expect(refused(bench, "rewind", { at: "msg_t1_0" })).toBe("not_found");
  expect(refused(bench, "rewind", { at: 0, files: "restore" })).toBe("no_file_snapshot");
  bench.hold = true;
  bench.send("Third");
  await bench.steps();
  expect(refused(bench, "rewind", { at: 0 })).toBe("session_busy");
  bench.release();
  await bench.idle();
  const reply = bench.performAs({ scopes: ["sessions:read", "sessions:write"] }, "rewind", { at: 0 });
  expect(reply).toMatchObject({ ok: false, problem: { code: "scope_missing" } });
});

test("SE-45: a rewind after the log was packed, and after a clear, finds its place", async () => {
  const { bench } = await play(
    replies(...Array.from({ length: 12 }, (_, index) => said(`Answer ${index}.`)), done),
  );
  for (let index = 0; index < 12; index++) {
    bench.send(`Question ${index} ${long}`);
    await bench.idle();
  }
  expect(bench.rows("events").length).toBeGreaterThan(0);
  const before = bench.chat();
  bench.ok("clear", {});
  expect(bench.chat()).toEqual([]);
  rewind(bench, before[3]?.id ?? "");
  bench.crash();
  expect(bench.chat()).toEqual(before.slice(0, 4));
  expect(bench.state().threads["main"]?.firstInput?.id).toBe("msg_main_0");
  bench.send("On");
  await bench.idle();
  checkInvariants(bench, []);
});

test("SE-45 RE-P2: a rewind survives a power cut at every single write", async () => {
  const script = replies(look, said("One."), said("Two."), done);
  const total = 200;
  let cuts = 0;
  for (let cut = 1; cut <= total; cut++) {
    const { bench } = await play(script);
    bench.send("First");
    await bench.idle();
    const kept = idsOf(bench);
    bench.send("Second");
    await bench.idle();
    const writes = bench.writes();
    bench.cutAt(cut);
    insist(bench, "rewind", { at: kept.at(-1) ?? "" }, "r1");
    if (bench.writes() - writes < cut) break;
    cuts += 1;
    bench.cutAt(null);
    await settleSoon(bench);
    expect(idsOf(bench)).toEqual(kept);
    expect(dataOf(bench, "messages_retired")).toHaveLength(1);
    checkInvariants(bench, []);
  }
  expect(cuts).toBeGreaterThan(3);
});
