import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { environmentText } from "../../src/cli/new-team.ts";
import { team } from "../config/support.ts";
import { createShippedPlace } from "../support/shipped-place.ts";
import type { ShippedPlace } from "../support/shipped-place.ts";

const project = resolve(import.meta.dirname, "../..");
const places: ShippedPlace[] = [];
afterAll(() => {
  for (const { remove } of places) remove();
});

const place = (): ShippedPlace => {
  const made = createShippedPlace();
  places.push(made);
  return made;
};

/** Every file below a folder with its content. */
const snapshot = (folder: string): Record<string, string> =>
  existsSync(folder)
    ? Object.fromEntries(
        readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
          .toSorted()
          .map((path) => [path, readFileSync(path, "utf8")]),
      )
    : {};

test("CF-37 CF-38: the shipped teams pass validate --strict", async () => {
  const { call, root } = place();
  expect(await call("validate", "--strict")).toEqual({
    code: 0,
    lines: ["assistant is valid", "default is valid", "dev-team is valid"],
  });
  expect(existsSync(join(root, ".limpet"))).toBe(false);
});

test("CF-37: errors end with 1, the first line names the place; --json gives one object a line", async () => {
  const { call, write } = place();
  write("config/acme/team.yaml", team({ agent: "    instrutions: Hi" }));
  const text = await call("validate", "acme");
  expect(text.code).toBe(1);
  expect(text.lines[0]).toBe(
    'config/acme/team.yaml:9:5 error unknown_key agents[0].instrutions: unknown key "instrutions"',
  );
  const json = await call("validate", "acme", "--json");
  expect(json.lines.map((line) => JSON.parse(line) as object)).toEqual([
    {
      file: "config/acme/team.yaml",
      line: 9,
      column: 5,
      severity: "error",
      code: "unknown_key",
      path: "agents[0].instrutions",
      message: 'unknown key "instrutions"',
      hint: 'did you mean "instructions"?',
    },
  ]);
});

test("CF-37: warnings end with 0, and with --strict with 1", async () => {
  const { call, write } = place();
  write("config/acme/team.yaml", team({ top: "filesystem: { permissions_file: p }" }));
  expect((await call("validate", "acme")).code).toBe(0);
  expect((await call("validate", "acme", "--strict")).code).toBe(1);
});

test("CF-37: wrong usage ends with 2 and says what is right", async () => {
  const { call } = place();
  const wrong = [
    [],
    ["nope"],
    ["build"],
    ["new-team"],
    ["new-team", "Bad Name"],
    ["explain"],
    ["validate", "--loud"],
  ];
  wrong.push(
    ["build", "default", "--strict"],
    ["validate", "../default"],
    ["toString"],
    ["explain", "default", "nobody"],
  );
  for (const given of wrong) {
    const { code, lines } = await call(...given);
    expect([given, code, lines.length > 0]).toEqual([given, 2, true]);
  }
  expect((await call("--help")).code).toBe(0);
});

test("CF-37: a team that does not exist is a diagnostic", async () => {
  const { call } = place();
  const { code, lines } = await call("validate", "nobody");
  expect(code).toBe(1);
  expect(lines.join("\n")).toMatch(
    /^config\/nobody\/team\.yaml:1:1 error file_missing: a team folder needs a team\.yaml\n {2}.*known: .*; npx limpet new-team nobody creates one$/,
  );
});

test("CF-1: a folder whose name no team can have is an error where all teams are meant", async () => {
  const { call, write } = place();
  write("config/Bad_Name/team.yaml", team());
  write("config/.idea/team.yaml", team());
  const said = [
    'config/Bad_Name:1:1 error invalid_value: "Bad_Name" is not a team name: ' +
      "up to 31 lower-case letters, digits and -, beginning with a letter",
    "  rename the folder, or move it out of config/",
  ];
  const shipped = ["assistant", "default", "dev-team"];
  expect(await call("validate")).toEqual({
    code: 1,
    lines: [...said, ...shipped.map((name) => `${name} is valid`)],
  });
  expect(await call("build", "--all")).toEqual({
    code: 1,
    lines: [...said, ...shipped.map((name) => `built ${name} into .limpet/${name}/`)],
  });
  expect((await call("validate", "default")).code).toBe(0);
});

test("CF-37: files that cannot be written end with 3", async () => {
  const { call, write } = place();
  write(".limpet", "a file where a folder should be");
  expect((await call("build", "default")).code).toBe(3);
});

test("CF-2: build writes four files, the same bytes each time", async () => {
  const { call, root } = place();
  expect((await call("build", "--all")).code).toBe(0);
  const first = snapshot(join(root, ".limpet"));
  const paths = Object.keys(first).map((path) => path.slice(root.length + 9));
  expect(paths.filter((path) => !path.startsWith("."))).toEqual(
    ["assistant", "default", "dev-team"].flatMap((name) =>
      ["secrets.json", "team.js", "team.schema.json", "worker.js"].map((file) => `${name}/${file}`),
    ),
  );
  const written = Object.keys(first).map((path) => statSync(path).ino);
  expect((await call("build", "--all")).code).toBe(0);
  expect(snapshot(join(root, ".limpet"))).toEqual(first);
  expect(Object.keys(first).map((path) => statSync(path).ino)).toEqual(written);
});

test("CF-2 CF-3: a team with errors keeps its last build; mended it is built again", async () => {
  const { call, root, read, write } = place();
  await call("build", "default");
  const before = snapshot(join(root, ".limpet"));
  const good = read("config/default/team.yaml");
  write("config/default/team.yaml", good.replace("agents:", "agnets:"));
  expect((await call("build", "default")).code).toBe(1);
  expect(snapshot(join(root, ".limpet"))).toEqual(before);
  write("config/default/team.yaml", good.replace("max_iterations: 20", "max_iterations: 21"));
  expect((await call("build", "default")).code).toBe(0);
  expect(read(".limpet/default/team.js")).toContain('"max_iterations": 21');
});

test("CF-3: under wrangler dev a team with errors fails only if there is no last build to go on with", async () => {
  const { call, root, write } = place();
  const dev = (): Promise<number> => run(["build", "acme"], { root, print: () => undefined, serving: true });
  write("config/acme/team.yaml", team({ top: "nope: 1" }));
  expect(await dev()).toBe(1);
  write("config/acme/team.yaml", team({}));
  expect(await dev()).toBe(0);
  write("config/acme/team.yaml", team({ top: "nope: 1" }));
  expect(await dev()).toBe(0);
  expect((await call("build", "acme")).code).toBe(1);
});

test("CF-2: the folder of a build that was killed half-way is swept, that of one under way is not", async () => {
  const { call, root, write } = place();
  await call("build", "default");
  const before = snapshot(join(root, ".limpet"));
  write(`.limpet/.default-${process.pid}-abcdef/team.js`, "half");
  write(`.limpet/.default-${process.ppid}-abcdef/team.js`, "under way");
  write(`.limpet/.default-two-${process.pid}-abcdef/team.js`, "another team's");
  expect((await call("build", "default")).code).toBe(0);
  const left = Object.values(snapshot(join(root, ".limpet")));
  expect(left.toSorted()).toEqual([...Object.values(before), "under way", "another team's"].toSorted());
});

test("CF-2 ★: a build that is killed at any step leaves the previous build or the new one, never a mix", () => {
  const { root } = place();
  const names = ["secrets.json", "team.js", "worker.js"];
  const version = (text: string): Map<string, string> =>
    new Map(names.map((name) => [name, `${name} ${text}`]));
  const found = (): string[] => names.map((name) => readFileSync(join(root, ".limpet/acme", name), "utf8"));
  const killedAt = (step: number, text: string): boolean => {
    const script = `
      import fs from "node:fs";
      import { syncBuiltinESMExports } from "node:module";
      let left = ${step};
      for (const name of ["mkdirSync", "mkdtempSync", "writeFileSync", "symlinkSync", "renameSync", "rmSync"]) {
        const real = fs[name];
        fs[name] = (...given) => {
          if (left-- === 0) process.kill(process.pid, "SIGKILL");
          return real(...given);
        };
      }
      syncBuiltinESMExports();
      const { writeBuild } = await import(${JSON.stringify(join(project, "src/config/build/files.ts"))});
      writeBuild(${JSON.stringify(root)}, "acme", new Map(${JSON.stringify([...version(text)])}));
    `;
    const { signal, status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
    if (signal === null && status !== 0) throw new Error(String(stderr));
    return signal === "SIGKILL";
  };
  expect(killedAt(1_000, "0")).toBe(false);
  let [before, step] = ["0", 0];
  while (killedAt(step, `${step + 1}`)) {
    const now = `${step + 1}`;
    expect([[...version(before).values()], [...version(now).values()]]).toContainEqual(found());
    if (found()[0]?.endsWith(` ${now}`) === true) before = now;
    step += 1;
  }
  expect(step).toBeGreaterThan(5);
  expect(found()).toEqual([...version(`${step + 1}`).values()]);
  expect(readdirSync(join(root, ".limpet"))).toHaveLength(2);
});

test("CF-6 TB-37: extensions are loaded, checked and named by the worker", async () => {
  const { call, read, write } = place();
  const tool =
    "defineTool({ name: 'tide_table', description: 'Tides.', params: z.strictObject({}), run: () => ({ content: 'low' }) })";
  const imports = [
    `import * as z from ${JSON.stringify(join(project, "node_modules/zod/index.js"))};`,
    `import { defineTool } from ${JSON.stringify(join(project, "src/tools/define-tool.ts"))};`,
  ].join("\n");
  write("config/acme/team.yaml", team().replace("[filesystem]", "[{ name: tides, tools: [tide_table] }]"));
  write(
    "config/acme/extensions.ts",
    `${imports}\nexport const toolboxes = [{ name: "tides" as string, description: "", tools: [${tool}] }];\n`,
  );
  expect(await call("build", "acme")).toEqual({ code: 0, lines: ["built acme into .limpet/acme/"] });
  const same = { code: 0, lines: ["acme has not changed since its last build"] };
  expect(await call("build", "acme")).toEqual(same);
  expect(read(".limpet/acme/worker.js")).toContain('"./extensions.js"');
  const snapshot = read(".limpet/acme/extensions.js");
  expect(snapshot, "the product's modules are imported, not copied").toMatch(
    /^import \{ defineTool \} from ".*\/src\/tools\/define-tool\.ts"/m,
  );
  expect(JSON.parse(read(".limpet/acme/extensions.js.map"))).toMatchObject({
    sources: ["../../config/acme/extensions.ts"],
  });
  write("config/bad/team.yaml", team());
  write("config/bad/extensions.ts", "throw new Error('no tides today');\n");
  expect((await call("validate", "bad")).lines).toEqual([
    "config/bad/extensions.ts:1:7 error extension_invalid: the file could not be loaded: no tides today",
  ]);
  write("config/more/team.yaml", team());
  write("config/more/extensions.ts", "export const wires = [];\n");
  expect((await call("validate", "more")).lines).toEqual([
    'config/more/extensions.ts:1:22 error extension_invalid wires: "wires" is not a list of definitions',
    "  export effects, guards, toolboxes, providers, protocols, middleware, checks, agents",
  ]);
});

test("CF-6: where extensions.ts throws is told in a project whose folder has blanks and brackets in its name", async () => {
  const { root: folder, write } = place();
  const root = join(folder, "my project (1) é");
  write("my project (1) é/config/acme/team.yaml", team());
  write(
    "my project (1) é/config/acme/extensions.ts",
    "export const effects = [];\nthrow new Error('no tides');\n",
  );
  const lines: string[] = [];
  expect(await run(["validate", "acme"], { root, print: (line) => lines.push(line) })).toBe(1);
  expect(lines).toEqual([
    "config/acme/extensions.ts:2:7 error extension_invalid: the file could not be loaded: no tides",
  ]);
});

test("CF-6 CF-37: what the types forbid in extensions.ts is told with its place, where nothing else is wrong", async () => {
  const { call, root, write } = place();
  for (const name of ["node_modules", "src", "tsconfig.json"])
    symlinkSync(join(project, name), join(root, name));
  const extensions = (run: string): string => `import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";

const unused = 1;
const tideTable = defineTool({
  name: "tide_table",
  description: "Tides.",
  params: z.strictObject({ hour: z.int().describe("Hour.") }),
  safety: "read",
  run: ${run},
});
export const toolboxes = [{ name: "tides", description: "", tools: [tideTable] }];
`;
  write("config/acme/team.yaml", team().replace("[filesystem]", "[tides]"));
  write("config/acme/extensions.ts", extensions("({ hour }) => ({ content: String(hour) })"));
  const unused = `config/acme/extensions.ts:4:7 warning extension_invalid: 'unused' is declared but its value is never read.`;
  expect(await call("validate", "acme")).toEqual({ code: 0, lines: [unused, "acme is valid"] });
  write("config/acme/extensions.ts", extensions("({ hour, day }) => ({ content: hour })"));
  const { code, lines } = await call("validate", "acme");
  expect([code, lines.filter((line) => / error /.test(line))]).toEqual([
    1,
    [
      expect.stringMatching(
        /^config\/acme\/extensions\.ts:10:3 error extension_invalid: run has to return .* returns { content: number; }$/,
      ),
      expect.stringMatching(
        /^config\/acme\/extensions\.ts:10:17 error extension_invalid: Property 'day' does not /,
      ),
    ],
  ]);
  expect(lines).toContain("  Type 'number' is not assignable to type 'string | readonly ContentPart[]'.");
  expect((await call("deploy", "acme", "--dry-run")).lines).toEqual(lines);
  write("config/acme/team.yaml", team().replace("[filesystem]", "[tide]"));
  expect((await call("validate", "acme")).lines[0]).toContain(" error unknown_toolbox ");
});

test("CF-37: new-team copies a team, keeps comments, and the copy is valid", async () => {
  const { call, read } = place();
  const before = read("wrangler.toml");
  const { code, lines } = await call("new-team", "acme", "--from", "assistant");
  expect(code).toBe(0);
  expect(lines.slice(1)).toEqual([
    "  echo ANTHROPIC_API_KEY=… >> .dev.vars.acme",
    "  npm start -- --env acme",
    "  npx limpet deploy acme",
  ]);
  expect(read("config/acme/team.yaml")).toBe(read("config/assistant/team.yaml"));
  const environment = environmentText("acme", { draft: null, secrets: { ANTHROPIC_API_KEY: [] } });
  expect(environment).toContain('secrets = { required = ["LIMPET_ADMIN_KEY", "ANTHROPIC_API_KEY"] }');
  expect(read("wrangler.toml")).toBe(`${before.trimEnd()}\n${environment}`);
  expect((await call("build", "acme")).code).toBe(0);
});

test("CF-37: new-team refuses what exists, and nothing changes", async () => {
  const { call, root, write } = place();
  write("config/half/readme.txt", "x");
  const before = snapshot(root);
  for (const given of [
    ["assistant"],
    ["half"],
    ["acme", "--from", "nobody"],
    ["acme", "--import", "nothing.yaml"],
  ]) {
    expect([given, (await call("new-team", ...given)).code]).toEqual([given, 1]);
  }
  expect(snapshot(root)).toEqual(before);
  await call("new-team", "acme");
  const made = snapshot(root);
  expect((await call("new-team", "acme")).code).toBe(1);
  rmSync(join(root, "config/acme"), { recursive: true });
  expect((await call("new-team", "acme")).lines).toEqual([
    "wrangler.toml has an environment acme already; nothing was changed",
  ]);
  expect(made["wrangler.toml"]).toBe(snapshot(root)["wrangler.toml"]);
});

test("CF-3 AP-70: every environment is built anew when its config or the console changes, and not when wrangler writes files of its own", async () => {
  const { call, read } = place();
  await call("new-team", "acme");
  const watched = read("wrangler.toml").match(/watch_dir = .*?\]/g);
  expect(watched).toEqual(Array(4).fill('watch_dir = ["config", ".limpet/console.sha256"]'));
});

test("CF-10 CF-37: new-team --import takes over a file of the original with its skills", async () => {
  const { call, read, root, write } = place();
  const body = team({ agent: "    skills: [lead-workflow]" }).replaceAll(/^(?=.)/gm, "  ");
  write(
    "original/settings/simple.yaml",
    `template: { name: simple, description: One agent }\nconfig:\n${body}embedded_skills:\n  - name: lead-workflow\n`,
  );
  write("original/skills/lead-workflow.md", "---\ndescription: How to lead\n---\nAsk first.\n");
  const { code, lines } = await call(
    "new-team",
    "taken",
    "--import",
    join(root, "original/settings/simple.yaml"),
  );
  expect([code, lines.slice(0, 2)]).toEqual([
    0,
    ["skills/lead-workflow/SKILL.md: copied", "made config/taken/ and [env.taken] in wrangler.toml. Next:"],
  ]);
  expect(read("config/taken/team.yaml")).toMatch(/^# yaml-language-server: .*\ntemplate:/);
  expect(read("config/taken/skills/lead-workflow/SKILL.md")).toContain("Ask first.");
});

test("CF-37 CF-26: explain shows tools, window, price and every option with its origin", async () => {
  const { call } = place();
  const { code, lines } = await call("explain", "default", "guide");
  const text = lines.map((line) => line.replaceAll(/ +/g, " ").trim());
  expect(code).toBe(0);
  expect(text).toContain("window 16000 [provider]");
  expect(text.some((line) => /^max_iterations 20 \[line \d+\]$/.test(line))).toBe(true);
  expect(text.some((line) => line.endsWith("[default]"))).toBe(false);
  expect(lines.at(-1)).toMatch(/^\d+ other values have their defaults; --all shows them$/);
  const whole = (await call("explain", "default", "guide", "--all")).lines.map((line) =>
    line.replaceAll(/ +/g, " ").trim(),
  );
  expect(whole).toContain("command_timeout 120000 [default]");
  expect(text).toContain("state.shared_state_set idempotent, ask [rule ask shared_state_set]");
  expect(text).toContain("ask.ask_user read, allow [preset sandboxed]");
  const json = await call("explain", "assistant", "--json");
  const explained = JSON.parse(json.lines[0] ?? "") as { general: { key: string; value: unknown }[] };
  expect(explained.general.find(({ key }) => key === "api_key")?.value).toBe("(not shown)");
});

test("CF-5 CF-37: explain lists the context files that every agent reads", async () => {
  const { call, write } = place();
  write("config/acme/team.yaml", team());
  write("config/acme/context/house.md", "We are brief.\n");
  const { lines } = await call("explain", "acme", "guide");
  expect(lines.some((line) => /^ +context\/house\.md +13 characters {2}\[every agent\]$/.test(line))).toBe(
    true,
  );
});

test("CF-37: explain shows what defaults gave, and refuses a team with errors", async () => {
  const { call, write } = place();
  write("config/acme/team.yaml", team({ top: "defaults: { options: { max_iterations: 5 } }" }));
  const { lines } = await call("explain", "acme", "guide");
  expect(lines.some((line) => /max_iterations\s+5 {2}\[defaults, line 9\]/.test(line))).toBe(true);
  write("config/acme/team.yaml", "a: 1\n");
  expect((await call("explain", "acme")).code).toBe(1);
});

test("TB-5 TB-7: explain and validate show what act rules decide, and which tools lead around a rule", async () => {
  const { call, write } = place();
  const rules = (text: string): string =>
    team({ top: `permissions: { rules: [${text}] }` }).replace("[filesystem]", "[filesystem, exec]");
  const ask = "{ act: write, match: 'drafts/**', action: ask }";
  write("config/acme/team.yaml", rules(ask));
  const explained = await call("explain", "acme", "guide");
  const text = explained.lines.map((line) => line.replaceAll(/ +/g, " ").trim());
  expect(text).toContain("filesystem.apply_patch idempotent, allow; ask drafts/** [preset sandboxed]");
  expect(text).toContain("filesystem.fs_read read, allow [preset sandboxed]");
  const gap =
    "config/acme/team.yaml:9:24 warning rule_gap permissions.rules[0]: guide has other tools that reach what this guards (write drafts/**): exec_run, exec_shell";
  const way = "  for commands: writable_paths without these files, or a rule { act: exec, action: ask }";
  expect(explained.lines.join("\n").split("\n").slice(-2)).toEqual([gap, way]);
  expect((await call("validate", "acme")).lines.join("\n").split("\n")).toEqual([gap, way, "acme is valid"]);
  expect((await call("validate", "acme", "--strict")).code).toBe(1);
  const json = JSON.parse((await call("explain", "acme", "--json")).lines[0] ?? "") as { warnings: object[] };
  expect(json.warnings).toMatchObject([{ code: "rule_gap", line: 9 }]);
  write("config/acme/team.yaml", rules(`${ask}, { act: exec, action: ask }`));
  expect((await call("validate", "acme", "--strict")).lines).toEqual(["acme is valid"]);
});

test("AG-19: explain shows whom an agent may call, and with which tools", async () => {
  const { call, write } = place();
  write(
    "config/acme/team.yaml",
    `${team({
      agent: `  - { name: scout, delegation: {} }
  - { name: sage, delegation: {}, toolboxes: [kb] }
  - { name: clerk, toolboxes: [{ name: kb, tools: [look] }], delegation: { inherit: intersect } }`,
    })}mcp_servers: [{ name: kb, url: "https://kb.example/mcp" }]\n`,
  );
  const edgesOf = async (agent: string): Promise<readonly string[]> => {
    const { lines } = await call("explain", "acme", agent);
    return lines
      .map((line) => line.replaceAll(/ +/g, " ").trim())
      .filter((line) => line.includes("[inherit "));
  };
  const edges = await edgesOf("scout");
  const edge = edges.find((line) => line.startsWith("sage ")) ?? "";
  expect(edge).toContain(" kb__* ");
  expect(edge).not.toContain("kb__look");
  expect(edges.find((line) => line.startsWith("clerk "))).toMatch(/ kb__look (?!.*kb__\*)/);
  expect((await edgesOf("clerk")).find((line) => line.startsWith("sage "))).toMatch(/ kb__look (?!.*kb__\*)/);
  expect(edge).toMatch(
    /^sage ask_user (?:kb__\* )?recall report_status .*\bdelegate_to_agent\b.* \[inherit own\]$/,
  );
  expect(edge).toContain(" task_complete");
  expect(edge).not.toContain(" delegate ");
});

test("CF-37: explain --kinds lists kinds and toolboxes", async () => {
  const { call } = place();
  const { lines } = await call("explain", "--kinds");
  expect(lines).toContain("  anthropic");
  expect(lines).toContain("  search  search_content search_files");
  expect(lines.find((line) => line.startsWith("  browser "))).toContain("browser_navigate");
  expect(lines).toContain("  workers-ai");
});

test("CF-37: explain --tools lists the arguments of built-in tools, as scripts write them", async () => {
  const { call } = place();
  const { code, lines } = await call("explain", "--tools");
  expect([code, lines[0]]).toEqual([0, "ask"]);
  expect(lines).toContain("  fs_write  { path: string, content: string }");
  expect(lines).toContain(
    '  fs_patch  { path: string, hunks: [{ old_text: string, new_text?: string = "" }] }',
  );
  expect(lines).toContain("  load_skill  { name: string, file?: string }");
  const [json = ""] = (await call("explain", "--tools", "--json")).lines;
  expect(JSON.parse(json)).toHaveProperty("core.task_complete.properties");
});

test("CF-37: explain --effects is the table of the documentation", async () => {
  const { code, lines } = await place().call("explain", "--effects");
  expect(code).toBe(0);
  expect(lines.join("\n")).toMatch(/^\| kind .*\n\| --- .*\n\| `tool_scope` \| before a request \|/);
});

test("CF-37: the program itself validates the shipped teams, offline and quickly", () => {
  const program = [process.execPath, join(project, "src/cli/main.ts"), "validate"];
  const { stdout, stderr } = spawnSync("bash", ["-c", `TIMEFORMAT=%U; time "$@"`, "", ...program], {
    encoding: "utf8",
  });
  expect(stdout).toContain("default is valid");
  expect(Number(stderr.trim()), "seconds of its own").toBeLessThan(3);
});

test("CF-37 AP-53: what is mistyped is told with the nearest name, and where all of them stand", async () => {
  const { call } = place();
  const all = "limpet --help lists the commands";
  const own = (command: string): string => `limpet ${command} --help lists its options`;
  const told: readonly (readonly [readonly string[], readonly string[]])[] = [
    [[], ["no command was given", all]],
    [["caht"], ['unknown command "caht"; did you mean "chat"?', all]],
    [
      ["new", "acme"],
      ['unknown command "new"; did you mean "new-team"?', all],
    ],
    [["xyzzyx"], ['unknown command "xyzzyx"', all]],
    [
      ["chat", "--agnet", "x"],
      ['chat does not accept --agnet; did you mean "--agent"?', own("chat")],
    ],
    [
      ["sessions", "--wait"],
      ["sessions does not accept --wait", own("sessions")],
    ],
    [
      ["validate", "--strict=yes"],
      ["--strict accepts no value", own("validate")],
    ],
    [
      ["chat", "--agent"],
      ["--agent needs a value", own("chat")],
    ],
    [["build"], ["build needs a team, or --all", own("build")]],
    [
      ["build", "nobody", "--all"],
      ["build takes teams or --all, and not both", own("build")],
    ],
    [
      ["explain", "default", "--kinds"],
      ["explain --kinds is the same for every team, and takes no name", own("explain")],
    ],
    [
      ["explain", "--kinds", "--tools"],
      ["explain describes one thing at a time: --kinds or --tools", own("explain")],
    ],
    [
      ["new-team", "acme", "--from", "default", "--import", "team.yaml"],
      [
        "new-team copies a team with --from or takes over a file with --import, and not both",
        own("new-team"),
      ],
    ],
  ];
  for (const [given, lines] of told)
    expect([given, await call(...given)]).toEqual([given, { code: 2, lines }]);
});

test("CF-37 AP-53: help of a command is that command's lines", async () => {
  const { call } = place();
  const { code, lines } = await call("chat", "--help");
  expect(code).toBe(0);
  expect(lines.slice(0, 2)).toEqual([
    "limpet chat [session] [--agent name]",
    "  talk with a session, or with a new one: replies stream, calls are a line each,",
  ]);
  expect(lines.at(-1)).toBe("It takes --url, --key and --json as well.");
  expect(lines.join("\n")).toContain("once more leaves");
  expect(lines.join("\n")).not.toContain("limpet send");
  expect((await call("explain", "--help")).lines.filter((line) => line.startsWith("limpet "))).toHaveLength(
    4,
  );
  expect((await call("build", "-h")).lines.join("\n")).not.toContain("build-shell  ");
  expect((await call("--help")).lines.length).toBeGreaterThan(30);
});
