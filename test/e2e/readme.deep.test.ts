import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileTeam } from "../../src/config/build/compile.ts";
import { readTeamFiles } from "../../src/config/build/files.ts";
import { freePort, root, runCommand, startGroup, until } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";
import { launchChromium } from "../support/chromium.ts";
import { commandsOf, linkedFiles, pages } from "../support/readme.ts";
import type { Block } from "../support/readme.ts";

/** AP-70: the samples of README, guide and config/README, run in their order in a clean copy, as their reader would. */

let project: ProjectCopy;
let copy: string;
let port: number;
let server: Group | null = null;
/** What the last commands printed, and the variables that they set. */
let outputs: readonly string[] = [];
const variables = new Map<string, string>();

beforeAll(async () => {
  port = await freePort();
  project = copyProject({ packages: true });
  copy = project.folder;
  const settings = join(copy, "wrangler.toml");
  writeFileSync(settings, here(readFileSync(settings, "utf8")));
});
afterAll(async () => {
  await server?.kill();
  project?.remove();
});

/**
 * A text of a page for the port that is free here, without `npm ci`: whoever runs the tests has run it, as the README's
 * test command does, and it would empty the packages that the copy shares.
 */
const here = (text: string): string =>
  text.replaceAll("8787", String(port)).replaceAll(/\bnpm ci( && )?/g, "");

/** Runs a program until it ends, or until it has printed all of `lines` in order; gives what it printed. */
const printed = async (
  command: string,
  args: readonly string[],
  lines: readonly string[],
): Promise<string> => {
  const group = startGroup(command, args, { cwd: copy });
  const complete = (): boolean => lines.length > 0 && inOrder(group.output(), lines);
  const code = group.ended;
  const wanted = `${command} prints ${lines.join(", ")}`;
  await Promise.race([code, until(wanted, () => complete() || null, 110_000)]);
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

const variable = /^[A-Z]+(?==\$\()/;

/** Runs the commands of a block; those that set a variable print its value, for the commands that follow. */
const runShell = async (block: Block, next: Block | undefined): Promise<void> => {
  outputs = [];
  if (block.role === "curl") await waitForRest();
  for (const command of commandsOf(block)) {
    const known = [...variables].map(([key, value]) => `${key}=${value}\n`).join("");
    const [name] = variable.exec(command) ?? [];
    const script = `set -euo pipefail\n${known}${here(command)}${name === undefined ? "" : `\necho $${name}`}`;
    const output = await printed("bash", ["-c", script], name === undefined ? promisedLines(next) : []);
    if (name === undefined) outputs = [...outputs, output];
    else variables.set(name, output.trim());
    if (name !== undefined)
      expect(output.trim(), `${block.place} sets ${name}`).toMatch(/^[a-z]+_[a-z2-7]{26}$/);
  }
};

/** A reader is slower than the runs that the last call began. */
const waitForRest = async (): Promise<void> => {
  for (const session of [...variables.values()].filter((value) => value.startsWith("s_"))) {
    await until("the session rests", async () => {
      const answer = await fetch(`http://localhost:${port}/v1/sessions/${session}`);
      const { status } = await answer.json<{ status: string }>();
      return status === "running" ? null : true;
    });
  }
};

const startServer = async ({ text }: Block): Promise<void> => {
  await server?.kill();
  const group = startGroup("bash", ["-c", here(text)], { cwd: copy });
  server = group;
  await group.until("the server answers", () => /^stop +Ctrl-C$/m.test(group.output()) || null, 200_000);
  const page = await fetch(`http://localhost:${port}/console`);
  expect([page.status, page.headers.get("Content-Type")]).toEqual([200, "text/html; charset=utf-8"]);
  const [, team = "default"] = /--env (\w+)/.exec(text) ?? [];
  expect(existsSync(join(copy, ".wrangler/state", team)), "each team keeps its own sessions").toBe(true);
};

/** A value with its random ids reduced to their kind. */
const withoutIds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(/\b([a-z]+_)[a-z2-7]{26}\b/g, "$1")) as unknown;

const runScript = async ({ text }: Block, next: Block | undefined): Promise<void> => {
  const constants = [...variables].map(([name, value]) => `const ${name} = "${value}";\n`).join("");
  const args = ["--input-type=module", "-e", here(constants + text)];
  outputs = [await printed(process.execPath, args, promisedLines(next))];
};

const checkTeam = ({ text, place }: Block): void => {
  const providers = text.includes("providers:")
    ? ""
    : "providers: [{ name: p, kind: openai, model: gpt-6.1-terra }]\n";
  const [, server] = /^mcp_servers:\n {2}- name: (\w+)$/m.exec(text) ?? [];
  const toolboxes = server === undefined ? "" : `, toolboxes: [${server}]`;
  const agents = text.includes("agents:") ? "" : `agents: [{ name: helper${toolboxes} }]\n`;
  const { team, diagnostics } = compileTeam(new Map([["team.yaml", providers + agents + text]]), {
    name: "acme",
  });
  // Of a private address the build warns, as the text around it says.
  expect([place, diagnostics.filter(({ code }) => code !== "private_address")]).toEqual([place, []]);
  expect(team?.agents).toHaveLength(1);
};

const runBlock = async (block: Block, next: Block | undefined): Promise<void> => {
  const { language, role, text } = block;
  switch (`${language} ${role}`.trim()) {
    case "sh start":
      return startServer(block);
    case "sh":
    case "sh curl":
      return runShell(block, next);
    case "sh recipe": // http.test.ts and mcp.deep.test.ts run them, with servers on loopback.
    case "sh account":
      return void (await runCommand("bash", ["-n", "-c", text]));
    case "sh page":
      return expect(text).toBe("npm run build && npx vite page\n");
    case "sh test":
      return expect(text).toBe("npm ci && npm test\n");
    case "json":
      return expect(withoutIds(JSON.parse(outputs.at(-1) ?? ""))).toMatchObject(
        withoutIds(JSON.parse(text)) as object,
      );
    case "js":
      return runScript(block, next);
    case "text":
      return expect(inOrder(outputs.join("\n"), text.trim().split("\n")), outputs.join("\n")).toBe(true);
    case "text picture":
      return;
    case "text tree":
      return checkTree(text);
    case "yaml":
      return checkTeam(block);
    default:
      if (!/^[\w/.-]+\.(ts|m?js|html|md)$/.test(role))
        throw new Error(`${block.place}: nobody knows how to run "${language} ${role}"`);
      mkdirSync(dirname(join(copy, role)), { recursive: true });
      writeFileSync(join(copy, role), here(text));
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

/** The guide goes on where the README's first calls end, before its reader makes a team. */
const { readme, guide, teams, code } = pages;
const turn = readme.blocks.findIndex(({ text }) => text.includes("limpet new-team"));
const blocks: readonly Block[] = [
  ...readme.blocks.slice(0, turn),
  ...guide.blocks,
  ...readme.blocks.slice(turn),
  ...teams.blocks,
  ...code.blocks,
];

describe("AP-70 AP-71: the samples do what they say", () => {
  const cases = blocks.map(
    (block, index) => [block.place, `${block.language} ${block.role}`, block, index] as const,
  );
  test.each(cases)("%s: %s", async (_place, _name, block, index) => {
    if (block.text.includes("npm start -- --env acme"))
      writeFileSync(join(copy, ".dev.vars.acme"), "ANTHROPIC_API_KEY=sk-not-used\n");
    await runBlock(block, blocks[index + 1]);
  });
});

test("AP-71 CF-20: the new team serves its own agent with the secrets of .dev.vars.acme", async () => {
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`http://localhost:${port}${path}`)).json();
  expect(await get("/readyz")).toEqual({ ready: true, missing_secrets: [], sandbox: "connected" });
  expect(await get("/v1/agents")).toMatchObject({ data: [{ name: "assistant" }] });
});

test("CF-6 CF-1: the files of the samples compile, and the team passes strictly", async () => {
  const include = blocks.map(({ role }) => role).filter((role) => role.endsWith(".ts"));
  expect(include.length).toBeGreaterThan(3);
  writeFileSync(join(copy, "tsconfig.samples.json"), JSON.stringify({ extends: "./tsconfig.json", include }));
  await runCommand("npx", ["tsc", "-p", "tsconfig.samples.json"], { cwd: copy });
  await runCommand("npx", ["limpet", "validate", "--strict"], { cwd: copy });
  const { skills } = compileTeam(readTeamFiles(copy, "acme"), { name: "acme" }).draft ?? {};
  expect(skills).toMatchObject([{ name: "tides", description: "How to read the tide tables." }]);
});

test("AP-70 AP-51: the README's page talks through its Vite line, and another origin is told of that line", async () => {
  await runCommand("npm", ["run", "-s", "build"], { cwd: copy });
  const own = await freePort();
  const vite = startGroup("npx", ["vite", "page", "--port", String(own), "--strictPort"], { cwd: copy });
  const browser = await launchChromium();
  try {
    await vite.until("vite serves", () => /Local:/.test(vite.output()) || null);
    const origin = `http://localhost:${own}`;
    const page = await browser.newPage();
    await page.goto(origin);
    await page.waitForFunction("document.querySelector('form').onsubmit !== null");
    await page.locator("input").fill("Is anybody there?");
    await page.locator("input").press("Enter");
    await page.locator("pre", { hasText: "Is anybody there?" }).waitFor();
    await page.reload();
    await page.locator("pre", { hasText: "Is anybody there?" }).waitFor();
    const direct = await fetch(`http://localhost:${port}/v1/agents`, { headers: { Origin: origin } });
    const { detail } = await direct.json<{ detail: string }>();
    const { text = "" } = guide.blocks.find(({ role }) => role === "page/vite.config.mjs") ?? {};
    const [line = "none"] = /server: .*(?= };)/.exec(here(text)) ?? [];
    expect([direct.status, detail]).toEqual([403, expect.stringContaining(line)]);
  } finally {
    await browser.close();
    await vite.kill();
  }
});

test("AP-70: links lead to files, and nothing of the machine they were written on is in the pages", () => {
  for (const page of Object.values(pages)) {
    const linked = linkedFiles(page);
    expect(linked.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(linked.filter((path) => relative(root, join(root, path)).startsWith(".."))).toEqual([]);
    expect(page.text).not.toMatch(/\/(home|root|tmp|work|Users)\//);
  }
});
