import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { startGroup } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import { pages } from "../support/readme.ts";

/** The tests of a team that was just made, run as its developer runs them. */

const project = copyProject({ packages: true, console: true });
afterAll(() => project.remove());

const runProgram = async (command: string, ...args: readonly string[]) => {
  const group = startGroup(command, args, { cwd: project.folder });
  return { code: await group.ended, output: group.output() };
};

test("CF-37 CF-1: what new-team copies as a test holds for another team file; a test that fails tells of the run", async () => {
  const made = await runProgram("npx", "limpet", "new-team", "acme", "--from", "assistant");
  expect(made.code, made.output).toBe(0);
  const { text = "" } = pages.readme.blocks.find(({ language }) => language === "yaml") ?? {};
  const yaml = text.replace("[filesystem, exec, search]", "[ask]");
  expect(yaml).not.toBe(text);
  const acme = join(project.folder, "config/acme");
  writeFileSync(join(acme, "team.yaml"), yaml);
  writeFileSync(
    join(acme, "wrong.test.ts"),
    `import { openSession } from "limpet/testing";
import { expect, test } from "vitest";

test("a run without a key completes", async () => {
  const session = await openSession(import.meta.dirname, { script: { replies: [{ fail: [{ status: 401 }] }] } });
  await session.send("Hello.");
  expect(session.eventsOf("run_end").map(({ state }) => state)).toEqual(["completed"]);
});
`,
  );
  const { code, output } = await runProgram("npm", "run", "unit", "--", "config/acme");
  expect(code, output).toBe(1);
  expect(output).toMatch(/✓.* config\/acme\/team\.test\.ts/);
  expect(output).toMatch(
    /^the run failed \(provider_auth\): .+\nwhat failed:\n\d+ error provider_auth: .+\nthe last events:\n(\d+ .+\n)+\d+ \S+ run_end failed /m,
  );
});
