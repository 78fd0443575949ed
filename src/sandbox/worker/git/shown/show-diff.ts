import type { ExecResult } from "#git";
import { fine, refuse } from "../line/answers.ts";
import { completeNames, completePatches } from "../diff.ts";
import { partAtEnd, plainIn, takeOptions } from "../line/flags.ts";
import { limitsIn, readCommits, separatePaths } from "../line/revisions.ts";
import { readNames } from "../names.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { checkPatches } from "./diff-notes.ts";

/** `git diff` in all its forms: patches, names, counts, notes, and whether there is anything to show. */

const otherForms = ["--stat", "--numstat", "--shortstat"];

/** Shows a diff in one form of the package, completed. */
async function showOne(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { args, context } = given;
  const [own] = partAtEnd(args);
  const names = own.filter((arg) => /^--name-(?:only|status)$/.test(arg));
  const shown =
    names.length === 0
      ? args
      : ["diff", "--name-status", ...args.slice(1).filter((arg) => !names.includes(arg))];
  const revisions = plainIn(own);
  const commits = await readCommits(repository, revisions, context);
  if (commits === null || own.some((arg) => otherForms.includes(arg))) return run(given);
  const result = await run({ ...given, args: shown });
  if (result.exitCode !== 0) return result;
  const request = {
    isStaged: own.includes("--staged") || own.includes("--cached"),
    commits,
    limits: limitsIn(repository, args, context),
  };
  const stdout = await (names.length === 0
    ? completePatches(repository, result.stdout, request)
    : completeNames(repository, result.stdout, { ...request, hasLetters: names.includes("--name-status") }));
  return { ...result, stdout };
}

/** The forms that a diff can have, in the order in which git shows them. */
const forms = ["--name-only", "--name-status", "--numstat", "--stat", "--shortstat", "--patch"] as const;

/** Options that are read here; the package knows the others. */
const ownOptions = [
  ...forms,
  "--stat=",
  "--check",
  "--no-patch",
  "--exit-code",
  "--quiet",
  "--diff-filter=",
  "--no-renames",
  "-z",
];

/** Returns whether a filter like `AM` or `d` lets a letter of a change through. */
const passes = (filter: string, letter: string): boolean => {
  const wanted = filter.replaceAll(/[^A-Z]/g, "");
  return (wanted === "" || wanted.includes(letter)) && !filter.includes(letter.toLowerCase());
};

const withForm = (command: GitCommand, form: string): GitCommand => ({
  ...command,
  args: ["diff", form, ...command.args.slice(1)].filter((arg) => arg !== "--patch"),
});

/** Shows a diff in each of these forms, as git puts them together. */
async function showForms(
  repository: WorkTree,
  command: GitCommand,
  chosen: readonly string[],
): Promise<ExecResult> {
  let shown = "";
  for (const form of chosen) {
    const result = await showOne(repository, withForm(command, form));
    if (result.exitCode !== 0) return result;
    const text = result.stdout;
    shown += form === "--patch" && shown !== "" && text !== "" ? `\n${text}` : text;
  }
  return fine(shown);
}

/** Ends names with NUL instead of a line end, and leaves them as they are. */
const endWithNul = (text: string): string =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => line.split("\t").flatMap((field) => readNames(field)[0] ?? field))
    .map((field) => `${field}\0`)
    .join("");

/** Returns the forms that options choose; a patch if they choose none. */
function formsOf(options: ReadonlyMap<string, string>): readonly string[] {
  const chosen = forms.filter((form) => options.has(form));
  return chosen.length === 0 && !options.has("--no-patch") ? ["--patch"] : chosen;
}

/** `A^!` is what a commit changes. */
const spreadRevision = (arg: string): readonly string[] =>
  arg.endsWith("^!") ? [arg.slice(0, -1), arg.slice(0, -2)] : [arg];

/** Names what is wrong with new lines; fails if anything is. */
async function check(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const result = await showForms(repository, command, ["--patch"]);
  const stdout = checkPatches(result.stdout);
  return result.exitCode === 0 ? { ...result, stdout, exitCode: stdout === "" ? 0 : 2 } : result;
}

/** Shows the names of what a filter lets through: of a file with a conflict, the work tree shows a change as well. */
async function showNames(
  repository: WorkTree,
  command: GitCommand,
  filter: string,
  hasLetters: boolean,
): Promise<ExecResult> {
  const result = await showOne(repository, withForm(command, "--name-status"));
  const lines = result.stdout.split("\n").filter((line) => line !== "" && passes(filter, line.charAt(0)));
  const named = hasLetters ? lines : lines.map((line) => line.split("\t").at(-1) ?? "");
  return { ...result, stdout: named.map((line) => `${line}\n`).join("") };
}

/** Shows the forms that options choose of what their filter lets through. */
async function showChosen(
  repository: WorkTree,
  command: GitCommand,
  options: ReadonlyMap<string, string>,
): Promise<ExecResult> {
  const chosen = formsOf(options);
  const filter = options.get("--diff-filter");
  if (options.has("--check")) return check(repository, command);
  if (filter === undefined) return showForms(repository, command, chosen);
  const [form = "", ...others] = chosen;
  return others.length === 0 && form.startsWith("--name-")
    ? showNames(repository, command, filter, form === "--name-status")
    : refuse("git diff", "--diff-filter without --name-only or --name-status", "name the files after --");
}

/** Shows a diff. */
export async function showDiff(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args: rest } = takeOptions(given.args, ownOptions);
  const args = await separatePaths(repository, rest.flatMap(spreadRevision), given.context);
  const result = await showChosen(repository, { ...given, args }, options);
  if (result.exitCode !== 0) return result;
  const isQuiet = options.has("--quiet");
  const stdout = options.has("-z") ? endWithNul(result.stdout) : result.stdout;
  const hasFound = (isQuiet || options.has("--exit-code")) && result.stdout !== "";
  return { ...result, stdout: isQuiet ? "" : stdout, exitCode: hasFound ? 1 : 0 };
}
