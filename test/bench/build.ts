import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { compileTeam } from "../../src/config/build/compile.ts";
import { buildFiles } from "../../src/config/build/emit.ts";
import { root, runWrangler } from "./server.ts";
import * as extensions from "./team/extensions.ts";

/** Builds the bench's Worker from its team folder with the product's own compiler. */

const workerText = `import { benchWorker } from "../../test/bench/limpet/worker.ts";
import * as extensions from "../../test/bench/team/extensions.ts";
import team from "./team.js";
const { router, ...classes } = benchWorker(team, extensions);
export default router;
export const { SessionObject, TeamObject, ProviderGate } = classes;
`;

const configText = `name = "bench-limpet"
main = "worker.js"
compatibility_date = "2026-11-01"
compatibility_flags = ["global_fetch_strictly_public", "nodejs_compat_do_not_populate_process_env"]
send_metrics = false
keep_names = false
${["SessionObject", "TeamObject", "ProviderGate"]
  .map((name) => `[exports.${name}]\ntype = "durable-object"\nstorage = "sqlite"\n`)
  .join("\n")}`;

/** Bundles a Worker once, so that nobody's edit restarts it while it is measured; gives the config that runs the bundle. */
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
export const buildFloor = (): Promise<string> =>
  bundle(join(import.meta.dirname, "floor/wrangler.toml"), join(root, ".limpet/bench/floor"));

/** The product's bundle, with the bench's team. */
export const buildLimpet = async (): Promise<string> => {
  const yaml = readFileSync(join(import.meta.dirname, "team/team.yaml"));
  const compiled = compileTeam(new Map([["team.yaml", yaml]]), {
    name: "bench",
    extensions: { exports: { ...extensions } },
  });
  const team = buildFiles(compiled, false)?.get("team.js");
  if (team === undefined) throw new Error(JSON.stringify(compiled.diagnostics, null, 2));
  const folder = join(root, ".limpet/bench");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "team.js"), team);
  writeFileSync(join(folder, "worker.js"), workerText);
  writeFileSync(join(folder, "wrangler.toml"), configText);
  return bundle(join(folder, "wrangler.toml"), join(folder, "limpet"));
};
