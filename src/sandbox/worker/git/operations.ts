import type { GitArguments, GitOperation } from "../../contract.ts";
import { workspacePath } from "../../paths.ts";
import { fail } from "../errors.ts";
import { locate } from "../files/locate.ts";
import { gitBodies, parseBody } from "../requests.ts";
import { keepPatches } from "./diff.ts";
import { readNames } from "./names.ts";
import type { Repository } from "./run-git.ts";
import { runGit } from "./run-git.ts";
import { createTurns } from "./turns.ts";

/** Returns a path relative to git's folder, in a form that git cannot mistake for a pattern or an option. */
function safePath(raw: string): string {
  if (raw.startsWith("/") || raw.includes("\0") || raw.split("/").includes(".."))
    fail(
      "path_outside",
      `${JSON.stringify(raw)} is absolute or has "..": name a path below the folder of git`,
    );
  return `./${raw.replace(/^(\.\/)+/, "").replace(/[*?[\\]/g, String.raw`\$&`)}`;
}

/** Adds a pattern for the files below a folder whose name has escaped characters, which git takes for a pattern. */
const belowPath = (path: string): string[] => (path.includes("\\") ? [path, `${path}/*`] : [path]);

const linesOf = (text: string): string[] => text.split("\n").filter((line) => line !== "");

const isClosed = ({ isClosed: closes }: Repository, path: string): boolean => closes?.(path, "read") === true;

/** Returns the folder of the repository that a folder belongs to, by its path in the workspace. */
const topOf = async (repository: Repository, directory: string): Promise<string> =>
  workspacePath((await runGit(repository, { args: ["rev-parse", "--show-toplevel"], directory })).trim());

/** Returns the paths of a line of a status: `M a`, `R  a -> b`, or after a tab `modified:   a`. */
const pathsInStatus = (line: string): string[] => {
  const named = /^\t(?:[a-z ]+: +)?(.+)$/.exec(line)?.[1] ?? /^[ MADRCTU?!]{2} (.+)$/.exec(line)?.[1];
  return named === undefined ? [] : readNames(named);
};

async function status(
  repository: Repository,
  { directory = ".", short = false }: GitArguments["status"],
): Promise<string> {
  const args = ["status", ...(short ? ["--short"] : [])];
  const output = await runGit(repository, { args, directory });
  if (repository.isClosed === undefined) return output;
  const shown = (path: string): boolean => !isClosed(repository, workspacePath(`${directory}/${path}`));
  return output
    .split("\n")
    .filter((line) => pathsInStatus(line).every(shown))
    .join("\n");
}

/** Returns the readable part of a diff: file by file, if rules close some. */
async function diff(
  repository: Repository,
  { directory = ".", staged = false, path }: GitArguments["diff"],
): Promise<string> {
  const options = ["diff", ...(staged ? ["--staged"] : [])];
  const limits = path === undefined ? [] : ["--", ...belowPath(safePath(path))];
  if (repository.isClosed === undefined)
    return runGit(repository, { args: [...options, ...limits], directory });
  const top = await topOf(repository, directory);
  const named = await runGit(repository, { args: [...options, "--name-only", ...limits], directory });
  const open = linesOf(named).filter(
    (each) => !each.startsWith('"') && !isClosed(repository, workspacePath(`${top}/${each}`)),
  );
  if (open.length === 0) return "";
  const output = await runGit(repository, {
    args: [...options, "--", ...open.map(safePath)],
    directory: top,
  });
  // A renamed file shows its former content, so its name before counts, too.
  return keepPatches(output, (each) => !isClosed(repository, workspacePath(`${top}/${each}`)));
}

const log = (
  repository: Repository,
  { directory = ".", count = 10, format = "oneline" }: GitArguments["log"],
): Promise<string> => runGit(repository, { args: ["log", `-n${count}`, `--format=${format}`], directory });

/** Runs the commits of a workspace one after the other, since a commit stages its files first. */
const takeTurn = createTurns();

/** Refuses a commit that would include other staged files. */
async function refuseOthers(
  repository: Repository,
  directory: string,
  files: readonly string[],
): Promise<void> {
  const top = await topOf(repository, directory);
  // A merge is committed as a whole.
  if (locate(repository.disk, workspacePath(`${top}/.git/MERGE_HEAD`)).entry !== null) return;
  const named = files.map((file) => workspacePath(`${directory}/${file}`));
  const isNamed = (path: string): boolean =>
    named.some((each) => each === "." || path === each || path.startsWith(`${each}/`));
  const output = await runGit(repository, { args: ["status", "--porcelain"], directory });
  const others = linesOf(output)
    .filter((line) => /^[MADRCT]/.test(line))
    .flatMap((line) => (line.startsWith("C") ? pathsInStatus(line).slice(-1) : pathsInStatus(line)))
    .filter((path) => !isNamed(workspacePath(`${top}/${path}`)));
  if (others.length > 0)
    fail(
      "conflict",
      `staged as well: ${others.slice(0, 10).join(", ")}; name them too, or unstage them with git reset`,
    );
}

async function commit(
  repository: Repository,
  {
    directory = ".",
    message,
    files,
    writable_paths: writablePaths,
  }: GitArguments["commit"] & { readonly writable_paths?: readonly string[] },
): Promise<string> {
  const run = (args: readonly string[]): Promise<string> =>
    runGit(repository, { args, directory, writablePaths });
  const added = (file: string): string => {
    const path = safePath(file);
    const { entry } = locate(repository.disk, workspacePath(`${directory}/${file}`), false);
    return entry?.type === "directory" ? (belowPath(path).at(-1) ?? path) : path;
  };
  return takeTurn(repository.disk.database, async () => {
    if (files !== undefined) {
      const paths = files.map(added);
      await refuseOthers(repository, directory, files);
      await run(["add", "--", ...paths]);
    } else await run(["add", "-A"]);
    await run(["commit", "-m", message]);
    return (await run(["rev-parse", "HEAD"])).trim();
  });
}

/** Git operations by their request bodies. */
export const gitOperations: {
  readonly [O in GitOperation]: (repository: Repository, body: string) => Promise<string>;
} = {
  status: (repository, body) => status(repository, inWorkspace(parseBody(gitBodies.status, body))),
  diff: (repository, body) => diff(repository, inWorkspace(parseBody(gitBodies.diff, body))),
  log: (repository, body) => log(repository, inWorkspace(parseBody(gitBodies.log, body))),
  commit: (repository, body) => commit(repository, inWorkspace(parseBody(gitBodies.commit, body))),
};

function inWorkspace<Body extends { readonly directory: string }>(body: Body): Body {
  return { ...body, directory: workspacePath(body.directory) };
}
