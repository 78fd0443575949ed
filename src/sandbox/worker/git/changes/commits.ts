import type { ExecResult } from "#git";
import { fail, refuse } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import { listUnknown, literalPaths } from "../line/revisions.ts";
import type { Context, GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { absoluteTime } from "../shown/commit-dates.ts";
import { showStatus } from "../shown/show-status.ts";
import { editIndex, readHead, readModes, readTree } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";

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
async function commitPaths(
  repository: WorkTree,
  command: GitCommand,
  paths: readonly string[],
): Promise<ExecResult> {
  const { fs, gitDir } = repository;
  const head = await readHead(repository);
  const before = await readTree(repository, head);
  const unknown = await listUnknown(repository, command.context, paths, before.keys());
  if (unknown.length > 0)
    return fail(
      unknown.map((path) => `error: pathspec '${path}' did not match any file(s) known to git\n`).join(""),
      1,
    );
  if (command.args.some((arg) => arg === "-a" || arg === "--all"))
    return fail(`fatal: paths '${paths[0]} ...' with -a does not make sense\n`);
  if (await fs.exists(`${gitDir}/MERGE_HEAD`))
    return fail("fatal: cannot do a partial commit during a merge.\n", 128);
  const literal = await literalPaths(command.context, paths);
  const stage = (): Promise<ExecResult> => run({ ...command, args: ["add", ...literal] });
  const index = await fs.readFileBuffer(`${gitDir}/index`);
  if (head !== null) await run({ ...command, args: ["reset"] });
  const staged = await stage();
  const result = staged.exitCode === 0 ? await commitStaged(repository, command) : staged;
  if (head !== null || result.exitCode !== 0) await fs.writeFile(`${gitDir}/index`, index);
  if (head !== null && result.exitCode === 0) await stage();
  return result;
}

/** Parts the arguments of a commit into paths and others. */
function partPaths(args: readonly string[]): Readonly<Record<"others" | "paths", readonly string[]>> {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const isPath = (arg: string, at: number): boolean =>
    at > end || (at > 0 && at < end && !arg.startsWith("-") && !/^-[mF]$/.test(args[at - 1] ?? ""));
  return {
    others: args.filter((arg, at) => at !== end && !isPath(arg, at)),
    paths: args.filter(isPath),
  };
}

/** Returns a date as commits have it, in seconds with a zone; null if the text is no date that this git reads. */
function readDate(text: string): string | null {
  const [, seconds, zone = "+0000"] = /^@?(\d{9,})(?: ([+-]\d{4}))?$/.exec(text) ?? [];
  if (seconds !== undefined) return `${seconds} ${zone}`;
  const isDate = /\d{4}/.test(text) || absoluteTime(text, 0) !== text;
  const time = isDate ? Date.parse(absoluteTime(text, Date.now())) : Number.NaN;
  const [, hours = "+00", minutes = "00"] = /:\d\d.*?([+-]\d\d):?(\d\d)$/.exec(text) ?? [];
  return Number.isNaN(time) ? null : `${Math.floor(time / 1000)} ${hours}${minutes}`;
}

/** Returns the environment of a commit by an author at a time; a failure if one of them is wrong. */
function environmentFor(
  author: string | undefined,
  date: string | undefined,
  env: Context["env"],
): Context["env"] | ExecResult {
  const own = new Map(env);
  if (author !== undefined) {
    const [, name, mail = ""] = /^(.*?)\s*<([^>]*)>$/.exec(author) ?? [];
    if (name === undefined)
      return fail(`fatal: --author '${author}' is not 'Name <email>' and matches no existing author\n`);
    own.set("GIT_AUTHOR_NAME", name).set("GIT_AUTHOR_EMAIL", mail);
  }
  if (date !== undefined) {
    const time = readDate(date);
    if (time === null) return fail(`fatal: invalid date format: ${date}; write it as 2026-01-31T10:00:00Z\n`);
    own.set("GIT_AUTHOR_DATE", time);
  }
  return own;
}

/** Returns the committer of a command as `Name <mail>`. */
async function readCommitter({ context, settings = {} }: GitCommand): Promise<string> {
  const read = async (key: string, other: string): Promise<string> => {
    const given = context.env.get(`GIT_COMMITTER_${key.toUpperCase()}`) ?? settings[`user.${key}`];
    if (given !== undefined) return given;
    const { stdout } = await run({ args: ["config", `user.${key}`], context });
    return stdout.trim() || other;
  };
  return `${await read("name", "Limpet")} <${await read("email", "agent@localhost")}>`;
}

/** Runs `git commit`. */
export async function commit(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { others, paths } = partPaths(given.args);
  const { options, args } = takeOptions(others, ["--author=", "--date=", "-s"]);
  const [author, date] = [options.get("--author"), options.get("--date")];
  if (args.includes("--amend") && (author ?? date) !== undefined)
    return refuse(
      "git commit --amend",
      "--author or --date",
      "git reset --soft HEAD~1, then commit with them",
    );
  const env = environmentFor(author, date, given.context.env);
  if (!("get" in env)) return env;
  const isSigned = options.has("-s");
  if (isSigned && !args.includes("-m"))
    return refuse("git commit", "-s without -m", "write the line Signed-off-by: into the message");
  const signed = isSigned ? ["-m", `Signed-off-by: ${await readCommitter(given)}`] : [];
  const command = { ...given, args: [...args, ...signed], context: { ...given.context, env } };
  return paths.length > 0 ? commitPaths(repository, command, paths) : commitStaged(repository, command);
}
