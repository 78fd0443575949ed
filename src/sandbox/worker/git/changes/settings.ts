import type { ExecResult } from "#git";
import { fail } from "../line/answers.ts";
import { plainIn, takeOptions } from "../line/flags.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git config`: settings of the repository, which are all that this git keeps. */

const ownOptions = [
  "--global",
  "--local",
  "--system",
  "--worktree",
  "--bool",
  "--int",
  "--path",
  "--type=",
  "--default=",
  "--get-regexp",
  "--unset-all",
  "--replace-all",
  "--show-origin",
  "--name-only",
];

const asBoolean = (value: string): string =>
  /^(?:true|yes|on|1|)$/i.test(value) ? "true" : /^(?:false|no|off|0)$/i.test(value) ? "false" : value;

/** Returns the settings whose names match a pattern. */
async function listMatching(command: GitCommand, pattern: string): Promise<ExecResult> {
  const { stdout } = await run({ ...command, args: ["config", "--list"] });
  const expression = new RegExp(pattern);
  const lines = stdout.split("\n").flatMap((line) => {
    const at = line.indexOf("=");
    return at > 0 && expression.test(line.slice(0, at))
      ? [`${line.slice(0, at)} ${line.slice(at + 1)}\n`]
      : [];
  });
  return { stdout: lines.join(""), stderr: "", exitCode: lines.length === 0 ? 1 : 0 };
}

/** Removes all values of a setting. */
async function unsetAll(command: GitCommand, key: string): Promise<ExecResult> {
  let result = await run({ ...command, args: ["config", "--unset", key] });
  const first = result;
  while (result.exitCode === 0) result = await run({ ...command, args: ["config", "--unset", key] });
  return first;
}

const outside =
  "warning: this git keeps settings in a repository: run git config again after git init, or use git -c name=value\n";

/** Returns a setting as the options ask for it: a default in place of none, or a boolean. */
function asTyped(result: ExecResult, options: ReadonlyMap<string, string>): ExecResult {
  const fallback = options.get("--default");
  const isBoolean = options.has("--bool") || options.get("--type") === "bool";
  if (result.exitCode === 1 && fallback !== undefined)
    return { stdout: `${fallback}\n`, stderr: "", exitCode: 0 };
  const isTyped = isBoolean && result.exitCode === 0;
  return isTyped ? { ...result, stdout: `${asBoolean(result.stdout.trim())}\n` } : result;
}

/** Reads or changes settings. */
export async function runConfig(repository: WorkTree | null, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, ownOptions);
  const command = { ...given, args };
  const [key = "", value] = plainIn(args);
  if (repository === null) return value === undefined ? fail("", 1) : fail(outside, 0);
  if (options.has("--get-regexp")) return listMatching(command, key);
  if (options.has("--unset-all")) return unsetAll(command, key);
  if (options.has("--replace-all")) await unsetAll(command, key);
  const result = await run(command);
  return value === undefined ? asTyped(result, options) : result;
}
