import type { ExecResult } from "#git";
import { fail } from "../line/answers.ts";
import { listUnknown, literalPaths } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { showStatus } from "../shown/show-status.ts";
import { editIndex, readHead, readModes, readTree } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";
import { readCommitCall, replaceAuthor } from "./commit-options.ts";
import type { CommitCall } from "./commit-options.ts";

/** `git commit`, of what is staged or of paths alone. */

/** The two lines in which the package shows a changed mode: a created and a deleted file. */
const modePair = /^ create mode (\d+) (.+)\n delete mode (\d+) \2$/gm;

/** Commits what is staged, with the modes that the package does not see. */
async function commitStaged(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const isAll = command.args.some((arg) => arg === "--all" || arg === "-a");
  const modes = isAll ? await readModes(repository) : new Map<string, number>();
  const unstage = modes.size === 0 ? null : await editIndex(repository, modes);
  const result = await run(command);
  if (result.exitCode !== 0) await unstage?.();
  const isStatus =
    result.exitCode === 1 && /^(?:On branch|HEAD detached) (?![^]*^Initial commit$)/m.test(result.stdout);
  if (isStatus && !command.args.includes("--amend")) {
    const { stdout } = await showStatus(repository, { ...command, args: ["status"] });
    return { ...result, stdout };
  }
  return { ...result, stdout: result.stdout.replace(modePair, " mode change $3 => $1 $2") };
}

/** Commits these paths as they are in the work tree; what else is staged stays so. */
async function commitPaths(repository: WorkTree, call: CommitCall): Promise<ExecResult> {
  const { command, paths, isAlso } = call;
  const { fs, gitDir } = repository;
  const before = await readTree(repository, await readHead(repository));
  const unknown = await listUnknown(repository, command.context, paths, before.keys());
  if (unknown.length > 0)
    return fail(
      unknown.map((path) => `error: pathspec '${path}' did not match any file(s) known to git\n`).join(""),
      1,
    );
  if (command.args.some((arg) => arg === "-a" || arg === "--all"))
    return fail(`fatal: paths '${paths[0]} ...' with -a does not make sense\n`);
  if (!isAlso && (await fs.exists(`${gitDir}/MERGE_HEAD`)))
    return fail("fatal: cannot do a partial commit during a merge.\n", 128);
  const literal = await literalPaths(command.context, paths);
  const stage = (): Promise<ExecResult> => run({ ...command, args: ["add", ...literal] });
  const index = await fs.readFileBuffer(`${gitDir}/index`);
  const isOnly = !isAlso && (await readHead(repository)) !== null;
  if (isOnly) await run({ ...command, args: ["reset"] });
  const staged = await stage();
  const result = staged.exitCode === 0 ? await commitStaged(repository, command) : staged;
  if (isOnly || result.exitCode !== 0) await fs.writeFile(`${gitDir}/index`, index);
  if (isOnly && result.exitCode === 0) await stage();
  return result;
}

/** Runs `git commit`. */
export async function commit(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const call = await readCommitCall(repository, given);
  if ("exitCode" in call) return call;
  if (call.isDry) {
    const status = await showStatus(repository, { ...given, args: ["status"] });
    return { ...status, exitCode: /^no(?:thing| changes) (?:added )?to commit/m.test(status.stdout) ? 1 : 0 };
  }
  const result = await (call.paths.length > 0
    ? commitPaths(repository, call)
    : commitStaged(repository, call.command));
  const head = await readHead(repository);
  if (result.exitCode !== 0 || call.authorOf === null || head === null) return result;
  const hash = await replaceAuthor(repository, head, call.authorOf);
  return { ...result, stdout: result.stdout.replace(head.slice(0, 7), hash.slice(0, 7)) };
}
