import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { importTeam } from "../config/build/import-team.ts";
import { readDocument } from "../config/document/document.ts";
import { childOf, itemsOf, scalarTextOf } from "../config/document/located.ts";
import { decodeText, maximumBytes } from "../config/document/safety.ts";
import type { Terminal } from "./usage.ts";

/** Imports a team file of Shelly with its skills and context files. */

const schemaLine = "# yaml-language-server: $schema=../../src/config/team.schema.json\n";

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Finds the team file for `--import`: a file, or that of a project's or a `.shelly` folder; returns null for none. */
export const findImport = (given: string): string | null =>
  [given, join(given, "config.yaml"), join(given, ".shelly/config.yaml")].find(isFile) ?? null;

/** Lists the skills that a template names in `embedded_skills`; returns none if it cannot be read. */
const readNamedSkills = (content: string): readonly string[] => {
  const { root } = readDocument("", content);
  return itemsOf(childOf(root ?? undefined, "embedded_skills")).flatMap((item) => {
    const name = scalarTextOf(childOf(item, "name")) ?? "";
    return /^[A-Za-z0-9][\w-]{0,63}$/.test(name) ? [name] : [];
  });
};

/** Lists the paths where a template's skills may be, relative to its folder. */
const skillSources = (name: string): readonly string[] => [
  `skills/${name}/SKILL.md`,
  `skills/${name}.md`,
  `../skills/${name}/SKILL.md`,
  `../skills/${name}.md`,
];

/** Copies the skill folders beside the file, with all their contents. */
const copySkillFolders = (terminal: Terminal, from: string, folder: string): readonly string[] => {
  const skills = join(from, "skills");
  const names = existsSync(skills)
    ? readdirSync(skills).filter((name) => isFile(join(skills, name, "SKILL.md")))
    : [];
  for (const name of names) {
    cpSync(join(skills, name), join(folder, "skills", name), { recursive: true, dereference: true });
    terminal.print(`skills/${name}/: copied`);
  }
  return names;
};

const copyNamedSkill = (terminal: Terminal, name: string, from: string, folder: string): void => {
  const source = skillSources(name)
    .map((path) => join(from, path))
    .find(isFile);
  if (source === undefined) {
    terminal.print(`the skill ${name} was not found beside the file; add skills/${name}/SKILL.md`);
    return;
  }
  mkdirSync(join(folder, "skills", name), { recursive: true });
  cpSync(source, join(folder, "skills", name, "SKILL.md"));
  terminal.print(`skills/${name}/SKILL.md: copied`);
};

/** Copies the Markdown files beside the team file, which are its project context. */
const copyContext = (terminal: Terminal, from: string, folder: string): void => {
  for (const name of readdirSync(from).filter((each) => each.endsWith(".md") && isFile(join(from, each)))) {
    mkdirSync(join(folder, "context"), { recursive: true });
    cpSync(join(from, name), join(folder, "context", name));
    terminal.print(`${name}: copied to context/${name}`);
  }
};

/** Returns the text of a team's file, and prints each change of the given one. */
const importText = (terminal: Terminal, given: string, team: string): string => {
  const { content, changes } = importTeam(given, team);
  for (const change of changes) terminal.print(change);
  return content.includes("yaml-language-server:") ? content : schemaLine + content;
};

/** Creates the folder of a team from a file of Shelly, and prints each change that this requires. */
export const importFiles = (terminal: Terminal, file: string, folder: string, team: string): void => {
  const given = readFileSync(file);
  const { text, finding } = decodeText(given, maximumBytes);
  mkdirSync(folder, { recursive: true });
  // A file that is no text stays as it is, so that its build reports why.
  writeFileSync(join(folder, "team.yaml"), finding === null ? importText(terminal, text, team) : given);
  const from = dirname(file);
  const copied = copySkillFolders(terminal, from, folder);
  for (const name of readNamedSkills(text))
    if (!copied.includes(name)) copyNamedSkill(terminal, name, from, folder);
  copyContext(terminal, from, folder);
};
