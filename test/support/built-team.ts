import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileFolder } from "../../src/cli/compile.ts";
import { bundleExtensions } from "../../src/cli/extensions/bundle.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { root, runWrangler } from "./dev-server.ts";

/** A team as the bundles that would be deployed: its Worker and the sandbox's, ready for `wrangler dev`. */

/** Names the variable with the folder of the sandbox's bundle. */
export const sharedSandbox = "LIMPET_TEST_SANDBOX";

const sandboxConfig = join(root, "src/sandbox/worker/wrangler.toml");

/** A configuration in which nothing is built by command, and no secret is missed: wrangler starts a bundler to say so. */
const withoutBuild = (path: string): string =>
  readFileSync(path, "utf8").replaceAll(/\n\[(?:build|secrets)\][\s\S]*?(?=\n\[)/g, "\n");

/** The product's configuration for another entry, without environments. */
const configFor = (main: string): string =>
  withoutBuild(join(root, "wrangler.toml"))
    .replace(/\n#[^\n]*\n\[env\.[\s\S]*$/, "\n")
    .replace(
      /^directory = (".*")$/m,
      (_, folder) => `directory = ${JSON.stringify(join(root, JSON.parse(folder)))}`,
    )
    .replace(/^main = .*$/m, `main = ${JSON.stringify(main)}`);

const bundled = async (config: string, folder: string): Promise<void> => {
  await runWrangler(["deploy", "--dry-run", "-c", config, "--outdir", folder]);
};

/** Folders that hold `config/<team>/`: the tests' own teams, and the shipped ones. */
const homes = { test: "test/e2e", shipped: "." } as const;

/** Writes a folder of its own in `.limpet/`: two files may need the same team at once. */
const compiled = async (
  team: string,
  home: keyof typeof homes,
  edit: (text: string) => string,
): Promise<string> => {
  const place = join(root, homes[home]);
  const result = await compileFolder(place, team);
  const isExtended = result.extensions !== undefined;
  const files = buildFiles(result, isExtended);
  if (files === null) throw new Error(JSON.stringify(result.diagnostics, null, 2));
  mkdirSync(join(root, ".limpet"), { recursive: true });
  const folder = mkdtempSync(join(root, ".limpet", `e2e-${team}-`));
  const bundled = isExtended ? await bundleExtensions(place, team, folder) : { files: [] };
  if (!("files" in bundled)) throw new Error(JSON.stringify(bundled.diagnostics, null, 2));
  for (const [name, content] of [...files, ...bundled.files]) {
    writeFileSync(join(folder, name), edit(content));
  }
  writeFileSync(join(folder, "wrangler.toml"), configFor("worker.js"));
  return folder;
};

export interface BuiltTeam {
  /** Configurations for `wrangler dev`, the team's first. */
  readonly configs: readonly string[];
  readonly remove: () => void;
}

interface BuildOptions {
  /** Added to the team's configuration. */
  readonly bindings?: string;
  /** Changes the built files, for what is known only when the test runs. */
  readonly edit?: (text: string) => string;
}

/**
 * What is bundled already stands behind a file of two lines: wrangler parses a Worker's main file at each start, and that
 * of a whole bundle takes a second.
 */
const bundledMain = (bundle: string): string =>
  `main = "main.js"\nno_bundle = true\nfind_additional_modules = true\nrules = [{ type = "ESModule", globs = ["${bundle}"] }]`;

const writeMain = (folder: string, bundle: string, config: string): void => {
  writeFileSync(
    join(folder, "main.js"),
    `export * from "./${bundle}";\nexport { default } from "./${bundle}";\n`,
  );
  writeFileSync(join(folder, "wrangler.toml"), config.replace(/^main = .*$/m, bundledMain(bundle)));
};

/** Bundles the sandbox as `wrangler deploy` would. */
export const bundleSandbox = async (folder: string): Promise<void> => {
  await bundled(sandboxConfig, folder);
  writeMain(folder, "index.js", withoutBuild(sandboxConfig));
};

/** Takes the bundle that all files of a run share, or makes one where there is no such run. */
const placeSandbox = async (folder: string): Promise<void> => {
  const shared = process.env[sharedSandbox];
  if (shared === undefined) await bundleSandbox(folder);
  else cpSync(shared, folder, { recursive: true });
};

/** Bundles a team as `wrangler deploy` would, with the sandbox beside it. */
export const buildTestTeam = async (
  team: string,
  home: keyof typeof homes = "test",
  { bindings = "", edit = (text) => text }: BuildOptions = {},
): Promise<BuiltTeam> => {
  const source = await compiled(team, home, edit);
  const folder = mkdtempSync(join(tmpdir(), `limpet-${team}-`));
  const [own, sandbox] = [join(folder, "team"), join(folder, "sandbox")];
  await Promise.all([bundled(join(source, "wrangler.toml"), own), placeSandbox(sandbox)]);
  writeMain(own, "worker.js", configFor("main.js") + bindings);
  rmSync(source, { recursive: true, force: true });
  return {
    configs: [join(own, "wrangler.toml"), join(sandbox, "wrangler.toml")],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};
