import type { ExecResult } from "#git";
import { fail } from "../line/answers.ts";
import { plainIn, takeOptions } from "../line/flags.ts";
import { folderIn, limitOf, listUnknown } from "../line/revisions.ts";
import { relativeName } from "../names.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";

/** `git ls-files`: lists the files of the folder that git runs in, by their names from there; the package knows only the top. */
export async function listFiles(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { context } = given;
  const { options, args } = takeOptions(given.args, ["--error-unmatch", "--full-name"]);
  const unknown = options.has("--error-unmatch") ? await listUnknown(repository, context, plainIn(args)) : [];
  if (unknown.length > 0) {
    const errors = unknown.map(
      (path) => `error: pathspec '${path}' did not match any file(s) known to git\n`,
    );
    return fail(`${errors.join("")}Did you forget to 'git add'?\n`, 1);
  }
  const folder = folderIn(repository, context);
  if (folder === "") return run({ ...given, args });
  const isPath = (arg: string, at: number): boolean => at > 0 && !arg.startsWith("-");
  const paths = args.filter(isPath).map((path) => limitOf(repository, context, path));
  const others = args.filter((arg, at) => !isPath(arg, at) && arg !== "--");
  const limited = [...others, "--", ...(paths.length === 0 ? [folder] : paths)];
  const top = { ...context, cwd: repository.workTree };
  const result = await run({ ...given, args: limited, context: top });
  if (options.has("--full-name")) return result;
  const end = args.includes("-z") ? "\0" : "\n";
  const shown = result.stdout.split(end).map((line) => {
    const [, start = "", name = ""] = /^(.*\t|[A-Z?] )?(.*)$/s.exec(line) ?? [];
    return name === "" ? line : start + relativeName(folder, name);
  });
  return { ...result, stdout: shown.join(end) };
}
