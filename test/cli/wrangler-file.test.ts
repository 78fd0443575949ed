import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { findTeamProblem } from "../../src/cli/serve/first-build.ts";
import { InvalidFileError } from "../../src/cli/usage.ts";
import { team } from "../config/support.ts";
import { createShippedPlace } from "../support/shipped-place.ts";
import type { ShippedPlace } from "../support/shipped-place.ts";

/** What the commands read in `wrangler.toml`: what TOML says, in any notation, and nothing that only looks like it. */

let place: ShippedPlace;
beforeEach(() => {
  place = createShippedPlace();
});
afterEach(() => place.remove());

/** Lists the toolboxes that explain calls unavailable with this file. */
const unavailable = async (toml: string): Promise<readonly string[]> => {
  place.write("config/acme/team.yaml", team().replace("[filesystem]", "[filesystem, browser]"));
  place.write("wrangler.toml", toml);
  const { lines } = await place.call("explain", "acme", "guide");
  const at = lines.indexOf("  unavailable");
  return at === -1 ? [] : lines.slice(at + 1, -1).map((line) => line.trim().split(" ")[0] ?? "");
};

const sandbox = '[env.acme]\nservices = [{ binding = "SANDBOX", service = "s" }]\n';

test("TB-5: explain names the toolboxes that the bindings of the team's environment cannot serve", async () => {
  expect(await unavailable("[env.other]\nbrowser = { binding = 'BROWSER' }\n")).toEqual([
    "filesystem",
    "browser",
  ]);
  expect(await unavailable(sandbox)).toEqual(["browser"]);
  expect(await unavailable(`${sandbox}[env.acme.browser]\nbinding = "BROWSER"\n`)).toEqual([]);
});

test("AP-70: a folder in the place of wrangler.toml is told with its name", async () => {
  rmSync(join(place.root, "wrangler.toml"));
  place.write("wrangler.toml/x", "");
  place.write("config/acme/team.yaml", team());
  const words = /^wrangler\.toml cannot be read: EISDIR/;
  expect((await place.call("validate", "acme")).lines).toEqual([expect.stringMatching(words)]);
  expect(() => findTeamProblem(place.root, "acme")).toThrow(InvalidFileError);
});

test("CF-37: new-team writes the binding of Workers AI into the environment of a team that asks its models", async () => {
  const models = team().replace("anthropic", "workers-ai").replace("api_key: ${KEY}", "binding: BRAIN");
  place.write("config/brain/team.yaml", models);
  expect((await place.call("new-team", "acme", "--from", "brain")).code).toBe(0);
  expect(place.read("wrangler.toml")).toMatch(/\nai = \{ binding = "BRAIN" \}\n$/);
});

test("a private address is no longer warned of where the operator opens it: for a deployment, or on this machine alone", async () => {
  place.write("config/acme/team.yaml", team({ provider: "    base_url: http://127.0.0.1:11434/v1" }));
  const opened = "LIMPET_PRIVATE_EGRESS='127.0.0.1:9, 127.0.0.1:11434'";
  const warnings = async (serving: boolean): Promise<number> => {
    const lines: string[] = [];
    await run(["build", "acme"], { root: place.root, print: (line) => lines.push(line), serving });
    return lines.filter((line) => line.includes("private_address")).length;
  };
  expect([await warnings(false), await warnings(true)]).toEqual([1, 1]);
  place.write(".dev.vars.acme", opened);
  expect([await warnings(false), await warnings(true)]).toEqual([1, 0]);
  place.write("wrangler.toml", `[env.acme.vars]\n${opened}\n`);
  expect([await warnings(false), await warnings(true)]).toEqual([0, 0]);
  place.write(".dev.vars.acme", "LIMPET_PRIVATE_EGRESS=127.0.0.1:9");
  expect([await warnings(false), await warnings(true)]).toEqual([0, 1]);
});

test("TB-5 CF-37: a binding in a comment or in a text is none, and one in any notation is one", async () => {
  for (const line of [
    '# browser = { binding = "BROWSER" }',
    "vars = { NOTE = 'browser = { binding = \"BROWSER\" }' }",
    'vars = { NOTE = """\nbinding = \'BROWSER\'\n""" }',
  ])
    expect([line, await unavailable(`${sandbox}${line}\n`)]).toEqual([line, ["browser"]]);
  for (const lines of ['browser.binding = "BROWSER"', '"browser" = { "binding" = \'BROWSER\' } # for pages'])
    expect([lines, await unavailable(`${sandbox}${lines}\n`)]).toEqual([lines, []]);
});

test("CF-37 AP-70: an environment is found in every notation, and not in a comment, a text or another name", () => {
  const isFound = (toml: string): boolean => {
    place.write("config/acme/team.yaml", team());
    place.write("wrangler.toml", `${toml}\n`);
    return findTeamProblem(place.root, "acme")?.startsWith("wrangler.toml has no environment") !== true;
  };
  for (const toml of [
    "[env.acme]",
    '[env."acme"]',
    "[ env . 'acme' ]",
    "[env.acme.vars]",
    "[[env.acme.services]]",
    "env.acme = {}",
    "[env]\nacme = {}",
  ])
    expect([toml, isFound(toml)]).toEqual([toml, true]);
  for (const toml of [
    "[env.acme2]",
    "# [env.acme]",
    "[acme]",
    'x = "[env.acme]"',
    'x = """\n[env.acme]\n"""',
  ])
    expect([toml, isFound(toml)]).toEqual([toml, false]);
});

test("CF-37 TB-5: the environment of a new team binds the browser that its agents use", async () => {
  expect((await place.call("new-team", "crew", "--from", "dev-team")).code).toBe(0);
  expect((await place.call("explain", "crew")).lines).not.toContain("  unavailable");
  await place.call("new-team", "acme", "--from", "assistant");
  expect(place.read("wrangler.toml").split("[env.acme]")[1]).not.toContain("browser");
});

test("CF-37: a wrangler.toml that is no TOML ends a command with its place, and nothing is changed", async () => {
  const broken = '[vars]\nA = "1\n';
  place.write("wrangler.toml", broken);
  for (const line of [
    ["validate", "default"],
    ["explain", "default"],
    ["deploy", "default", "--dry-run"],
    ["new-team", "acme"],
  ]) {
    const { code, lines } = await place.call(...line);
    expect([line, code, lines]).toEqual([
      line,
      1,
      [expect.stringMatching(/^wrangler\.toml:2:\d+ cannot be read: /)],
    ]);
  }
  expect(place.read("wrangler.toml")).toBe(broken);
});
