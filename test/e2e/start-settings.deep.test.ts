import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { freePort, startGroup } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";

/** `npm start` while its settings are edited: wrangler ends on a file that it cannot use, and is started again (AP-70). */

let project: ProjectCopy;
let group: Group;
let port: number;
let toml: string;
let settings: string;

const isAnswering = async (): Promise<boolean> =>
  (await fetch(`http://localhost:${port}/healthz`).catch(() => null))?.ok === true;

beforeAll(async () => {
  project = copyProject({ packages: true, console: true });
  port = await freePort();
  toml = join(project.folder, "wrangler.toml");
  settings = readFileSync(toml, "utf8");
  const args = ["-s", "start", "--", "--port", String(port)];
  group = startGroup("npm", [...args, `--persist-to=${join(project.folder, ".storage")}`], {
    cwd: project.folder,
  });
});
afterAll(async () => {
  await group?.kill();
  project?.remove();
});
beforeEach(async () => {
  await group.until(
    "it serves",
    async () => (/^stop +Ctrl-C$/m.test(group.output()) && (await isAnswering())) || null,
  );
});

const back = "The server answers again.\n";
const again = "wrangler.toml has changed: the server starts again.\n";
const way = "Fix it: the server starts again after the next change of wrangler.toml or below config/.\n";

/** Writes a file as a slow editor does: wrangler reads the empty one, and ends. */
const writeSlowly = async (text: string): Promise<void> => {
  writeFileSync(toml, "");
  await group.until("the server ends", async () => ((await isAnswering()) ? null : true));
  writeFileSync(toml, text);
};

/** Waits until something new is printed, and returns all that is new. */
const awaitWords = async (from: number, words: string): Promise<string> => {
  const said = (): string => group.output().slice(from);
  await group.until(`it says ${words}`, () => said().includes(words) || null, 60_000);
  return said();
};

test("AP-70: a wrangler.toml that was read half-written costs a moment and no alarming word", async () => {
  const from = group.output().length;
  await writeSlowly(settings);
  expect(await awaitWords(from, back)).toBe(again + back);
  expect(await isAnswering()).toBe(true);
});

test("AP-70: a mistake in wrangler.toml is told with its line, and mending it brings the server back", async () => {
  const mistakes: readonly (readonly [string, string, string])[] = [
    ['watch_dir = ["config", ".limpet/console.sha256"]', 'watch_dir = ["config"', "wrangler.toml:17:"],
    [
      'main = ".limpet/default',
      '# main = ".limpet/default',
      "wrangler.toml names no entry point: main is missing",
    ],
  ];
  for (const [good, bad, cause] of mistakes) {
    const from = group.output().length;
    await writeSlowly(settings.replace(good, bad));
    const said = await awaitWords(from, way);
    expect(said.split(cause), said).toHaveLength(2);
    expect(said).not.toMatch(/Missing entry-point|Logs were written|think this is a bug/);
    const mended = group.output().length;
    writeFileSync(toml, settings);
    expect(await awaitWords(mended, back)).toBe(back);
    expect(await isAnswering()).toBe(true);
  }
});

test("AP-70: a change of a wrangler.toml that breaks nothing is told by nothing", async () => {
  const from = group.output().length;
  await writeSlowly(settings.replace("[vars]\n", '[vars]\nLIMPET_NOTE = "calm"\n'));
  expect(await awaitWords(from, back)).toBe(again + back);
});

test("AP-70: npm start has a help of its own", async () => {
  const started = startGroup("npm", ["-s", "start", "--", "--help"], { cwd: project.folder });
  expect(await started.ended).toBe(0);
  expect(started.output()).toMatch(/^npm start \[-- options\] [^]*--env <team>[^]*--port <number>/m);
});

test("AP-70: a secret that is missing since a change is told after it, once", async () => {
  const file = join(project.folder, "config/default/team.yaml");
  const team = readFileSync(file, "utf8");
  const from = group.output().length;
  const real = '  - { name: real, kind: anthropic, model: claude-sonnet-5, api_key: "${REAL_KEY}" }';
  writeFileSync(file, team.replace("providers:", `providers:\n${real}`));
  const way = "add REAL_KEY to secrets in wrangler.toml, write it into .dev.vars and start again";
  const missing = `secrets       missing: REAL_KEY; ${way}\n`;
  const built = "default was rebuilt; whatever needs REAL_KEY is refused until it is set\n";
  expect(await awaitWords(from, missing)).toContain(built + missing);
  const after = group.output().length;
  writeFileSync(file, team);
  expect(await awaitWords(after, "default was rebuilt; new sessions begin with it")).not.toContain(missing);
});

test("AP-70: a port that is no port is one sentence with the way out", async () => {
  for (const wrong of ["abc", "70000", ""]) {
    const started = startGroup("npm", ["-s", "start", "--", `--port=${wrong}`], { cwd: project.folder });
    expect(await started.ended).toBe(1);
    expect(started.output().replaceAll(/^npm warn .*\n/gm, "")).toBe(
      `--port takes a whole number from 1 to 65535, not "${wrong}"; npm start -- --port 9000 serves at that port.\n`,
    );
  }
});

test("AP-70: an argument that names nothing is one sentence with the way out, before anything starts", async () => {
  const teams = "There are assistant, default, dev-team.";
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [["assistant"], 'npm start takes no "assistant"; npm start -- --env assistant serves a team.'],
    [["--port", "9000", "acme"], 'npm start takes no "acme"; npm start -- --env acme serves a team.'],
    [["--env="], "--env needs a value; npm start -- --help lists the options."],
    [["--persist-to"], "--persist-to needs a value; npm start -- --help lists the options."],
    [
      ["--env", "Acme"],
      `"Acme" is not a team name: up to 31 lower-case letters, digits and -, beginning with a letter. ${teams}`,
    ],
    [
      ["--ip", "192.0.2.1"],
      '--ip takes an address of this machine, not "192.0.2.1"; without it the server is at localhost.',
    ],
  ];
  for (const [args, sentence] of wrong) {
    const started = startGroup("npm", ["-s", "start", "--", ...args], { cwd: project.folder });
    expect([args, await started.ended]).toEqual([args, 1]);
    expect(started.output().replaceAll(/^npm warn .*\n/gm, "")).toBe(`${sentence}\n`);
  }
});
