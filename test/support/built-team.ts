import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compileTeam } from "../../src/config/compile.ts";
import { buildFiles } from "../../src/config/emit.ts";
import { root, runWrangler } from "./dev-server.ts";

/** A test's own team as the bundles that would be deployed: its Worker and the sandbox's, ready for `wrangler dev`. */

const sandboxConfig = join(root, "src/sandbox/worker/wrangler.toml");

/** The product's configuration for another entry: no environments, nothing built by command. */
const configFor = (main: string, more: string): string =>
  readFileSync(join(root, "wrangler.toml"), "utf8")
    .replace(/\n#[^\n]*\n\[env\.[\s\S]*$/, "\n")
    .replace(/\n\[build\][\s\S]*?(?=\n\[)/, "\n")
    .replace(/^main = .*$/m, `main = ${JSON.stringify(main)}${more}`);

const bundled = async (config: string, folder: string): Promise<void> => {
  await runWrangler(["deploy", "--dry-run", "-c", config, "--outdir", folder]);
};

/** Writes `.limpet/e2e-<team>/` from `test/e2e/teams/<team>/`. */
const compiled = async (team: string): Promise<string> => {
  const source = join(root, "test/e2e/teams", team);
  const extended = readdirSync(source).includes("extensions.ts");
  const path = join(source, "extensions.ts");
  const exports = extended ? ((await import(pathToFileURL(path).href)) as Record<string, unknown>) : {};
  const result = await compileTeam(new Map([["team.yaml", readFileSync(join(source, "team.yaml"))]]), {
    name: team,
    ...(extended ? { extensions: { exports: { ...exports } } } : {}),
  });
  const files = buildFiles(result, extended);
  if (files === null) throw new Error(JSON.stringify(result.diagnostics, null, 2));
  const folder = join(root, ".limpet", `e2e-${team}`);
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of files) {
    writeFileSync(
      join(folder, name),
      content.replace(`../../config/${team}/`, `../../test/e2e/teams/${team}/`),
    );
  }
  writeFileSync(join(folder, "wrangler.toml"), configFor("worker.js", ""));
  return folder;
};

export interface BuiltTeam {
  /** Configurations for `wrangler dev`, the team's first. */
  readonly configs: readonly string[];
  readonly remove: () => void;
}

/** Bundles the team `test/e2e/teams/<team>/` and the sandbox as `wrangler deploy` would. */
export const buildTestTeam = async (team: string): Promise<BuiltTeam> => {
  const source = await compiled(team);
  const folder = mkdtempSync(join(tmpdir(), `limpet-${team}-`));
  const [own, sandbox] = [join(folder, "team"), join(folder, "sandbox")];
  await bundled(join(source, "wrangler.toml"), own);
  await bundled(sandboxConfig, sandbox);
  const ready = "\nno_bundle = true";
  writeFileSync(join(own, "wrangler.toml"), configFor("worker.js", ready));
  const text = readFileSync(sandboxConfig, "utf8").replace(/^main = .*$/m, `main = "index.js"${ready}`);
  writeFileSync(join(sandbox, "wrangler.toml"), text);
  rmSync(source, { recursive: true, force: true });
  return {
    configs: [join(own, "wrangler.toml"), join(sandbox, "wrangler.toml")],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
