import { expect, test } from "vitest";
import { dataOf, play } from "../agent/loop/play.ts";
import type { PlayOptions } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { emptySnapshot, foldMessages, takeSnapshot } from "../support/fold.ts";
import type { SeenSnapshot } from "../support/fold.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist, settleSoon } from "../support/power-cut.ts";
import { createBigTool } from "../support/probe.ts";
import { done, look, replies, said, scripted } from "../support/scripts.ts";

/** What events tell of ways back in a chat, to clients that came at any time (SE-45, AP-24). */

interface Watched {
  readonly bench: Bench;
  /** A client comes now, and each client that came before shows what it shows. */
  readonly check: (what: string) => void;
}

const watch = (bench: Bench): Watched => {
  const clients: SeenSnapshot[] = [emptySnapshot];
  const check = (what: string): void => {
    const now = takeSnapshot(bench);
    for (const client of clients)
      expect(foldMessages(client, bench.events()), `${what}, since ${client.seq}`).toEqual(now.messages);
    expect(foldMessages(now, bench.published), what).toEqual(now.messages);
    clients.push(now);
  };
  return { bench, check };
};

const say = async ({ bench, check }: Watched, content: string, more: object = {}): Promise<void> => {
  bench.send(content, more);
  await bench.idle();
  check(content);
};

const idsOf = (bench: Bench): readonly string[] => bench.chat().map(({ id }) => id);

const twoRuns = async (options: PlayOptions = {}): Promise<Watched> => {
  const { bench } = await play(replies(look, said("One."), said("Two."), said("Three."), done), options);
  const watched = watch(bench);
  await say(watched, "First");
  await say(watched, "Second");
  return watched;
};

const rewind = ({ bench, check }: Watched, at: number | string): void => {
  bench.ok("rewind", { at });
  check(`rewind to ${at}`);
};

test("AP-24 SE-45: snapshots and the later events show what all events show, whatever rewinds take away and bring back", async () => {
  const watched = await twoRuns();
  const { bench, check } = watched;
  const [first, , look2, one, , two] = idsOf(bench);
  rewind(watched, one ?? "");
  rewind(watched, two ?? "");
  rewind(watched, first ?? "");
  await say(watched, "Again");
  const [, , answer] = idsOf(bench);
  rewind(watched, two ?? "");
  rewind(watched, answer ?? "");
  bench.crash();
  rewind(watched, look2 ?? "");
  bench.ok("clear", {});
  check("clear");
  rewind(watched, two ?? "");
  await say(watched, "On");
  for (let round = 0; round < 12; round++) await say(watched, `Again ${round}`);
  expect(bench.rows("events").length).toBeGreaterThan(0);
  rewind(watched, one ?? "");
  rewind(watched, bench.state().head - 3);
  expect(bench.published).toEqual(bench.events());
  checkInvariants(bench, []);
});

test("AP-24 SE-45: the originals of a compaction and its summary come back by events of their own", async () => {
  const compacting = "effects: [{ kind: compact, params: { threshold: 0.5, target: 0.3, keep_turns: 1 } }]";
  const yaml = scripted(replies(said("One."), said("Two."), said("Sum of it all."), said("Three."), done))
    .replace("effects: []", compacting)
    .replace("context_window: 128000", "context_window: 24000");
  const { bench } = await play("", { yaml });
  const watched = watch(bench);
  const long = "word ".repeat(4_000);
  await say(watched, `First ${long}`);
  await say(watched, `Second ${long}`);
  const before = idsOf(bench);
  await say(watched, `Third ${long}`);
  const after = idsOf(bench);
  expect(bench.chat().some(({ summary }) => summary !== undefined)).toBe(true);
  rewind(watched, before.at(-1) ?? "");
  expect(idsOf(bench)).toEqual(before);
  rewind(watched, after.at(-1) ?? "");
  expect(idsOf(bench)).toEqual(after);
  rewind(watched, before[0] ?? "");
  checkInvariants(bench, []);
});

test("SE-45 AP-20: a rewind that only changes how messages are shown has its event, and the newest place shows its view", async () => {
  const big = createBigTool("so much to say ".repeat(20));
  const use = "{ reply: [{ call: big }] }";
  const trim = "effects: [{ kind: trim_tool_results, params: { max_result_length: 3, preserve_recent: 1 } }]";
  const yaml = scripted(replies(use, use, done)).replace("effects: []", trim);
  const { bench } = await play("", { yaml, tools: [big] });
  const watched = watch(bench);
  await say(watched, "Go");
  const trimmed = (): readonly boolean[] =>
    bench.chat().flatMap(({ role, overlay }) => (role === "tool" ? [overlay?.texts["0"] !== undefined] : []));
  expect(trimmed()).toEqual([true, false]);
  const { head } = bench.state();
  const message = bench.chat().find(({ role }) => role === "tool")?.id;
  for (const pinned of [true, false]) bench.ok("pin", { message, pinned });
  expect(trimmed()).toEqual([false, false]);
  rewind(watched, head);
  expect(trimmed()).toEqual([true, false]);
  expect(dataOf(bench, "messages_retired")).toEqual([{ messages: [], by: "rewind" }]);
  rewind(watched, bench.state().head - 1);
  expect(trimmed()).toEqual([false, false]);
  rewind(watched, bench.state().head - 1);
  expect(trimmed()).toEqual([true, false]);
  bench.crash();
  expect(trimmed()).toEqual([true, false]);
  const newest = idsOf(bench).at(-1) ?? "";
  rewind(watched, 0);
  rewind(watched, newest);
  expect(bench.published).toEqual(bench.events());
  checkInvariants(bench, []);
});

test("SE-45: the place of a message that came back is where it was said first", async () => {
  const watched = await twoRuns();
  const { bench } = watched;
  const [first, , , one, second, two] = idsOf(bench);
  rewind(watched, first ?? "");
  rewind(watched, two ?? "");
  rewind(watched, second ?? "");
  expect(idsOf(bench)).toEqual(["msg_main_0", "msg_main_1", "msg_main_2", one, second]);
  rewind(watched, one ?? "");
  expect(idsOf(bench)).toHaveLength(4);
});

test("SE-45 AP-24 RE-P2: what a rewind brings back survives a power cut at every single write", async () => {
  let cuts = 0;
  for (let cut = 1; cut <= 200; cut++) {
    const { bench, check } = await twoRuns();
    const before = bench.chat();
    bench.ok("rewind", { at: "msg_main_0" });
    const { head } = bench.state();
    const writes = bench.writes();
    bench.cutAt(cut);
    insist(bench, "rewind", { at: before.at(-1)?.id }, "r1");
    if (bench.writes() - writes < cut) break;
    cuts += 1;
    bench.cutAt(null);
    await settleSoon(bench);
    expect(bench.chat()).toEqual(before);
    expect(bench.state().head).toBe(head + 1 + before.length - 1);
    check(`cut ${cut}`);
    checkInvariants(bench, []);
  }
  expect(cuts).toBeGreaterThan(8);
});
