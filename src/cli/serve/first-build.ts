import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { listTeams, teamFolder, teamNameProblem } from "../../config/build/files.ts";
import { findEntryProblem, findEnvironment, readWranglerFile } from "../bindings.ts";

/** Ensures that wrangler begins with a built team: it ends at once if its first build fails. */

/** Milliseconds that a build waits for the last write, since editors write a file in several steps. */
const settleMs = 100;

/** Builds a team in a separate process, which loads changed extensions again; returns its output if it failed. */
const buildTeam = async (root: string, team: string): Promise<string | null> => {
  const child = spawn(process.execPath, [join(root, "src/cli/main.ts"), "build", team], { cwd: root });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0 ? null : output.trim();
};

/** Returns why a team cannot be served; null if it can. */
export const findTeamProblem = (root: string, team: string): string | null => {
  const teams = listTeams(root);
  const misnamed = teamNameProblem(team);
  if (misnamed !== null) return `${misnamed}. There are ${teams.join(", ")}.`;
  if (!teams.includes(team))
    return `There is no team ${team}. There are ${teams.join(", ")}; npx limpet new-team ${team} creates it.`;
  const toml = readWranglerFile(root);
  if (team === "default" || findEnvironment(toml, team) !== null) return findEntryProblem(toml, team);
  return `wrangler.toml has no environment ${team}; npx limpet deploy ${team} --dry-run prints one to add.`;
};

/**
 * Builds a team that was never built: prints what is wrong with it and waits for the next change as often as it takes.
 * A team with a build needs none here: wrangler builds it, and goes on with the last good build.
 */
export const awaitFirstBuild = async (
  root: string,
  team: string,
  print: (line: string) => void,
): Promise<void> => {
  if (existsSync(join(root, ".limpet", team, "worker.js"))) return;
  print(`Building ${team} …`);
  for (;;) {
    // A recursive watcher loses a file that an editor replaces by a new one, so each round has a watcher of its own.
    const watcher = watch(teamFolder(root, team), { recursive: true });
    const changed = once(watcher, "change");
    const fault = await buildTeam(root, team);
    if (fault !== null) {
      print(`${fault}\nFix it: the server starts once config/${team} is valid.`);
      await changed;
    }
    watcher.close();
    if (fault === null) return;
    await setTimeout(settleMs);
  }
};
