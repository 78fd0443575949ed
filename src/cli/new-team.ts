import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasErrors } from "../config/document/diagnostics.ts";
import { readDocument } from "../config/document/document.ts";
import { listTeams, teamFolder } from "../config/build/files.ts";
import { childOf, itemsOf, scalarTextOf } from "../config/document/located.ts";
import { compileFolder, printDiagnostics } from "./compile.ts";
import type { CommandArguments, ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

/** This file implements `limpet new-team`, which makes a folder in `config/` and an environment in `wrangler.toml`. */

const schemaLine = "# yaml-language-server: $schema=../../src/config/team.schema.json\n";

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

/** Lists the skills that an imported file names in `embedded_skills`; the list is empty if it cannot be read. */
const readNamedSkills = (content: string): string[] => {
  const { root } = readDocument("", content);
  return itemsOf(childOf(root ?? undefined, "embedded_skills")).flatMap((item) => {
    const name = scalarTextOf(childOf(item, "name")) ?? "";
    return /^[A-Za-z0-9][\w-]{0,63}$/.test(name) ? [name] : [];
  });
};

/** Lists the paths where an imported file's skills may be, relative to its folder. */
const skillSources = (name: string): string[] => [
  `skills/${name}/SKILL.md`,
  `skills/${name}.md`,
  `../skills/${name}/SKILL.md`,
  `../skills/${name}.md`,
];

const importFile = (terminal: Terminal, file: string, folder: string): void => {
  const content = readFileSync(file, "utf8");
  mkdirSync(folder, { recursive: true });
  const marked = content.includes("yaml-language-server:") ? content : schemaLine + content;
  writeFileSync(join(folder, "team.yaml"), marked);
  for (const skill of readNamedSkills(content)) {
    const source = skillSources(skill)
      .map((path) => join(dirname(file), path))
      .find((path) => existsSync(path));
    if (source === undefined) {
      terminal.print(`the skill ${skill} was not found beside ${file}; add skills/${skill}/SKILL.md`);
      continue;
    }
    mkdirSync(join(folder, "skills", skill), { recursive: true });
    cpSync(source, join(folder, "skills", skill, "SKILL.md"));
  }
};

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
  if (file !== undefined) return existsSync(file) ? null : `${file} does not exist`;
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
  if (flags.import === undefined) cpSync(teamFolder(terminal.root, from), folder, { recursive: true });
  else importFile(terminal, flags.import, folder);
  const wrangler = join(terminal.root, "wrangler.toml");
  const toml = readFileSync(wrangler, "utf8");
  writeFileSync(wrangler, `${toml.trimEnd()}\n${environmentText(name)}`);
  const { diagnostics, secrets } = await compileFolder(terminal.root, name);
  printDiagnostics(terminal, diagnostics, false);
  terminal.print(`made config/${name}/ and [env.${name}] in wrangler.toml. Next:`);
  for (const line of nextCommands(name, Object.keys(secrets))) terminal.print(`  ${line}`);
  return hasErrors(diagnostics) ? exitCodes.diagnostics : exitCodes.fine;
};
