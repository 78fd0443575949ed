import { fieldsOf, parseJson } from "../../chat/json.ts";
import { listTeams } from "../../config/build/files.ts";
import { hasErrors } from "../../config/document/diagnostics.ts";
import { secretCommand } from "../../config/document/references.ts";
import {
  findEntryProblem,
  findEnvironment,
  readBindings,
  readDeclaredNames,
  readObjectNames,
  readSandboxName,
  readWranglerFile,
} from "../bindings.ts";
import type { WranglerFile } from "../bindings.ts";
import type { Team } from "../../config/team.ts";
import { createEngine } from "../../engine/create.ts";
import type { CreateKey } from "../../engine/access/key-store.ts";
import { compileTypedFolder, printDiagnostics } from "../compile.ts";
import { environmentText } from "../new-team.ts";
import type { CommandArguments, ExitCode, Terminal } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import { deployWorker, runWrangler } from "./wrangler.ts";

/** Implements `limpet deploy`: deploys a team's sandbox and then its Worker, once its secrets are set. */

/** Returns the flag by which wrangler knows a team; `default` is no environment. */
const environmentFlag = (team: string): string => `--env=${team === "default" ? "" : team}`;

/**
 * Lists the secrets that are set at the team's Worker; returns null, with wrangler's output printed, if they are
 * unknown.
 */
const listSecrets = async (terminal: Terminal, team: string): Promise<ReadonlySet<string> | null> => {
  const args = ["secret", "list", environmentFlag(team), "--format=json"];
  const { code, output, stdout } = await runWrangler(args, { root: terminal.root, captures: true });
  const listed = code === 0 ? parseJson(stdout.slice(stdout.search(/^\[/m))) : undefined;
  if (Array.isArray(listed))
    return new Set(
      listed.flatMap((secret) => {
        const { name } = fieldsOf(secret);
        return typeof name === "string" ? name : [];
      }),
    );
  // A Worker that was never deployed has no secrets yet.
  if (/Worker "[^"]*".* not found/.test(output)) return new Set();
  terminal.print(output.trim());
  terminal.print(
    code === 0
      ? `wrangler printed no list of the secrets; see what it prints by: npx wrangler ${args.join(" ")}`
      : "wrangler cannot list the secrets; if you are not logged in: npx wrangler login",
  );
  return null;
};

/** Asks wrangler for the secrets and prints how to set the missing ones; returns true if none is missing. */
const checkSecrets = async (
  terminal: Terminal,
  team: string,
  needed: readonly string[],
): Promise<boolean> => {
  const set = await listSecrets(terminal, team);
  if (set === null) return false;
  const missing = needed.filter((name) => !set.has(name));
  if (missing.length === 0) return true;
  terminal.print(`${team} needs ${missing.length === 1 ? "a secret that is" : "secrets that are"} not set:`);
  for (const name of missing) terminal.print(`  npx ${secretCommand(name, team)}`);
  terminal.print(`then: npx limpet deploy ${team}`);
  return false;
};

/** Key for a customer's server, which does everything that its users do. */
const firstKey: CreateKey = {
  tenant: "first-customer",
  scopes: [
    "sessions:read",
    "sessions:write",
    "sessions:manage",
    "asks:answer",
    "approvals:decide",
    "tokens:mint",
  ],
};

/** Returns the host in what wrangler tells of an address: `https://h`, `h (custom domain)` or `h/* (zone name: z)`. */
const hostIn = (target: string): readonly string[] =>
  /^(?:https:\/\/)?((?:[\w-]+\.)+[\w-]+)(?=[/ ]|$)/.exec(target)?.slice(1) ?? [];

const printNextCall = (terminal: Terminal, team: string, targets: readonly string[]): void => {
  const [host] = targets.flatMap(hostIn);
  if (host === undefined) {
    terminal.print(`${team} is deployed; its environment in wrangler.toml gives it no address`);
    return;
  }
  terminal.print(`${team} is at https://${host}; make a key for its first customer:`);
  terminal.print(
    `  curl -s https://${host}/v1/keys -H "Authorization: Bearer $LIMPET_ADMIN_KEY" -H 'Content-Type: application/json' -d '${JSON.stringify(firstKey)}'`,
  );
};

/** Deploys a valid team: its sandbox first, because its Worker is bound to it. */
const deployTeam = async (
  terminal: Terminal,
  team: string,
  sandbox: string | null,
  dryRun: readonly string[],
): Promise<ExitCode> => {
  const { root } = terminal;
  if (sandbox !== null) {
    const args = ["-c", "src/sandbox/worker/wrangler.toml", "--name", sandbox, ...dryRun];
    if ((await deployWorker(args, root)) === null) return exitCodes.diagnostics;
  }
  const targets = await deployWorker([environmentFlag(team), ...dryRun], root);
  if (targets === null) return exitCodes.diagnostics;
  if (dryRun.length === 0) printNextCall(terminal, team, targets);
  else {
    const objects = readObjectNames(readWranglerFile(root)).join(", ");
    terminal.print(`its Durable Objects, which wrangler does not list: ${objects}`);
    terminal.print(
      `nothing was uploaded; once its secrets are set, this deploys it: npx limpet deploy ${team}`,
    );
  }
  return exitCodes.fine;
};

/** Prints which toolboxes of agents the bindings of the team's environment cannot serve; the others work all the same. */
const printUnserved = (terminal: Terminal, team: Team, toml: WranglerFile): void => {
  const env = readBindings(toml, team.name, ["SANDBOX", "BROWSER"]);
  for (const { agent, toolbox, reason } of createEngine({ team, env, toolboxes: [] }).unserved)
    terminal.print(`${agent} cannot use ${toolbox}: ${reason}`);
};

/** Runs `limpet deploy`; stops before anything is deployed if the team or a secret is invalid. */
export const runDeploy = async (
  terminal: Terminal,
  { names, flags }: CommandArguments,
): Promise<ExitCode> => {
  const team = names[0] ?? "";
  const teams = listTeams(terminal.root);
  if (!teams.includes(team)) {
    terminal.print(`there is no team ${team}; config/ has ${teams.join(", ")}`);
    return exitCodes.diagnostics;
  }
  const compiled = await compileTypedFolder(terminal.root, team);
  const { diagnostics, secrets } = compiled;
  printDiagnostics(terminal, diagnostics, false);
  if (hasErrors(diagnostics) || compiled.team === null) return exitCodes.diagnostics;
  const toml = readWranglerFile(terminal.root);
  if (team !== "default" && findEnvironment(toml, team) === null) {
    terminal.print(`wrangler.toml has no environment ${team}; add:\n${environmentText(team, compiled)}`);
    return exitCodes.diagnostics;
  }
  const entryProblem = findEntryProblem(toml, team);
  if (entryProblem !== null) {
    terminal.print(entryProblem);
    return exitCodes.diagnostics;
  }
  printUnserved(terminal, compiled.team, toml);
  const variables = readDeclaredNames(toml, team).variables;
  const needed = ["LIMPET_ADMIN_KEY", ...Object.keys(secrets)].filter((name) => !variables.has(name));
  if (flags["dry-run"] === true) {
    terminal.print(`${team} needs the secret${needed.length === 1 ? "" : "s"} ${needed.join(", ")}`);
    return deployTeam(terminal, team, readSandboxName(toml, team), ["--dry-run"]);
  }
  if (!(await checkSecrets(terminal, team, needed))) return exitCodes.diagnostics;
  return deployTeam(terminal, team, readSandboxName(toml, team), []);
};
