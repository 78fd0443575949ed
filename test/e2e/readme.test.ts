import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileTeam } from "../../src/config/build/compile.ts";
import { freePort, root, runCommand, startGroup, until } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";
import { blocks, commandsOf, linkedFiles, readme } from "../support/readme.ts";
import type { Block } from "../support/readme.ts";

/** AP-70: the README's blocks, run in their order in a clean copy of the project, as its reader would. */

/** Packages come from npm's cache, which the run of `npm ci` before these tests has filled. */
const env = { npm_config_prefer_offline: "true", npm_config_audit: "false", npm_config_fund: "false" };

let project: ProjectCopy;
let copy: string;
let port: number;
let server: Group | null = null;
/** Variables that the reader has set, and what the last commands printed. */
const variables = new Map<string, string>();
let outputs: readonly string[] = [];

beforeAll(async () => {
  port = await freePort();
  project = copyProject({ packages: false });
  copy = project.folder;
  const settings = join(copy, "wrangler.toml");
  writeFileSync(settings, here(readFileSync(settings, "utf8")));
});
afterAll(async () => {
  await server?.kill();
  project?.remove();
});

/** A text of the README for the port that is free here. */
const here = (text: string): string => text.replaceAll("8787", String(port));

const prelude = (): string => [...variables].map(([name, value]) => `${name}=${value}\n`).join("");

/** Runs a program until it ends, or until it has printed all of `lines` in order; gives what it printed. */
const printed = async (
  command: string,
  args: readonly string[],
  lines: readonly string[],
): Promise<string> => {
  const group = startGroup(command, args, { cwd: copy, env });
  const complete = (): boolean => lines.length > 0 && inOrder(group.output(), lines);
  const code = group.ended;
  await Promise.race([
    code,
    until(`${command} prints ${lines.join(", ")}`, () => complete() || null, 110_000),
  ]);
  if (!complete()) expect(await code, group.output()).toBe(0);
  await group.kill();
  return group.output();
};

const inOrder = (output: string, lines: readonly string[]): boolean => {
  let at = 0;
  for (const line of lines) {
    const found = output.indexOf(line, at);
    if (found < 0) return false;
    at = found + line.length;
  }
  return true;
};

/** The lines that a block promises of the block before it. */
const promisedLines = (next: Block | undefined): readonly string[] =>
  next?.language === "text" && next.role === "" ? next.text.trim().split("\n") : [];

const runShell = async (block: Block, next: Block | undefined): Promise<void> => {
  const [, name = "", kind = ""] = /^(\w+)=([a-z]+)_[a-z2-7]{26}$/.exec(block.text.trim()) ?? [];
  if (name !== "") {
    const [id = ""] = outputs.join("\n").match(new RegExp(`\\b${kind}_[a-z2-7]{26}\\b`)) ?? [];
    expect(id, `an answer before holds an id ${kind}_…`).not.toBe("");
    variables.set(name, id);
    return;
  }
  if (block.role === "curl") await readOn();
  outputs = [];
  for (const command of commandsOf(block)) {
    const script = `set -euo pipefail\n${prelude()}${here(command)}`;
    outputs = [...outputs, await printed("bash", ["-c", script], promisedLines(next))];
  }
};

/** A reader is slower than the runs that the last call began. */
const readOn = async (): Promise<void> => {
  const session = variables.get("SESSION");
  if (session === undefined) return;
  await until("the session rests", async () => {
    const answer = await fetch(`http://localhost:${port}/v1/sessions/${session}`);
    const { status } = await answer.json<{ status: string }>();
    return status === "running" ? null : true;
  });
};

const startServer = async ({ text }: Block): Promise<void> => {
  // A server that is built anew drops every socket; only a team's own files are a reason, as those of a new team.
  const rebuilds = (server?.output() ?? "").matchAll(/The file (.*) changed, restarting build/g);
  const causes = [...rebuilds].map(([, file = ""]) => relative(copy, resolve(copy, file)));
  expect(causes.filter((file) => !file.startsWith("config/"))).toEqual([]);
  await server?.kill();
  const group = startGroup("bash", ["-c", text], { cwd: copy, env });
  server = group;
  const early = group.ended.then(() => Promise.reject(new Error(group.output())));
  const ready = until(
    "the server answers",
    async () => {
      const answer = await fetch(`http://localhost:${port}/healthz`).catch(() => null);
      return answer?.ok === true ? true : null;
    },
    200_000,
  );
  await Promise.race([ready, early]);
  const page = await fetch(`http://localhost:${port}/console`);
  expect([page.status, page.headers.get("Content-Type")]).toEqual([200, "text/html; charset=utf-8"]);
};

/** A value with its random ids reduced to their kind. */
const withoutIds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/\b([a-z]+_)[a-z2-7]{26}\b/g, "$1")) as unknown;

const runBlock = async (block: Block, next: Block | undefined): Promise<void> => {
  const { language, role, text } = block;
  switch (`${language} ${language === "ts" ? "" : role}`.trim()) {
    case "sh start":
      return startServer(block);
    case "sh":
    case "sh curl":
      return runShell(block, next);
    case "sh deploy":
      for (const command of commandsOf(block)) {
        expect(await runCommand("bash", ["-c", `${command} --dry-run`], { cwd: copy, env })).toContain(
          "exiting now",
        );
      }
      return;
    case "sh account":
      return void (await runCommand("bash", ["-n", "-c", text]));
    case "sh test":
      expect(text).toBe("npm ci && npm test\n");
      return;
    case "json":
      expect(withoutIds(JSON.parse(outputs.at(-1) ?? ""))).toMatchObject(
        withoutIds(JSON.parse(text)) as object,
      );
      return;
    case "js": {
      const script = here(
        [...variables].map(([name, value]) => `const ${name} = "${value}";`).join("\n") + text,
      );
      outputs = [await printed(process.execPath, ["--input-type=module", "-e", script], promisedLines(next))];
      return;
    }
    case "text":
      expect(inOrder(outputs.at(-1) ?? "", text.trim().split("\n")), `${outputs.at(-1)}`).toBe(true);
      return;
    case "text tree":
      return checkTree(text);
    case "yaml config/dev-team/team.yaml":
      return expect(readFileSync(join(root, role), "utf8")).toContain(text);
    case "yaml": {
      const { team, diagnostics } = compileTeam(new Map([["team.yaml", text]]), { name: "acme" });
      expect(diagnostics).toEqual([]);
      expect(team?.agents).toHaveLength(1);
      return;
    }
    case "ts":
      mkdirSync(dirname(join(copy, role)), { recursive: true });
      writeFileSync(join(copy, role), text);
      return;
    default:
      throw new Error(`line ${block.line}: nobody knows how to run a block "${language} ${role}"`);
  }
};

/** Whether the rooms that are listed are those that exist. */
const checkTree = (text: string): void => {
  const listed = text
    .trim()
    .split("\n")
    .map((line) => (line.split(" ")[0] ?? "").replace("<team>", "default"));
  expect(listed.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  const rooms = readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}/`);
  expect(listed.filter((path) => /^src\/\w+\/$/.test(path)).toSorted()).toEqual(rooms.toSorted());
};

describe("AP-70 AP-71: the README's blocks do what it says", () => {
  const cases = blocks.map(
    (block, index) => [block.line, `${block.language} ${block.role}`, block, index] as const,
  );
  test.each(cases)("line %i: %s", async (_line, _name, block, index) => {
    const before = block.role === "" ? null : block.text;
    if (before?.includes("npm start -- --env acme") === true) {
      writeFileSync(join(copy, ".dev.vars.acme"), "ANTHROPIC_API_KEY=sk-not-used\n");
    }
    await runBlock(block, blocks[index + 1]);
  });
});

test("AP-71 CF-20: the new team serves its own agent with the secrets of .dev.vars.acme", async () => {
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`http://localhost:${port}${path}`)).json();
  expect(await get("/readyz")).toEqual({ ready: true, missing_secrets: [], sandbox: "connected" });
  expect(await get("/v1/agents")).toMatchObject({ data: [{ name: "assistant" }] });
});

test("AP-70: npm start takes another port", async () => {
  const other = await freePort();
  await server?.kill();
  server = startGroup("npm", ["start", "--", "--port", String(other)], { cwd: copy, env });
  const answer = await until(
    "the server answers at its port",
    () => fetch(`http://localhost:${other}/healthz`).catch(() => null),
    110_000,
  );
  expect(answer.status).toBe(200);
  await expect(fetch(`http://localhost:${port}/healthz`)).rejects.toThrow();
});

test("CF-6: the recipes compile and lint, and the team with the extension has its tool", async () => {
  const files = blocks.filter(({ language }) => language === "ts").map(({ role }) => role);
  writeFileSync(
    join(copy, "tsconfig.recipes.json"),
    JSON.stringify({ extends: "./tsconfig.json", include: files }),
  );
  await runCommand("npx", ["tsc", "-p", "tsconfig.recipes.json"], { cwd: copy, env });
  await runCommand("npx", ["oxlint", ...files], { cwd: copy, env });
  expect(await runCommand("npx", ["limpet", "explain", "acme", "assistant"], { cwd: copy, env })).toContain(
    "tide_at",
  );
  await runCommand("npx", ["limpet", "validate", "--strict"], { cwd: copy, env });
});

test("AP-70: links lead to files, and nothing of the machine it was written on is in it", () => {
  expect(linkedFiles.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(linkedFiles.filter((path) => relative(root, join(root, path)).startsWith(".."))).toEqual([]);
  expect(readme).not.toMatch(/\/(home|root|tmp|work|Users)\//);
});
