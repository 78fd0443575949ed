import type { ExecResult } from "#git";
import { refuse } from "../line/answers.ts";
import { partAtEnd, plainIn, takeOptions } from "../line/flags.ts";
import { separatePaths } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git blame`: the package shows a file as it was committed, whose lines are others than those of a changed file. */
export async function blame(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { args } = takeOptions(given.args, ["-L "]);
  const [own, [path]] = partAtEnd(await separatePaths(repository, args, given.context));
  if (path === undefined || plainIn(own).length > 0) return run(given);
  const changed = await run({ ...given, args: ["diff", "HEAD", "--name-only", "--", path] });
  const way = `${path} has changes: git blame HEAD -- ${path} shows it without them`;
  return changed.stdout === "" ? run(given) : refuse("git blame", "lines that are not committed", way);
}
