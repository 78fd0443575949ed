import { hash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { compileFolder } from "../../src/cli/compile.ts";
import { bundleExtensions } from "../../src/cli/extensions/bundle.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { root, runWrangler } from "./dev-server.ts";

/** A team as the bundles that would be deployed: its Worker and the sandbox's, ready to be served. */

/** Names the variable with the folder of what all files of a run share. */
export const sharedBundles = "LIMPET_TEST_BUNDLES";

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

const bundle = async (config: string, folder: string): Promise<void> => {
  await runWrangler(["deploy", "--dry-run", "-c", config, "--outdir", folder]);
};

/**
 * What is bundled already stands behind a file of two lines: wrangler parses a Worker's main file at each start, and that
 * of a whole bundle takes a second.
 */
const writeMain = (folder: string, module: string, config: string): void => {
  const main = `main = "main.js"\nno_bundle = true\nfind_additional_modules = true\nrules = [{ type = "ESModule", globs = ["${module}"] }]`;
  writeFileSync(
    join(folder, "main.js"),
    `export * from "./${module}";\nexport { default } from "./${module}";\n`,
  );
  writeFileSync(join(folder, "wrangler.toml"), config.replace(/^main = .*$/m, main));
};

/** What the runtime is told of a Worker, as JSON. */
type WorkerOptions = Readonly<Record<string, unknown>>;

/** Reads a bundle's configuration as `wrangler dev` reads it. */
const readOptions = async (folder: string, module: string): Promise<WorkerOptions> => {
  const { unstable_getMiniflareWorkerOptions: read } = await import("wrangler");
  const config = join(folder, "wrangler.toml");
  const [, name] = /^name = "(.*)"$/m.exec(readFileSync(config, "utf8")) ?? [];
  const modules = [{ type: "ESModule", path: join(folder, module) }];
  // Rules choose modules among files; here the one is named.
  return { ...read(config).workerOptions, modulesRules: undefined, name, modules, modulesRoot: folder };
};

const optionsFile = "options.json";

/** What does not depend on a team: the sandbox's bundle, as `wrangler deploy` would make it, and what wrangler makes of the configurations. */
export const bundleShared = async (folder: string): Promise<void> => {
  const [entry, sandbox] = [join(folder, "entry"), join(folder, "sandbox")];
  const sandboxConfig = join(root, "src/sandbox/worker/wrangler.toml");
  await bundle(sandboxConfig, sandbox);
  writeMain(sandbox, "index.js", withoutBuild(sandboxConfig));
  mkdirSync(entry);
  writeMain(entry, "worker.js", configFor("main.js"));
  const options = [await readOptions(entry, "worker.js"), await readOptions(sandbox, "index.js")];
  writeFileSync(join(folder, optionsFile), JSON.stringify(options));
};

/** Takes the folder that all files of a run share, or makes one where there is no such run. */
const placeShared = async (folder: string): Promise<string> => {
  const shared = process.env[sharedBundles];
  if (shared !== undefined) return shared;
  mkdirSync(folder);
  await bundleShared(folder);
  return folder;
};

/** Folders that hold `config/<team>/`: the tests' own teams, and the shipped ones. */
const homes: Readonly<Record<string, string>> = { test: join(root, "test/e2e"), shipped: root };

/** Compiles a team into its built files, by name. */
const compile = async (
  team: string,
  place: string,
  edit: (text: string) => string,
): Promise<ReadonlyMap<string, string>> => {
  const result = await compileFolder(place, team, true);
  const isExtended = result.extensions !== undefined;
  const files = buildFiles(result, isExtended);
  if (files === null) throw new Error(JSON.stringify(result.diagnostics, null, 2));
  const folder = mkdtempSync(join(root, ".limpet", `e2e-${team}-`));
  const bundled = isExtended ? await bundleExtensions(place, team, folder) : { files: [] };
  rmSync(folder, { recursive: true, force: true });
  if (!("files" in bundled)) throw new Error(JSON.stringify(bundled.diagnostics, null, 2));
  return new Map([...files, ...bundled.files].map(([name, content]) => [name, edit(content)]));
};

/** Bundles built files in a folder of their own in `.limpet/`, since they name the product's files from there. */
const bundleFiles = async (files: ReadonlyMap<string, string>, out: string): Promise<void> => {
  const source = mkdtempSync(join(root, ".limpet", "e2e-"));
  for (const [name, content] of files) writeFileSync(join(source, name), content);
  writeFileSync(join(source, "wrangler.toml"), configFor("worker.js"));
  await bundle(join(source, "wrangler.toml"), out);
  rmSync(source, { recursive: true, force: true });
};

/** Bundles built files once for all files of a run; whoever comes second while the first still bundles does it, too. */
const bundleOnce = async (files: ReadonlyMap<string, string>, shared: string, out: string): Promise<void> => {
  const kept = join(shared, hash("sha256", JSON.stringify([...files])));
  if (!existsSync(kept)) {
    const fresh = mkdtempSync(join(shared, "fresh-"));
    await bundleFiles(files, fresh);
    try {
      renameSync(fresh, kept);
    } catch (error) {
      if (!existsSync(kept)) throw error;
    }
  }
  cpSync(kept, out, { recursive: true });
};

export interface BuiltTeam {
  /** Configurations for `wrangler dev`, the team's first. */
  readonly configs: readonly string[];
  /** What the runtime is told of both Workers, the team's first, where these variables are set for it. */
  readonly workers: (vars: Readonly<Record<string, string>>) => readonly WorkerOptions[];
  /** Builds the team's folder as it is now, for the next start of a server. */
  readonly rebuild: () => Promise<void>;
  readonly remove: () => void;
}

interface BuildOptions {
  /** Added to the team's configuration for `wrangler dev`. */
  readonly bindings?: string;
  /** Changes the built files, for what is known only when the test runs. */
  readonly edit?: (text: string) => string;
}

/** Bundles a team as `wrangler deploy` would, with the sandbox beside it; `home` is `test`, `shipped`, or any folder that holds `config/<team>/`. */
export const buildTestTeam = async (
  team: string,
  home = "test",
  { bindings = "", edit = (text) => text }: BuildOptions = {},
): Promise<BuiltTeam> => {
  const place = homes[home] ?? home;
  const folder = mkdtempSync(join(tmpdir(), `limpet-${team}-`));
  const own = join(folder, "team");
  const shared = await placeShared(join(folder, "shared"));
  const rebuild = async (): Promise<void> => bundleOnce(await compile(team, place, edit), shared, own);
  await rebuild();
  writeMain(own, "worker.js", configFor("main.js") + bindings);
  const [entry, sandbox] = JSON.parse(readFileSync(join(shared, optionsFile), "utf8")) as [
    WorkerOptions & { readonly bindings: object },
    WorkerOptions,
  ];
  const modules = [{ type: "ESModule", path: join(own, "worker.js") }];
  return {
    configs: [join(own, "wrangler.toml"), join(shared, "sandbox/wrangler.toml")],
    workers: (vars) => [
      { ...entry, bindings: { ...entry.bindings, ...vars }, modules, modulesRoot: own },
      sandbox,
    ],
    rebuild,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
};

/** A team of one file. */
export interface TeamFile extends BuiltTeam {
  /** Writes and builds another file in its place, as a deploy does. */
  readonly deploy: (yaml: string) => Promise<void>;
}

/** Builds a team from the text of its team file alone. */
export const buildTeamFile = async (yaml: string): Promise<TeamFile> => {
  const home = mkdtempSync(join(tmpdir(), "limpet-home-"));
  const file = join(home, "config/team/team.yaml");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, yaml);
  const built = await buildTestTeam("team", home);
  return {
    ...built,
    deploy: (next) => {
      writeFileSync(file, next);
      return built.rebuild();
    },
    remove: () => {
      built.remove();
      rmSync(home, { recursive: true, force: true });
    },
  };
};
