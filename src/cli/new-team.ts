import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasErrors } from "../config/document/diagnostics.ts";
import { listTeams, teamFolder } from "../config/build/files.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import { findImport, importFiles } from "./import-files.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** This file implements `limpet new-team`, which makes a folder in `config/` and an environment in `wrangler.toml`. */

/** Returns the environment of a team, which overrides only what differs between teams. */
export const environmentText = (name: string): string => `
[env.${name}]
main = ".limpet/${name}/worker.js"
build = { command = "npm run -s limpet -- build ${name}", watch_dir = ["config"] }
vars = {}
services = [{ binding = "SANDBOX", service = "limpet-sandbox-${name}" }]
`;

/** Returns whether a wrangler file has an environment of this name, in any notation. */
export const hasEnvironment = (toml: string, name: string): boolean =>
  new RegExp(String.raw`^\s*\[+\s*env\s*\.\s*"?${name}"?\s*[.\]]`, "m").test(toml) ||
  new RegExp(String.raw`^\s*env\s*\.\s*"?${name}"?\s*[.=]`, "m").test(toml);

const findNewTeamProblem = (
  terminal: Terminal,
  name: string,
  from: string,
  file: string | undefined,
): string | null => {
  const { root } = terminal;
  const wrangler = join(root, "wrangler.toml");
  if (existsSync(teamFolder(root, name))) return `config/${name} exists already; nothing was changed`;
  if (!existsSync(wrangler)) return "there is no wrangler.toml here; run this in the project's folder";
  if (hasEnvironment(readFileSync(wrangler, "utf8"), name)) {
    return `wrangler.toml has an environment ${name} already; nothing was changed`;
  }
  if (file !== undefined) return findImport(file) === null ? `there is no team file at ${file}` : null;
  const teams = listTeams(root);
  return teams.includes(from) ? null : `there is no team ${from} to copy; there are ${teams.join(", ")}`;
};

/** Lists what to run next: the team on this machine, the deployment of its sandbox and itself, then its secrets. */
const nextCommands = (name: string, secrets: readonly string[]): readonly string[] => [
  `npm start -- --env ${name}`,
  `npx wrangler deploy -c src/sandbox/worker/wrangler.toml --name limpet-sandbox-${name}`,
  `npx wrangler deploy --env ${name}`,
  ...["LIMPET_ADMIN_KEY", ...secrets].map((secret) => `npx wrangler secret put ${secret} --env ${name}`),
];

/** Creates a team; refuses, and changes nothing, if the folder or the environment exists. */
export const runNewTeam = async (
  terminal: Terminal,
  { names, flags }: CommandArguments,
): Promise<ExitCode> => {
  const name = names[0] ?? "";
  const from = flags.from ?? "default";
  const folder = teamFolder(terminal.root, name);
  const problem = findNewTeamProblem(terminal, name, from, flags.import);
  if (problem !== null) {
    terminal.print(problem);
    return exitCodes.diagnostics;
  }
  const file = flags.import === undefined ? null : findImport(flags.import);
  if (file === null) cpSync(teamFolder(terminal.root, from), folder, { recursive: true });
  else importFiles(terminal, file, folder, name);
  const wrangler = join(terminal.root, "wrangler.toml");
  const toml = readFileSync(wrangler, "utf8");
  writeFileSync(wrangler, `${toml.trimEnd()}\n${environmentText(name)}`);
  const { diagnostics, secrets } = await compileFolder(terminal.root, name);
  printDiagnostics(terminal, diagnostics, false);
  const made = `made config/${name}/ and [env.${name}] in wrangler.toml`;
  if (hasErrors(diagnostics)) {
    terminal.print(`${made}; mend this, then: npx limpet validate ${name}`);
    return exitCodes.diagnostics;
  }
  terminal.print(`${made}. Next:`);
  for (const line of nextCommands(name, Object.keys(secrets))) terminal.print(`  ${line}`);
  return exitCodes.fine;
};
