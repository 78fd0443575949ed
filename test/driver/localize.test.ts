import { expect, test } from "vitest";
import { eventsOf, say } from "../engine/harness.ts";
import type { Bench } from "../support/bench.ts";
import { openBench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { insist } from "../support/power-cut.ts";
import { replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import type { TestWorkspace } from "../support/workspace.ts";
import { workspaceWith } from "../support/workspace.ts";

/** Files that an input may be about, from YAML to the request (SE-38). */

const files = {
  "src/parse.ts": "one\nexport const parseConfig = 1;\nthree\n",
  "src/other.ts": "nothing\n",
  "node_modules/m/parse.ts": "parseConfig\n",
  ".env": "parseConfig=1\n",
};

const team = (more = ""): string =>
  scripted(
    replies(said(["fs_list", {}]), said("Seen."), said("Ok."), said("Again."), said("More.")),
    `options: { localize: true }\n${more}`,
  ).replace("toolboxes: [probe]", "toolboxes: [filesystem, search]");

/** A session that has used its workspace in a first run. */
const sessionIn = async (workspace: TestWorkspace, yaml = team()): Promise<Bench> => {
  const bench = openBench({ engine: await engineOf(yaml, { env: workspace.env }) });
  bench.ok("create");
  await say(bench, "Look at parseConfig");
  return bench;
};

/** The texts of the messages of the newest request. */
const sent = (bench: Bench): readonly string[] =>
  (bench.requests.at(-1)?.messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );

const localizing = (workspace: TestWorkspace): readonly string[] =>
  workspace.asked.filter((route) => route.endsWith("search/localize"));

test("SE-38: files that fit the input stand in a note before it, and an event names them", async () => {
  const workspace = await workspaceWith(files);
  const bench = await sessionIn(workspace);
  expect(localizing(workspace)).toEqual([]);
  expect(eventsOf(bench, "localization_done")).toEqual([]);
  await say(bench, "Why does parseConfig in parse.ts fail?");
  const [note = "", input] = sent(bench).slice(-2);
  expect(input).toBe("Why does parseConfig in parse.ts fail?");
  expect(note).toMatch(/^<note from="localize">These files .*\n\nsrc\/parse\.ts\n1: one\n2: export/s);
  expect(note).not.toMatch(/node_modules|\.env|other/);
  expect(eventsOf(bench, "localization_done")).toEqual([{ files: ["src/parse.ts"] }]);
  expect(bench.chat().find(({ sender }) => sender === "localize")).toMatchObject({
    role: "user",
    origin: "effect",
    marks: ["note"],
    run: "run_2",
  });
});

test("SE-38: nothing is asked or said without terms, without hits, of a light run, or where the key is off", async () => {
  const workspace = await workspaceWith(files);
  const bench = await sessionIn(workspace);
  await say(bench, "Hello, how are you?");
  await say(bench, "parseConfig?", { light: true });
  expect(localizing(workspace)).toEqual([]);
  await say(bench, "Where is someOtherName?");
  expect(localizing(workspace)).toHaveLength(1);
  expect(eventsOf(bench, "localization_done")).toEqual([]);
  const off = await sessionIn(workspace, team().replace("localize: true", "localize: false"));
  await say(off, "Why does parseConfig fail?");
  expect(localizing(workspace)).toHaveLength(1);
});

test("SE-38: a workspace that never answers holds a run up for 10 s, and nothing is said", async () => {
  const workspace = await workspaceWith(files);
  const bench = await sessionIn(workspace);
  const asked = bench.requests.length;
  workspace.silent = true;
  bench.send("parseConfig?");
  await bench.tick(9_999);
  expect(bench.requests).toHaveLength(asked);
  await bench.pass(1);
  expect(bench.requests).toHaveLength(asked + 1);
  expect(eventsOf(bench, "localization_done")).toEqual([]);
  expect(eventsOf(bench, "error")).toEqual([]);
});

test("SE-38, RE-15: a secret that stands near a hit reaches neither the sandbox nor the prompt", async () => {
  const workspace = await workspaceWith({ "a.ts": "key = canary-secret-1234; parseConfig\n" });
  const engine = await engineOf(team(), { env: workspace.env });
  engine.redactor.learn("TOKEN", "canary-secret-1234");
  const bench = openBench({ engine });
  bench.ok("create");
  await say(bench);
  await say(bench, "parseConfig?");
  expect(sent(bench).join()).toContain("key = [secret:TOKEN]; parseConfig");
  expect(JSON.stringify(bench.events())).not.toContain("canary-secret-1234");
});

test("SE-38, TB-6: what rules close to reading is not looked at, and agents that may not read are told nothing", async () => {
  const workspace = await workspaceWith({ "a/x.ts": "parseConfig\n", "b/x.ts": "parseConfig\n" });
  const rule = (text: string): string => `permissions: { preset: open, rules: [${text}] }`;
  const asks = async (text: string): Promise<readonly unknown[]> => {
    const yaml = team().replace("permissions: { preset: open }", rule(text));
    const bench = await sessionIn(workspace, yaml);
    await say(bench, "parseConfig?");
    return eventsOf(bench, "localization_done");
  };
  expect(await asks('{ tool: fs_read, match: "b/**", action: deny }')).toEqual([{ files: ["a/x.ts"] }]);
  expect(await asks('{ act: read, match: "a/**", action: ask }')).toEqual([{ files: ["b/x.ts"] }]);
  const before = localizing(workspace).length;
  expect(await asks("{ tool: search_content, action: deny }")).toEqual([]);
  expect(localizing(workspace)).toHaveLength(before);
});

test("SE-38, CF-14: files are looked for in working_dir and named from there", async () => {
  const workspace = await workspaceWith({ "repo/src/a.ts": "parseConfig\n", "b.ts": "parseConfig\n" });
  const yaml = team().replace("localize: true", "localize: true, working_dir: repo");
  const bench = await sessionIn(workspace, yaml);
  await say(bench, "parseConfig?");
  expect(eventsOf(bench, "localization_done")).toEqual([{ files: ["src/a.ts"] }]);
});

test("EF-42: the context view tells who wrote the note, and rebuilds the request", async () => {
  const bench = await sessionIn(await workspaceWith(files));
  await say(bench, "parseConfig?");
  const view = bench.ok("context", { run: "run_2", turn: 1 }) as unknown as {
    readonly messages: readonly { readonly state: string; readonly by: string }[];
  };
  expect(view.messages.at(-2)).toMatchObject({ state: "note", by: "localize", reason: "localize" });
});

test("SE-46 text: the note and what was found stand between the input and the first turn", async () => {
  const bench = await sessionIn(await workspaceWith(files));
  const head = bench.events().length;
  await say(bench, "parseConfig?");
  expect(bench.types().slice(head, head + 8)).toEqual([
    "input_accepted",
    "run_start",
    "agent_start",
    "input_applied",
    "message_added",
    "message_added",
    "localization_done",
    "turn_start",
  ]);
});

test("★ SE-38: the power cut at every write: one note, one event, the same request", async () => {
  const workspace = await workspaceWith(files);
  const go = async (cut: number | null): Promise<Bench> => {
    const bench = await sessionIn(workspace);
    bench.cutAt(cut);
    insist(bench, "send", { id: "i2", content: "parseConfig?" }, "i2");
    await bench.idle();
    await bench.pass(5_000);
    return bench;
  };
  const clean = await go(null);
  const before = (await sessionIn(workspace)).writes();
  const writes = clean.writes() - before;
  expect(writes).toBeGreaterThan(10);
  for (let cut = 1; cut <= writes; cut++) {
    const bench = await go(cut);
    checkInvariants(bench, ["i2"]);
    expect(eventsOf(bench, "localization_done"), `cut at ${cut}`).toHaveLength(1);
    expect(sent(bench), `cut at ${cut}`).toEqual(sent(clean));
  }
});
