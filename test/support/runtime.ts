import { join } from "node:path";
import type { BuiltTeam } from "./built-team.ts";
import { compiled, freePort, newStorage, startGroup, superviseServer } from "./dev-server.ts";
import type { DevServer } from "./dev-server.ts";

interface RuntimeOptions {
  readonly team: BuiltTeam;
  readonly vars?: Readonly<Record<string, string>>;
}

/**
 * Serves a built team by the runtime that `wrangler dev` starts, configured as wrangler configures it, on a free port and
 * fresh storage. Wrangler itself is left out: reading its code and its proxy are the larger half of what a start costs.
 */
export const startRuntime = async ({ team, vars = {} }: RuntimeOptions): Promise<DevServer> => {
  const [port, storage] = [await freePort(), newStorage()];
  const spec = JSON.stringify({ workers: team.workers(vars), port, storage });
  const script = join(import.meta.dirname, "runtime-process.ts");
  return superviseServer({
    port,
    storage,
    launch: (onOutput) => startGroup(process.execPath, [script, spec], { env: compiled, onOutput }),
  });
};
