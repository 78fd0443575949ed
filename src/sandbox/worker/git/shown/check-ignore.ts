import type { ExecResult } from "#git";
import { parseIgnoreFile } from "../../search/ignore.ts";
import { fine } from "../line/answers.ts";
import { partAtEnd, plainIn } from "../line/flags.ts";
import { limitOf } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git check-ignore`: which paths the files `.gitignore` leave out, and by which line. */

interface Rule {
  /** The file, the number and the text of the line. */
  readonly source: string;
  readonly isNegated: boolean;
  readonly matches: (path: string, isFolder: boolean) => boolean;
}

/** Reads the rules of one file, for the paths below its folder ("" is the top). */
function readRules(file: string, folder: string, text: string): readonly Rule[] {
  return text.split("\n").flatMap((line, at) =>
    parseIgnoreFile(".", line).rules.map(({ negated, foldersOnly, matches }) => ({
      source: `${file}:${at + 1}:${line}`,
      isNegated: negated,
      matches: (path, isFolder) => (isFolder || !foldersOnly) && matches(path.slice(folder.length)),
    })),
  );
}

/** Finds the rule that decides on a path: the last that matches its first ignored folder, or the path itself. */
async function ruleOf(repository: WorkTree, path: string, isNamedFolder: boolean): Promise<Rule | undefined> {
  const { fs, gitDir, workTree } = repository;
  const read = (file: string): Promise<string> => fs.readFile(file).catch(() => "");
  const exclude = ".git/info/exclude";
  const rules = [...readRules(exclude, "", await read(`${gitDir}/info/exclude`))];
  const steps = path.split("/");
  for (const at of steps.keys()) {
    const folder = steps
      .slice(0, at)
      .map((step) => `${step}/`)
      .join("");
    rules.push(...readRules(`${folder}.gitignore`, folder, await read(`${workTree}/${folder}.gitignore`)));
    const part = steps.slice(0, at + 1).join("/");
    const stat = await fs.lstat(`${workTree}/${part}`).catch(() => null);
    const isFolder = at < steps.length - 1 || isNamedFolder || stat?.isDirectory === true;
    const rule = rules.findLast(({ matches }) => matches(part, isFolder));
    if (rule?.isNegated === false) return rule;
  }
  return undefined;
}

/** Names those of the paths that are ignored, with `-v` each after the line of its rule. */
export async function checkIgnore(repository: WorkTree, { args, context }: GitCommand): Promise<ExecResult> {
  const [own, named] = partAtEnd(args);
  const { files } = await readIndex(repository);
  const isSource = own.includes("-v") || own.includes("--verbose");
  const isQuiet = own.includes("-q") || own.includes("--quiet");
  const lines: string[] = [];
  for (const path of [...plainIn(own), ...named]) {
    const name = limitOf(repository, context, path);
    const rule = files.has(name) ? undefined : await ruleOf(repository, name, path.endsWith("/"));
    if (rule !== undefined) lines.push(isSource ? `${rule.source}\t${path}\n` : `${path}\n`);
  }
  return { ...fine(isQuiet ? "" : lines.join("")), exitCode: lines.length > 0 ? 0 : 1 };
}
