import { expect, test } from "vitest";
import { indent } from "../support/scripts.ts";
import { workspaceWith } from "../support/workspace.ts";
import type { TestWorkspace } from "../support/workspace.ts";
import type { ToolResultPart } from "../../src/chat/message.ts";
import type { Bench } from "../support/bench.ts";
import { benchOf, say } from "./harness.ts";

/** Skills where commands and effects meet them (AG-38). */

const files = {
  "skills/maps/SKILL.md": "---\ndescription: How to read maps\n---\nRead the legend first.",
  "skills/maps/legend.txt": "Blue is water.",
  "skills/plain/SKILL.md": "Always count.",
  "skills/plain/table.csv": "1,2",
};

const call = (tool: string, args: object): string =>
  `{ reply: [{ call: ${tool}, args: ${JSON.stringify(args)} }] }`;
const shell = (script: string): string => call("exec_shell", { script });

const team = (replies: readonly string[], agent?: string, more?: string): string =>
  teamOf(`{ script: 1, replies: [${replies.join(", ")}] }`, agent, more);

/** The same, each reply as that of its turn, with a summariser. */
const summarised = (replies: readonly string[], agent: string): string => {
  const scenes = replies.map((reply, at) =>
    reply.replace("{", `{ name: t${at + 1}, when: { purpose: turn, turn: ${at + 1} },`),
  );
  const tells = "{ name: tells, when: { purpose: compaction }, reply: [{ text: It was read. }] }";
  return teamOf(`{ script: 1, scenes: [${[tells, ...scenes].join(", ")}] }`, agent);
};

const teamOf = (script: string, agent = "toolboxes: [exec]", more = ""): string => `
providers:
  - name: p
    kind: scripted
    model: m
    context_window: 200000
    script: ${script}
agents:
  - name: guide
    permissions: { preset: open }
    guards: { tool_loops: false }
${indent(agent, 4)}
${more}`;

const done = "{ reply: [{ text: ok }] }";

const resultsOf = (bench: Bench): readonly string[] =>
  bench
    .chat()
    .flatMap(({ parts }) => parts.filter((part): part is ToolResultPart => part.type === "tool_result"))
    .map(({ content }) => content.map((part) => (part.type === "text" ? part.text : "")).join(""));

const sessionIn = (workspace: TestWorkspace, yaml: string): Promise<Bench> =>
  benchOf(yaml, { files, env: workspace.env }, {});

test("AG-38: for agents with exec the files of their skills lie in .skills, to be read and not to be written", async () => {
  const workspace = await workspaceWith();
  const replies = [
    call("load_skill", { name: "maps" }),
    shell("cat .skills/maps/legend.txt .skills/maps/SKILL.md .skills/plain/table.csv"),
    shell("echo forged > .skills/maps/legend.txt"),
    shell("cat .skills/maps/legend.txt"),
    done,
  ];
  const bench = await sessionIn(workspace, team(replies));
  await say(bench);
  const [loaded, read, forged, again] = resultsOf(bench);
  expect(loaded).toBe("Read the legend first.\n\nFiles: legend.txt (for commands also in .skills/maps/)");
  expect(read).toContain("Blue is water.Read the legend first.1,2");
  expect(forged).not.toContain("[exit 0]");
  expect(again).toContain("Blue is water.");
});

test("AG-38: what lies there already is not sent again; what another revision changed is", async () => {
  const workspace = await workspaceWith();
  const yaml = team([shell("true"), done, shell("true"), done]);
  const bench = await sessionIn(workspace, yaml);
  await say(bench);
  bench.crash();
  await say(bench, "Again");
  const other = await benchOf(
    yaml,
    { files: { ...files, "skills/maps/legend.txt": "Red." }, env: workspace.env },
    {},
  );
  await say(other);
  expect(workspace.asked.filter((route) => route.endsWith(" skills"))).toEqual([
    "GET skills",
    "PUT skills",
    "GET skills",
    "GET skills",
    "PUT skills",
  ]);
});

test("AG-38: without exec, or without skills, nothing is placed, and load_skill names no folder", async () => {
  const workspace = await workspaceWith({ "a.txt": "x" });
  const replies = [call("load_skill", { name: "maps" }), call("fs_read", { path: "a.txt" }), done];
  const bench = await sessionIn(workspace, team(replies, "toolboxes: [filesystem]"));
  await say(bench);
  expect(resultsOf(bench)[0]).toBe("Read the legend first.\n\nFiles: legend.txt");
  await say(await sessionIn(workspace, team([shell("true"), done], "toolboxes: [exec]\nskills: none")));
  expect(workspace.asked.filter((route) => route.endsWith(" skills"))).toEqual([]);
});

test("AG-38: only skills of agents with exec are placed", async () => {
  const workspace = await workspaceWith();
  const agent = "toolboxes: [exec]\nskills: [plain]";
  const more = "  - { name: other, skills: [maps] }";
  const bench = await sessionIn(workspace, team([shell("ls .skills"), done], agent, more));
  await say(bench);
  expect(resultsOf(bench)[0]).toContain("plain");
  expect(resultsOf(bench)[0]).not.toContain("maps");
});

test("AG-38: a sandbox that knows no skills still runs commands", async () => {
  const workspace = await workspaceWith();
  const { fetch } = workspace.env.SANDBOX;
  const old = (request: Request): Promise<Response> =>
    request.url.endsWith("/skills")
      ? Promise.resolve(
          Response.json(
            { error: "there is there is no such route", code: "invalid_request" },
            { status: 404 },
          ),
        )
      : fetch(request);
  const bench = await benchOf(
    team([shell("echo runs"), done]),
    { files, env: { SANDBOX: { fetch: old } } },
    {},
  );
  await say(bench);
  expect(resultsOf(bench)[0]).toContain("runs");
});

test("★ AG-38: a loaded skill is whole after 20 turns of trimming, masking and a window; other results are not", async () => {
  const workspace = await workspaceWith({ "long.txt": "word ".repeat(2_000) });
  const long = `Begin. ${"Keep this rule. ".repeat(400)} End.`;
  const reads = Array.from({ length: 20 }, () => call("fs_read", { path: "long.txt" }));
  const effects = [
    "toolboxes: [filesystem]",
    "effects:",
    "  - { kind: trim_tool_results, params: { max_result_length: 100, preserve_recent: 1 } }",
    "  - { kind: observation_mask, params: { threshold: 0.02, recent_window: 2 } }",
    "  - { kind: sliding_window, params: { threshold: 0.02, recent_zone: 2, medium_zone: 2, trim_length: 50 } }",
  ].join("\n");
  const bench = await benchOf(
    summarised([call("load_skill", { name: "maps" }), ...reads, done], effects),
    { files: { "skills/maps/SKILL.md": `---\ndescription: d\n---\n${long}` }, env: workspace.env },
    {},
  );
  await say(bench);
  expect(bench.requests.filter(({ context }) => context.purpose === "turn")).toHaveLength(22);
  const last = bench.requests.at(-1)?.messages ?? [];
  const shown = last.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "tool_result" && part.name === "load_skill"
        ? [part.content.map((piece) => (piece.type === "text" ? piece.text : "")).join("")]
        : [],
    ),
  );
  expect(shown).toEqual([long]);
  const whole = last.filter(
    (message) => JSON.stringify(message).includes("fs_read") && JSON.stringify(message).length > 9_000,
  );
  expect(whole.length).toBeLessThan(5);
});

test("★ AG-38 CF-4: the longest skill and the longest file of one come whole", async () => {
  const body = `Begin. ${"Keep this rule. ".repeat(4_000)} End.`;
  const file = `Head. ${"row ".repeat(60_000)} Tail.`;
  const bench = await benchOf(
    team(
      [call("load_skill", { name: "maps" }), call("load_skill", { name: "maps", file: "all.txt" }), done],
      "",
    ),
    { files: { "skills/maps/SKILL.md": `---\ndescription: d\n---\n${body}`, "skills/maps/all.txt": file } },
    {},
  );
  await say(bench);
  expect(resultsOf(bench)).toEqual([`${body}\n\nFiles: all.txt`, file]);
});
