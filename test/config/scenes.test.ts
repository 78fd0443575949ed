import { expect, test } from "vitest";
import type { DataOf, EventType, StoredEvent } from "../../src/agent/state/events.ts";
import { createEngine } from "../../src/engine/create.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { shippedTeam, withoutPauses } from "../support/shipped.ts";
import { engineOptions } from "../support/teams.ts";
import { workspaceWith } from "../support/workspace.ts";

/** The scenes of the default team, on the bench with a real workspace, its scripts without their pauses. */

const words = [
  "hello",
  "files",
  "run",
  "ask",
  "approve",
  "team",
  "graph",
  "compact",
  "loop",
  "retry",
  "fallback",
  "budget",
  "json",
  "verify",
  "git",
  "slow",
];

const team = withoutPauses(await shippedTeam("default"));
const script = team.providers[0]?.script;
const scenes = script?.scenes ?? [];

const decisions = {
  question: { decision: "answer", selections: ["It stays where it is"] },
  approval: { decision: "approve" },
};

/** Lets a scene play, answering what it asks. */
const played = async (bench: Bench, word: string): Promise<Bench> => {
  bench.send(word);
  for (let round = 0; round < 4; round++) {
    await bench.idle();
    for (const { id, kind } of Object.values(bench.state().asks))
      bench.ok("answer", { ask: id, ...decisions[kind as keyof typeof decisions] });
    await bench.pass(20_000);
  }
  return bench;
};

const opened = async (): Promise<Bench> => {
  const { env } = await workspaceWith();
  const bench = openBench({ engine: createEngine(engineOptions(team, { env })) });
  bench.ok("create");
  return bench;
};

const scene = async (word: string): Promise<Bench> => played(await opened(), word);

const dataOf = <T extends EventType>(events: readonly StoredEvent[], type: T): readonly DataOf<T>[] =>
  events.flatMap((event) => (event.type === type ? [event.data as DataOf<T>] : []));

/** What `main` says at the end of its newest run. */
const lastText = (bench: Bench): string =>
  dataOf(
    bench.events().filter(({ thread }) => thread === "main"),
    "run_end",
  ).at(-1)?.result.text ?? "";

const comparable = (events: readonly StoredEvent[]): unknown =>
  JSON.parse(
    JSON.stringify(events, (key, value: unknown) =>
      /^(at|until)$|_(at|ms|timings)$/.test(key) ? null : value,
    )
      .replaceAll(/\b(ask|ev)_[a-z2-7]{26}\b/g, "$1")
      .replaceAll(/\b[0-9a-f]{40}\b/g, "commit")
      .replaceAll(/\b\d+\.\ds\b/g, "0.0s"),
  );

test("CF-39: every word of the menu begins a scene, and every scene that a word begins is in the menu", () => {
  const menu = JSON.stringify(scenes.find(({ name }) => name === script?.start)?.reply);
  const listed = [...menu.matchAll(/- \*\*(\w+)\*\*/g)].map(([, word]) => word);
  const begun = scenes.flatMap(({ when }) => (when.turn === 1 ? (when.input?.words ?? []) : []));
  expect(listed).toEqual(words);
  expect(begun.toSorted()).toEqual(words.toSorted());
});

test("CF-39: any other text is answered with itself and the menu", async () => {
  const bench = await scene("What is a limpet?");
  expect(lastText(bench)).toContain("You said: What is a limpet?");
  expect(words.filter((word) => !lastText(bench).includes(`**${word}**`))).toEqual([]);
});

test.each(words)("CF-39: the scene %s says what was shown and where to find it", async (word) => {
  const text = lastText(await scene(word));
  if (word === "json") expect(JSON.parse(text)).toMatchObject({ scene: "json" });
  else expect(text).toMatch(new RegExp(`That was \\*\\*${word}\\*\\*`));
  expect(text, "names a path or an event").toMatch(/`[^`]*[/_][^`]*`|output_schema/);
});

test.each(words)("CF-39: the scene %s gives the same events for the same input", async (word) => {
  const [one, other] = [await scene(word), await scene(word)];
  expect(one.events().length).toBeGreaterThan(5);
  expect(comparable(other.events())).toEqual(comparable(one.events()));
});

test("CF-39: all scenes can be played in one session, twice, whatever was compacted meanwhile", async () => {
  const bench = await opened();
  for (const word of [...words, ...words]) {
    await played(bench, word);
    expect(lastText(bench), word).toMatch(word === "json" ? /"json"/ : `That was **${word}**`);
  }
});

test("CF-39: the scene budget says that a limit is reached, and nothing of a server that cuts inputs", async () => {
  const errors = dataOf((await scene("budget")).events(), "error");
  expect(errors.map(({ code }) => code)).toEqual(["budget_exceeded"]);
});

test("CF-39 SE-39: the scene verify shows a red check, a repair, and a green check", async () => {
  const bench = await scene("verify");
  const checks = dataOf(bench.events(), "verify").map(({ state, output_tail: said }) => [state, said]);
  expect(checks).toEqual([
    ["started", undefined],
    ["failed", "tide.sh says 13 hours, the sea takes 12\n[exit 1]"],
    ["started", undefined],
    ["passed", "tide.sh agrees with the sea\n[exit 0]"],
  ]);
  expect(dataOf(bench.events(), "llm_request_start").map(({ purpose }) => purpose)).toEqual([
    "turn",
    "repair",
    "turn",
  ]);
  expect(dataOf(bench.events(), "run_end")[0]?.result).toMatchObject({
    turns: 2,
    files_created: ["tide.sh", "check.sh"],
  });
});

test("CF-39, TB-17: the scene git commits what it wrote, as its author, and lists it", async () => {
  const bench = await scene("git");
  const ends = dataOf(bench.events(), "tool_call_end").map(({ outcome, output }) => [outcome, output]);
  expect(ends.map(([outcome]) => outcome)).toEqual(["ok", "ok", "ok", "ok"]);
  const [, status, commit, log] = ends.map(([, output]) => output);
  expect(status).toBe("?? tides.md\n");
  expect(commit).toMatch(/^[0-9a-f]{40}$/);
  expect(log).toMatch(/^[0-9a-f]{40} Note the tide\n$/);
});

test("CF-39: scout and builder, spoken to without a task, say whom to ask", async () => {
  for (const agent of ["scout", "builder"]) {
    const bench = openBench({ engine: createEngine(engineOptions(team)) });
    bench.ok("create", { agent });
    bench.send("team");
    await bench.idle();
    expect(dataOf(bench.published, "run_end").map(({ state, result }) => [state, result.text])).toEqual([
      ["completed", expect.stringContaining("I work for the guide")],
    ]);
  }
});
