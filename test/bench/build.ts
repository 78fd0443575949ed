import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { compileTeam } from "../../src/config/build/compile.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { root, runWrangler } from "./server.ts";
import type { Side } from "./table.ts";
import * as extensions from "./team/extensions.ts";

/** Builds the bench's Worker from its team folder with the product's own compiler. */

const rootConfig = readFileSync(join(root, "wrangler.toml"), "utf8");
const classes = [...rootConfig.matchAll(/^\[exports\.(\w+)\]$/gm)].map(([, name]) => name);

const importLine = (what: string, path: string): string =>
  `import ${what} from ${JSON.stringify(join(import.meta.dirname, path))};\n`;

const workerText = `${importLine("{ benchWorker }", "limpet/worker.ts")}${importLine("* as extensions", "team/extensions.ts")}
import team from "./team.js";
const { router, ...classes } = benchWorker(team, extensions);
export default router;
export const { ${classes.join(", ")} } = classes;
`;

const configText = `name = "bench-limpet"
main = "worker.js"
compatibility_date = "2026-11-01"
compatibility_flags = ["enable_request_signal", "global_fetch_strictly_public", "nodejs_compat_do_not_populate_process_env"]
send_metrics = false
keep_names = false
${classes.map((name) => `[exports.${name}]\ntype = "durable-object"\nstorage = "sqlite"\n`).join("\n")}`;

/**
 * Bundles a Worker once, into a folder of this run alone, and gives the config that runs the bundle. Wrangler reloads a
 * bundle that anybody touches (another build, a hard link to it), and a reload replaces the process under measurement.
 */
const bundle = async (config: string, out: string): Promise<string> => {
  await runWrangler(["deploy", "--dry-run", "-c", config, "--outdir", out]);
  const main = basename(/^main = "(.*)"$/m.exec(readFileSync(config, "utf8"))?.[1] ?? "").replace(
    /\.ts$/,
    ".js",
  );
  const text = readFileSync(config, "utf8").replace(/^main = .*$/m, `main = "${main}"\nno_bundle = true`);
  const path = join(out, "wrangler.toml");
  writeFileSync(path, text);
  return path;
};

/** The floor's bundle. */
const buildFloor = (folder: string): Promise<string> =>
  bundle(join(import.meta.dirname, "floor/wrangler.toml"), join(folder, "floor"));

/** The product's bundle, with the bench's team. */
const buildLimpet = async (folder: string): Promise<string> => {
  const yaml = readFileSync(join(import.meta.dirname, "team/team.yaml"));
  const compiled = compileTeam(new Map([["team.yaml", yaml]]), {
    name: "bench",
    extensions: { exports: { ...extensions } },
  });
  const team = buildFiles(compiled, false)?.get("team.js");
  if (team === undefined) throw new Error(JSON.stringify(compiled.diagnostics, null, 2));
  writeFileSync(join(folder, "team.js"), team);
  writeFileSync(join(folder, "worker.js"), workerText);
  writeFileSync(join(folder, "wrangler.toml"), configText);
  return bundle(join(folder, "wrangler.toml"), join(folder, "limpet"));
};

/** Builds one side's bundle into a folder; gives the path of its config. */
export const buildSide: Readonly<Record<Side, (folder: string) => Promise<string>>> = {
  floor: buildFloor,
  limpet: buildLimpet,
};
