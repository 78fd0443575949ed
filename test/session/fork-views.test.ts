import { expect, test } from "vitest";
import * as z from "zod";
import { emptySession } from "../../src/session/operations/session.ts";
import { readForkSource } from "../../src/session/operations/fork.ts";
import { emptyArchive } from "../../durable-objects/rows/archive.ts";
import type { Message } from "../../src/chat/message.ts";
import type { Tool } from "../../src/tools/define-tool.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { textsOf } from "../agent/loop/play.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { crewYaml, delegate, member } from "../support/crew.ts";
import { emptySnapshot, foldMessages, takeSnapshot } from "../support/fold.ts";
import { checkInvariants } from "../support/invariants.ts";
import { createBigTool, createProbe } from "../support/probe.ts";
import { done, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { workspaceWith } from "../support/workspace.ts";

/** What a fork takes along, and the places inside what it took (SE-45). */

const withTools = async (yaml: string, ...tools: readonly Tool[]): Promise<Engine> => {
  const { toolbox } = createProbe(true);
  return engineOf(yaml, { toolboxes: [{ ...toolbox, tools: [...toolbox.tools, ...tools] }] });
};

const open = (engine: Engine): Bench => {
  const bench = openBench({ engine });
  bench.ok("create");
  return bench;
};

const say = async (bench: Bench, content: string): Promise<void> => {
  bench.send(content);
  await bench.idle();
};

let forks = 0;

/** Forks a session, by default as it is now. */
const fork = (engine: Engine, source: Bench, at: number | string = source.state().head): Bench => {
  forks += 1;
  const bench = openBench({ engine, source, id: `s_${String.fromCharCode(97 + forks).repeat(26)}` });
  bench.ok("fork", { source: source.id, at });
  return bench;
};

const long = "word ".repeat(4_000);

const idsOf = (bench: Bench): readonly string[] => bench.chat().map(({ id }) => id);

/** The longest beginning of a view that has all results of its calls. */
const whole = (chat: readonly Message[]): readonly Message[] => {
  const reply = chat.findLastIndex(({ role }) => role !== "tool");
  const calls = chat[reply]?.parts.filter(({ type }) => type === "tool_call").length ?? 0;
  return calls > chat.length - 1 - reply ? chat.slice(0, reply) : chat;
};

/** A session of three runs, whose chat begins with the summary of the first ones. */
const compacted = async (): Promise<{ readonly engine: Engine; readonly source: Bench }> => {
  const script = replies(
    said("One."),
    said("Two."),
    said("Sum of it all."),
    "{ reply: [{ call: look }, { call: look, args: { name: b } }] }",
    said("Three."),
    done,
  );
  const compact = "effects: [{ kind: compact, params: { threshold: 0.5, target: 0.3, keep_turns: 1 } }]";
  const engine = await withTools(
    scripted(script)
      .replace("effects: []", compact)
      .replace("context_window: 128000", "context_window: 24000"),
  );
  const source = open(engine);
  for (const input of ["First", "Second", "Third"]) await say(source, `${input} ${long}`);
  expect(source.chat()[0]?.summary).toBeDefined();
  return { engine, source };
};

test("SE-45 ★: each place inside a fork of a compacted session shows its view up to there, with the summary first", async () => {
  const { engine, source } = await compacted();
  const made = fork(engine, source);
  const view = made.chat();
  expect(view).toEqual(source.chat());
  expect(idsOf(made).indexOf("msg_main_4")).toBeGreaterThan(0);
  for (const [index, { id }] of view.entries()) {
    const expected = whole(view.slice(0, index + 1));
    const again = fork(engine, made, id);
    expect(again.chat(), `a fork at ${id}`).toEqual(expected);
    made.ok("rewind", { at: id });
    expect(made.chat(), `a rewind to ${id}`).toEqual(expected);
    made.crash();
    expect(made.chat(), `a rewind to ${id}, woken`).toEqual(expected);
    const now = takeSnapshot(made).messages;
    expect(foldMessages(emptySnapshot, made.events()), "AP-24").toEqual(now);
    expect(foldMessages(emptySnapshot, again.events()), "AP-24").toEqual(takeSnapshot(again).messages);
  }
  expect(made.chat()).toEqual(view);
  made.ok("rewind", { at: 1 });
  expect(made.chat()).toEqual([]);
  made.ok("rewind", { at: view.at(-1)?.id });
  await say(made, "On");
  expect(made.chat().slice(0, view.length)).toEqual(view);
  checkInvariants(made, []);
});

test("SE-45: a fork goes on by itself after a place inside what it took", async () => {
  const { engine, source } = await compacted();
  const made = fork(engine, fork(engine, source), source.chat()[1]?.id);
  expect(made.chat()).toEqual(source.chat().slice(0, 2));
  await say(made, "On");
  expect(made.events().at(-1)).toMatchObject({ type: "run_end", data: { state: "completed" } });
  checkInvariants(made, []);
});

const childYaml = crewYaml(
  [
    member("lead", [said(delegate("coder")), said("Delegated."), done], "toolboxes: [probe]"),
    member(
      "coder",
      [said(["big", {}]), said(`${"a".repeat(30_000)} recall("b1") ${"z".repeat(30_000)}`)],
      "toolboxes: [probe]",
    ),
  ],
  "",
);

test("SE-45: kept texts come along that only other kept texts name", async () => {
  const engine = await withTools(childYaml, createBigTool("so much to say ".repeat(5_000)));
  const source = open(engine);
  await say(source, "Go");
  const shown = source.chat().map(textsOf).join("\n");
  expect(shown).not.toContain("b1");
  expect(shown).toContain("b2");
  const kept = (bench: Bench): readonly unknown[] =>
    bench.rows("blobs").filter(({ id }) => /^b\d+$/.test(String(id)));
  const made = fork(engine, source);
  expect(kept(made)).toEqual(kept(source));
  expect(new Set(kept(made).map((row) => (row as { id: string }).id))).toEqual(new Set(["b1", "b2"]));
});

const filesYaml = scripted(
  replies(said(["fs_write", { path: "tide.md", content: "High at noon" }]), said("Written."), done),
).replace("toolboxes: [probe]", "toolboxes: [filesystem]");

const notes = (bench: Bench): readonly string[] =>
  bench.chat().flatMap((message) => (message.marks?.includes("note") === true ? [textsOf(message)] : []));

test("SE-45: a fork is told once that the files of a source that had a workspace are not in its own", async () => {
  const workspace = await workspaceWith();
  const engine = await engineOf(filesYaml, { env: workspace.env });
  const source = open(engine);
  expect(notes(fork(engine, source))).toEqual([]);
  await say(source, "Go");
  expect(source.state().sandboxed).toBe(true);
  const made = fork(engine, source);
  expect(notes(made)).toEqual([expect.stringMatching(/workspace .* empty/)]);
  expect(made.chat().slice(0, -1)).toEqual(source.chat());
  await say(made, "On");
  await say(made, "And on");
  expect(notes(made)).toHaveLength(1);
  expect(made.requests.at(-1)?.messages.map(textsOf).join("\n")).toContain("was empty");
  expect(notes(fork(engine, source, 0))).toEqual([]);
  checkInvariants(made, []);
});

test("SE-45: a fork of a session that never had a workspace says nothing of files", async () => {
  const engine = await withTools(scripted(replies(said("One."), done)));
  const source = open(engine);
  await say(source, "First");
  expect(notes(fork(engine, source))).toEqual([]);
});

test("SE-45: images that a tool attached come along", async () => {
  const draw = defineTool({
    name: "draw",
    description: "Draws.",
    params: z.strictObject({}),
    safety: "read",
    run: (_, context) => ({
      content: [{ type: "image", media_type: "image/png", blob: context.keep(Buffer.from("hello")) }],
    }),
  });
  const engine = await withTools(scripted(replies(said(["draw", {}]), done, done)), draw);
  const source = open(engine);
  await say(source, "Go");
  const images = (bench: Bench): readonly unknown[] =>
    bench.rows("blobs").filter(({ text }) => text === "aGVsbG8=");
  expect(images(source)).toHaveLength(1);
  expect(images(fork(engine, source))).toEqual(images(source));
});

test("SE-45: a fork of more than a call between objects holds is refused with the limit and the way out", async () => {
  const engine = await withTools(scripted(replies(done)));
  const address = { tenant: "t1", jurisdiction: null };
  const state = { ...emptySession("s_a", address, engine.rules, 0), head: 9 };
  const text = "x".repeat(14_000_000);
  const message = (length: number): Message => ({
    id: "msg_main_0",
    pos: 0,
    role: "user",
    origin: "human",
    parts: [{ type: "text", text: text.slice(0, length) }],
    at: 0,
    tokens: 1,
  });
  const forkOf = (length: number): ReturnType<typeof readForkSource> => {
    const shown = [{ message: message(length), retired: 0, changed: false }];
    const past = { seq: 9, edit: 0, pos: 0, seen: -1, lastUsage: null, effects: {}, shown, gone: [] };
    const archive = () => ({ ...emptyArchive, pastView: () => past });
    const principal = { ...address, by: "key1", scopes: ["sessions:manage" as const] };
    return readForkSource(state, archive, { principal, params: { source: "s_a", at: 9 } });
  };
  expect(forkOf(13_990_000)).toMatchObject({ ok: true });
  expect(forkOf(14_000_000)).toMatchObject({
    ok: false,
    problem: {
      code: "payload_too_large",
      detail: expect.stringMatching(/^at: .* at most 14000000: name an earlier place$/) as string,
    },
  });
});
