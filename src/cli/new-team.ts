import { cpSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CompiledTeam } from "../config/build/compile.ts";
import { hasErrors } from "../config/document/diagnostics.ts";
import { listTeams, teamFolder } from "../config/build/files.ts";
import type { TeamDraft } from "../config/draft.ts";
import { buildLine, findEnvironment, readWranglerFile } from "./bindings.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import { findImport, importFiles } from "./import-files.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** Implements `limpet new-team`, which creates a folder in `config/` and an environment in `wrangler.toml`. */

/** Returns the line of the browser's binding, if an agent has the toolbox that needs it. */
const browserLine = (draft: TeamDraft | null): string =>
  draft?.agents.some(({ value }) => value.toolboxes.some(({ name }) => name === "browser")) === true
    ? 'browser = { binding = "BROWSER" }\n'
    : "";

/** Returns the line of the binding of Workers AI, if a provider asks its models. */
const aiLine = (draft: TeamDraft | null): string => {
  const provider = draft?.providers.find(({ value }) => value.kind === "workers-ai");
  return provider === undefined ? "" : `ai = { binding = "${provider.value.binding ?? "AI"}" }\n`;
};

/** Returns the environment of a compiled team, which overrides only the differences between teams. */
export const environmentText = (
  name: string,
  { draft, secrets }: Pick<CompiledTeam, "draft" | "secrets">,
): string => `
[env.${name}]
main = ".limpet/${name}/worker.js"
${buildLine(name)}
vars = { LIMPET_PRIVATE_EGRESS = "" }
secrets = { required = ${JSON.stringify(["LIMPET_ADMIN_KEY", ...Object.keys(secrets)]).replaceAll(",", ", ")} }
services = [{ binding = "SANDBOX", service = "limpet-sandbox-${name}" }]
${browserLine(draft)}${aiLine(draft)}`;

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
  if (findEnvironment(readWranglerFile(root), name) !== null) {
    return `wrangler.toml has an environment ${name} already; nothing was changed`;
  }
  if (file !== undefined) return findImport(file) === null ? `there is no team file at ${file}` : null;
  const teams = listTeams(root);
  return teams.includes(from) ? null : `there is no team ${from} to copy; there are ${teams.join(", ")}`;
};

/** Lists the next commands: set the secrets, serve the team on this machine, deploy it. */
const nextCommands = (name: string, secrets: readonly string[]): readonly string[] => [
  ...secrets.map((secret) => `echo ${secret}=… >> .dev.vars.${name}`),
  `npm start -- --env ${name}`,
  `npx limpet deploy ${name}`,
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
  const { text } = readWranglerFile(terminal.root);
  const compiled = await compileFolder(terminal.root, name);
  const { diagnostics, secrets } = compiled;
  writeFileSync(wrangler, `${text.trimEnd()}\n${environmentText(name, compiled)}`);
  printDiagnostics(terminal, diagnostics, false);
  const made = `made config/${name}/ and [env.${name}] in wrangler.toml`;
  if (hasErrors(diagnostics)) {
    terminal.print(`${made}; fix this, then: npx limpet validate ${name}`);
    return exitCodes.diagnostics;
  }
  terminal.print(`${made}. Next:`);
  for (const line of nextCommands(name, Object.keys(secrets))) terminal.print(`  ${line}`);
  return exitCodes.fine;
};
