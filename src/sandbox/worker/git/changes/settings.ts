import type { ExecResult } from "#git";
import { fail } from "../line/answers.ts";
import { plainIn, takeOptions } from "../line/flags.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git config`: settings of the repository, which are all that this git keeps. */

const outside =
  "warning: this git keeps settings in a repository: run git config again after git init, or use git -c name=value\n";

/** Returns whether the name of a setting has a part that the package takes for a setting that it has. */
const isInherited = (name: string): boolean => name.split(".").some((part) => part in {});

/** Reads or changes settings. */
export async function runConfig(repository: WorkTree | null, given: GitCommand): Promise<ExecResult> {
  const { args } = takeOptions(given.args, ["--global", "--local", "--system", "--worktree"]);
  const name = plainIn(args).find((word) => word.includes(".")) ?? "";
  if (isInherited(name)) return fail(`error: invalid key: ${name}\n`, 1);
  if (repository !== null) return run({ ...given, args });
  return plainIn(args).length < 2 ? fail("", 1) : fail(outside, 0);
}
