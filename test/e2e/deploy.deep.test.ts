import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { environmentText } from "../../src/cli/new-team.ts";
import { readTeamFiles } from "../../src/config/build/files.ts";
import { compileTeam } from "../../src/config/build/compile.ts";
import { root, runWrangler } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";

/** What `wrangler deploy` would upload for each team. */

const folder = mkdtempSync(join(tmpdir(), "limpet-deploy-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One with an environment and one without; the third differs from them in its team file alone. */
const teams = ["assistant", "default"];

/** The text by which a team is known: its agents' instructions. */
const marks = async (team: string): Promise<readonly string[]> => {
  const compiled = compileTeam(readTeamFiles(root, team), { name: team });
  return (compiled.team?.agents ?? []).map(({ instructions }) => instructions.trim().slice(0, 60));
};

const bundles = new Map<string, string>();
beforeAll(async () => {
  for (const team of teams) {
    const target = join(folder, team);
    const environment = team === "default" ? "" : team;
    await runWrangler(["deploy", "--dry-run", "--minify", `--env=${environment}`, "--outdir", target], {
      cwd: root,
    });
    bundles.set(team, readFileSync(join(target, "worker.js"), "utf8"));
  }
});

describe.each(teams)("the bundle of %s", (team) => {
  test("CF-3 AP-71: holds its own team and no other", async () => {
    const bundle = bundles.get(team) ?? "";
    for (const mark of await marks(team)) expect(bundle).toContain(JSON.stringify(mark).slice(1, -1));
    for (const other of teams.filter((name) => name !== team)) {
      for (const mark of await marks(other)) expect(bundle).not.toContain(JSON.stringify(mark).slice(1, -1));
    }
  });

  test("CF-2: holds no YAML parser and nothing that evaluates text", () => {
    const bundle = bundles.get(team) ?? "";
    expect(bundle).not.toMatch(/tag:yaml\.org,2002|YAMLParseError|YAMLMap/);
    expect(bundle).not.toMatch(/\bnew Function\(|\beval\(/);
  });

  test("RE-L12: is one module of at most 600 KB, compressed", () => {
    const files = readdirSync(join(folder, team)).filter((name) => /\.(m?js|wasm)$/.test(name));
    expect(files).toEqual(["worker.js"]);
    expect(gzipSync(bundles.get(team) ?? "").byteLength).toBeLessThanOrEqual(600 * 1024);
  });
});

test("TB-1: no Worker finds its bindings in process.env, in no environment, a new team's neither", () => {
  const config = join(folder, "wrangler.toml");
  const made = environmentText("acme", { draft: null, secrets: {} });
  writeFileSync(config, readFileSync(join(root, "wrangler.toml"), "utf8") + made);
  const flagsOf = (file: string, env?: string): unknown =>
    unstable_readConfig({ config: file, ...(env === undefined ? {} : { env }) }).compatibility_flags;
  const shared = ["global_fetch_strictly_public", "nodejs_compat_do_not_populate_process_env"];
  expect(flagsOf(join(root, "src/sandbox/worker/wrangler.toml"))).toEqual(shared);
  for (const env of [undefined, "acme", ...teams.filter((name) => name !== "default")])
    expect(flagsOf(config, env), env).toEqual(["enable_request_signal", ...shared]);
});

test("CF-3: a mistake in the team stops the deploy with its place, a sentence and a suggestion", async () => {
  const copy = copyProject({ packages: true, console: true });
  try {
    const file = join(copy.folder, "config/assistant/team.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("toolboxes:", "toolboxs:"));
    const deploy = runWrangler(["deploy", "--dry-run", "--env=assistant"], { cwd: copy.folder });
    await expect(deploy).rejects.toThrow(
      /config\/assistant\/team\.yaml:\d+:\d+ error unknown_key agents\[0\]\.toolboxs: [\s\S]*toolboxes/,
    );
  } finally {
    copy.remove();
  }
});
