import type { ExecResult } from "#git";
import { limitedTo } from "../diff.ts";
import { limitOf, resolveObject } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git grep`: where its paths begin, which the package looks for after `--` alone. */

/** Options whose value is the next argument. */
const valued = /^-[efmABC]$/;

/** Searches the files that git tracks. */
export async function search(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context } = command;
  if (args.includes("--")) return run(command);
  const plain = args.flatMap((arg, at) =>
    at === 0 || arg.startsWith("-") || valued.test(args[at - 1] ?? "") ? [] : [at],
  );
  const { files } = await readIndex(repository);
  const hasPattern = args.includes("-e");
  for (const at of hasPattern ? plain : plain.slice(1)) {
    const name = args[at] ?? "";
    const isPath = [...files.keys()].some(limitedTo([limitOf(repository, context, name)]));
    if (isPath && (await resolveObject(repository, context, name).catch(() => null)) === null)
      return run({ ...command, args: args.toSpliced(at, 0, "--") });
  }
  return run(command);
}
