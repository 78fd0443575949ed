import { resolve } from "node:path";
import * as z from "zod";
import { expect, test } from "vitest";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { ToolDefinition } from "../../src/tools/define-tool.ts";
import type { ExtensionModule } from "../../src/config/extensions.ts";
import { callGuarded, deletes, guardedTeam, reads, secret, writes } from "../support/guarded.ts";
import type { Args } from "../support/guarded.ts";
import { compileTeam } from "../../src/config/build/compile.ts";
import { formatDiagnostic } from "../../src/config/document/diagnostics.ts";
import { listTeams, readTeamFiles } from "../../src/config/build/files.ts";
import { loadExtensions } from "../../src/cli/extensions/load.ts";
import { pages } from "../support/readme.ts";
import { shippedTeams } from "../support/shipped.ts";
import { compile } from "./support.ts";

/** What a rule guards and another tool reaches is named, with the way to bind it (TB-7). */

interface Gap {
  readonly place: string;
  readonly agent: string;
  readonly guards: string;
  readonly tools: readonly string[];
  readonly hint: string;
}

const gapsOf = async (yaml: string, extensions?: ExtensionModule): Promise<readonly Gap[]> => {
  const { team, diagnostics } = await compile(yaml, extensions === undefined ? {} : { extensions });
  if (team === null) throw new Error(JSON.stringify(diagnostics));
  return diagnostics
    .filter(({ code }) => code === "rule_gap")
    .map(({ path, message, hint = "" }) => {
      const told = /^(\S+) has other tools that reach what this guards \((.*)\): (.*)$/.exec(message);
      const [, agent = "", guards = "", tools = ""] = told ?? [];
      return { place: path, agent, guards, tools: tools.split(", "), hint };
    });
};

const agents = (lines: readonly string[], permissions: string): string => `
providers:
  - { name: main, kind: anthropic, api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents:
${lines.map((line) => `  - { ${line} }`).join("\n")}
permissions: ${permissions}
`;

const gaps = (rules: string, more = "", boxes = "[filesystem, search, exec]", preset = "sandboxed") =>
  gapsOf(agents([`name: a, toolboxes: ${boxes}${more}`], `{ preset: ${preset}, rules: [${rules}] }`));

const tools = async (...given: Parameters<typeof gaps>): Promise<readonly string[]> =>
  (await gaps(...given)).flatMap((gap) => gap.tools);

const commands = ["exec_run", "exec_shell"];

test("TB-7 ★: a rule on one tool names all others of the agent that do the same", async () => {
  expect(await gaps("{ tool: fs_write, match: 'drafts/**', action: ask }")).toEqual([
    {
      place: "permissions.rules[0]",
      agent: "a",
      guards: "write drafts/**",
      tools: [
        "fs_edit",
        "fs_patch",
        "apply_patch",
        "fs_delete",
        "fs_mkdir",
        "fs_move",
        "fs_copy",
        ...commands,
      ],
      hint: "name the act: { act: write, … }; for commands: writable_paths without these files, or a rule { act: exec, action: ask }",
    },
  ]);
  const [read] = await gaps("{ tool: fs_read, match: 'private/**', action: deny }");
  expect(read?.guards).toBe("read private/**");
  expect(read?.tools).toEqual([
    "fs_read_lines",
    "fs_list",
    "fs_stat",
    "fs_diff",
    "fs_edit",
    "fs_patch",
    "apply_patch",
    "fs_move",
    "fs_copy",
    "search_content",
    "search_files",
    ...commands,
  ]);
  expect(read?.hint).toBe("name the act: { act: read, … }; for commands: a rule { act: exec, action: deny }");
  expect(await tools("{ tool: exec_shell, action: deny }")).toEqual(["exec_run"]);
  expect(await tools("{ tool: exec_run, match: 'rm *', action: deny }")).toEqual(["exec_shell"]);
  expect(await tools("{ act: exec, match: 'rm *', action: deny }")).toEqual([]);
});

test("TB-7: an act leaves only commands, which writable_paths or an equally strict rule binds", async () => {
  const deny = "{ act: write, match: 'infra/**', action: deny }";
  expect(await tools(deny)).toEqual(commands);
  expect(await tools(deny, "", "[filesystem, search]")).toEqual([]);
  const paths = (list: string): string => `, options: { writable_paths: ${list} }`;
  expect(await tools(deny, paths('["src/**", "infrared/**"]'))).toEqual([]);
  expect(await tools(deny, paths("[]"))).toEqual([]);
  for (const list of ['["**"]', '["*.md"]', '["infra/x"]', '["infra/sub/**"]', '["src/**", "**/x"]'])
    expect([list, await tools(deny, paths(list))]).toEqual([list, commands]);
  expect(await tools("{ act: write, match: '**/*.tf', action: deny }", paths('["src/**"]'))).toEqual(
    commands,
  );
  expect(await tools("{ act: read, match: 'infra/**', action: deny }", paths("[]"))).toEqual(commands);
  expect(await tools(`${deny}, { act: exec, action: deny }`)).toEqual([]);
  expect(await tools(`${deny}, { tool: 'exec_*', action: deny }`)).toEqual([]);
  expect(await tools(`${deny}, { act: exec, action: ask }`)).toEqual(commands);
  expect(await tools(`${deny}, { act: exec, action: deny, expires: "2027-01-01" }`)).toEqual(commands);
  expect(await tools(`${deny}, { act: exec, match: 'sh *', action: deny }`)).toEqual(["exec_run"]);
  const ask = deny.replace("deny", "ask");
  expect(await tools(`${ask}, { act: exec, action: ask }`)).toEqual([]);
  expect(await tools(`${ask}, { act: exec, action: deny }`)).toEqual([]);
});

test("TB-7: a preset as strict as the rule binds what it asks about, unless a rule allows some of it", async () => {
  const ask = "{ act: write, match: 'infra/**', action: ask }";
  expect(await tools(ask, "", undefined, "ask")).toEqual([]);
  expect(await tools(ask, ", permissions: { preset: locked }")).toEqual([]);
  expect(await tools(ask, ", permissions: { preset: open }", undefined, "ask")).toEqual(commands);
  expect(await tools(`${ask}, { act: exec, match: 'ls *', action: allow }`, "", undefined, "ask")).toEqual([
    "exec_run",
    "exec_shell",
  ]);
  expect(await tools("{ act: read, match: 'infra/**', action: deny }", "", undefined, "ask")).toEqual(
    commands,
  );
});

test("TB-7: several tool rules that bind each other leave no gap; a narrower one does", async () => {
  const each = (match: string): string =>
    ["fs_*", "apply_patch"].map((tool) => `{ tool: "${tool}", match: "${match}", action: deny }`).join();
  expect(await tools(each("infra/**"), "", "[filesystem]")).toEqual([]);
  const wider =
    '{ tool: "fs_*", match: "a/b/**", action: deny }, { tool: apply_patch, match: "a/**", action: deny }';
  const found = await gaps(wider, "", "[{ name: filesystem, tools: [fs_write, apply_patch] }]");
  expect(found.map(({ place, tools: by }) => [place, by])).toEqual([["permissions.rules[1]", ["fs_write"]]]);
});

test("TB-7: only tools that the agent has are named, those that a caller lends included", async () => {
  const deny = "{ rules: [{ act: write, match: 'infra/**', action: deny }] }";
  const lead = (inherit: string): string =>
    `name: lead, toolboxes: [exec], delegation: { inherit: ${inherit} }, options: { writable_paths: ["src/**"] }`;
  const named = async (inherit: string) =>
    (await gapsOf(agents([lead(inherit), "name: hand, toolboxes: [filesystem]"], deny))).map((gap) => [
      gap.agent,
      gap.tools,
    ]);
  expect(await named("own")).toEqual([]);
  expect(await named("union")).toEqual([["hand", commands]]);
  expect(await tools("{ act: write, action: deny }", ", options: { tool_access: none }")).toEqual([]);
});

test("TB-7: rules on tools that call agents name the others, and an act binds them all", async () => {
  const pair = [
    "name: lead, delegation: {}, options: { max_handoffs: 1 }",
    "name: coder, delegation: { may_call: [] }",
  ];
  const rule = (text: string): string => `{ rules: [{ ${text}, match: coder, action: ask }] }`;
  const [gap] = await gapsOf(agents(pair, rule("tool: spawn_agents")));
  expect(gap).toMatchObject({ agent: "lead", guards: "delegate coder" });
  expect(gap?.tools).toEqual(["delegate_to_agent", "delegate", "dispatch_tasks", "handoff"]);
  expect(await gapsOf(agents(pair, rule("act: delegate")))).toEqual([]);
  const undelegating = ["name: lead, options: { max_handoffs: 1 }", ...pair.slice(1)];
  expect(await gapsOf(agents(undelegating, rule("tool: spawn_agents")))).toMatchObject([
    { agent: "lead", tools: ["handoff"] },
  ]);
});

const path = z.strictObject({ path: z.string().describe("A path.") });
const lab = (more: Partial<ToolDefinition<typeof path>>): ExtensionModule => {
  const stamp = defineTool({
    name: "stamp",
    description: "Stamps.",
    params: path,
    run: () => ({ content: "ok" }),
    ...more,
  });
  return { exports: { toolboxes: [{ name: "lab", description: "A lab.", tools: [stamp] }] } };
};

test("TB-7: a team's own tool that works on files without saying what it does is named, one with acts is not", async () => {
  const yaml = agents(
    ["name: a, toolboxes: [lab]"],
    "{ preset: open, rules: [{ act: write, match: 'infra/**', action: deny }] }",
  );
  const [gap] = await gapsOf(yaml, lab({ workspace: "write" }));
  expect(gap).toMatchObject({
    tools: ["stamp"],
    hint: "for stamp: a rule on that tool, or acts in its definition",
  });
  expect(await gapsOf(yaml, lab({ workspace: "read" }))).toEqual([]);
  const acts = ({ path: subject }: { path: string }) => [{ act: "write" as const, subject }];
  expect(await gapsOf(yaml, lab({ workspace: "write", acts }))).toEqual([]);
  const ruled = yaml.replace("action: deny }]", "action: deny }, { tool: stamp, action: deny }]");
  expect(await gapsOf(ruled, lab({ workspace: "write" }))).toEqual([]);
});

test("TB-7: shipped teams have rules without gaps", async () => {
  const root = resolve(import.meta.dirname, "../..");
  const tests = resolve(root, "test/e2e");
  for (const [place, names] of [
    [root, shippedTeams],
    [tests, listTeams(tests)],
  ] as const) {
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) {
      const extensions = await loadExtensions(place, name);
      const compiled = compileTeam(readTeamFiles(place, name), { name, extensions });
      // Teams of tests name servers of this machine, and models that have no price.
      const diagnostics = compiled.diagnostics.filter(
        ({ code }) => code !== "private_address" && code !== "unpriced_model",
      );
      expect([name, diagnostics.map(formatDiagnostic)]).toEqual([name, []]);
    }
  }
});

test("TB-7: the team that README teaches has rules without gaps", async () => {
  const taught = pages.readme.blocks.filter(
    ({ text }) => text.includes("\nagents:\n") && text.includes("\npermissions:\n"),
  );
  expect(taught).toHaveLength(1);
  for (const { text } of taught) expect((await compile(text)).diagnostics.map(formatDiagnostic)).toEqual([]);
});

const run = (command: string, ...args: string[]) => ["exec_run", { command, args }] as const;
const shell = (script: string) => ["exec_shell", { script }] as const;

const readers: readonly (readonly [string, Args])[] = [
  ...["cat", "head", "tail", "sort", "nl"].map((program) => run(program, "private/key")),
  run("cp", "private/key", "open/k"),
  run("mv", "private/key", "open/k"),
  run("env", "cat", "private/key"),
  run("sh", "-c", "cat private/key"),
  run("grep", "-r", secret, "."),
  run("sed", "", "private/key"),
  run("awk", "{ print }", "private/key"),
  run("find", "private"),
  shell("cd private && cat key"),
  shell("while read line; do echo $line; done < private/key"),
  shell("ln -s ../private/key open/link && cat open/link"),
];

const writers: readonly (readonly [string, Args])[] = [
  run("touch", "private/new"),
  run("cp", "open/a.md", "private/new"),
  run("mv", "open/a.md", "private/new"),
  run("rm", "-rf", "private"),
  run("env", "rm", "-f", "private/key"),
  run("sed", "-i", "s/s/x/", "private/key"),
  run("sh", "-c", "echo x > private/new"),
  shell("echo x >> private/key"),
  shell("ln -s private open/p && echo x > open/p/new"),
  shell("tee private/new < open/a.md"),
];

/** What came of a call under a rule of the agent: it reached what is guarded, or was held. */
const reaches = async ([tool, args]: readonly [string, Args], permissions: string, agent = "") => {
  const { outcome, output, changed, files } = await callGuarded(tool, args, { permissions, agent });
  if (outcome === "denied" || outcome === undefined) return false;
  return changed || files["private/key"] === undefined || /swordfish|private\/(key|deep)/.test(output);
};

const named = async ([tool, args]: readonly [string, Args], permissions: string, agent = "") =>
  (await gapsOf(guardedTeam(tool, args, { permissions, agent }))).some((gap) => gap.tools.includes(tool));

test("TB-7: every tool and command that can reach a guarded path is held by an act rule, or named", async () => {
  const bound = ", options: { writable_paths: ['open/**'] }";
  for (const [act, calls] of [
    ["read", [...reads, ...readers]],
    ["write", [...writes, ...writers]],
    ["delete", [...deletes, run("rm", "-rf", "private")]],
  ] as const)
    for (const call of calls)
      for (const action of ["deny", "ask"]) {
        const guard = `{ act: ${act}, match: "private/**", action: ${action} }`;
        const alone = `{ preset: open, rules: [${guard}] }`;
        const isCommand = call[0].startsWith("exec");
        const leavesOut = ["search_content", "search_files", "fs_list"].includes(call[0]);
        const found = [await reaches(call, alone), await named(call, alone)];
        expect([act, call, found]).toEqual([act, call, [isCommand, isCommand]]);
        if (!isCommand || leavesOut) continue;
        const strict = `{ preset: open, rules: [${guard}, { act: exec, action: ${action} }] }`;
        const held = [await reaches(call, strict), await named(call, strict)];
        expect([act, call, held]).toEqual([act, call, [false, false]]);
        if (act === "read") continue;
        const walled = await callGuarded(call[0], call[1], { permissions: alone, agent: bound });
        expect([act, call, walled.files["private/new"]]).toEqual([act, call, undefined]);
        expect([act, call, await named(call, alone, bound)]).toEqual([act, call, false]);
        expect(walled.files).toMatchObject({ "private/key": expect.any(String) });
      }
});
