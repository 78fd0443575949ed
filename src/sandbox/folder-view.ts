import type { ChangeArguments, ChangeOperation, Sandbox } from "./contract.ts";
import { SandboxError } from "./contract.ts";
import { escapePattern } from "./glob.ts";
import { pathFrom, workspacePath, workspaceRoot } from "./paths.ts";

/** Creates the view of a sandbox from a folder of the workspace, which an agent's `working_dir` names. */

/** Matches a line of a patch that names a file. Only `\n` ends a line; any other character belongs to the path. */
const fileLine = /^(\*\*\* (?:Add File|Update File|Delete File|Move to): )(.+)$/s;

type Resolve = (path: string) => string;

/** Rewrites the paths of a change: `at` normalises them, `from` only puts the folder before a relative one. */
type Resolvers = {
  readonly [O in ChangeOperation]: (
    args: ChangeArguments[O],
    at: Resolve,
    from: Resolve,
  ) => ChangeArguments[O];
};

/**
 * Returns a line of a patch with the path that it names. The path is not normalised: one that then ended in a space
 * would lose it, and be another path, where the patch is read.
 */
const resolveLine = (line: string, at: Resolve, from: Resolve): string =>
  line.replace(fileLine, (_, what: string, path: string) => {
    at(path.trim());
    return `${what}${from(path.trim())}`;
  });

const resolvers: Resolvers = {
  mkdir: (args, at) => ({ ...args, path: at(args.path) }),
  delete: (args, at) => ({ ...args, path: at(args.path) }),
  move: (args, at) => ({ ...args, source: at(args.source), destination: at(args.destination) }),
  copy: (args, at) => ({ ...args, source: at(args.source), destination: at(args.destination) }),
  edit: (args, at) => ({ ...args, path: at(args.path) }),
  patch: (args, at) => ({ ...args, path: at(args.path) }),
  apply_patch: ({ patch }, at, from) => ({
    patch: patch
      .split("\n")
      .map((line) => resolveLine(line, at, from))
      .join("\n"),
  }),
};

/** Returns a path of the workspace relative to a folder. */
const relativeTo = (directory: string, path: string): string =>
  path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : `${workspaceRoot}/${path}`;

/** Asks a sandbox about paths, and rewrites the paths in its answers and refusals relative to the caller's folder. */
const askFrom = async <T>(
  directory: string,
  ask: (at: Resolve, rewrite: (text: string) => string) => Promise<T>,
): Promise<T> => {
  const requested = new Set<string>();
  const at: Resolve = (path) => {
    const resolved = pathFrom(directory, path);
    // A path that leads outside is named as it was written, any other as it was resolved.
    if (!path.startsWith("/")) requested.add(resolved);
    const normalised = workspacePath(resolved);
    requested.add(normalised);
    return normalised;
  };
  const rewrite = (text: string): string => {
    const paths = [...requested].filter((path) => path !== "." && path !== directory).map(escapePattern);
    if (paths.length === 0) return text;
    // Only a whole path is replaced: a name may be a part of a word, too.
    const pattern = new RegExp(`(?<![\\w./-])(?:${paths.join("|")})(?![\\w-])`, "g");
    return text.replace(pattern, (path) => relativeTo(directory, path));
  };
  try {
    return await ask(at, rewrite);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new SandboxError(error.code, rewrite(error.message), error.status);
  }
};

/** Returns a view whose relative paths, in requests and answers, refer to a folder; `.` is the sandbox itself. */
export const viewFrom = (sandbox: Sandbox, directory: string): Sandbox => {
  if (directory === ".") return sandbox;
  const toRelative: Resolve = (path) => relativeTo(directory, path);
  const from = <T>(ask: (at: Resolve, rewrite: (text: string) => string) => Promise<T>): Promise<T> =>
    askFrom(directory, ask);
  const started = (cwd = "."): string => pathFrom(directory, cwd);
  const written: Resolve = (path) => pathFrom(`${workspaceRoot}/${directory}`, path);
  return {
    ...sandbox,
    directory,
    as: (actor) => viewFrom(sandbox.as(actor), directory),
    closing: (paths) => viewFrom(sandbox.closing(paths), directory),
    exec: (request, signal) => sandbox.exec({ ...request, cwd: started(request.cwd) }, signal),
    start: (request, signal) => sandbox.start({ ...request, cwd: started(request.cwd) }, signal),
    read: (path, range) => from((at) => sandbox.read(at(path), range)),
    write: (path, content, options) => from((at) => sandbox.write(at(path), content, options)),
    stat: async (path) => {
      const stat = await from((at) => sandbox.stat(at(path)));
      return { ...stat, path: toRelative(stat.path) };
    },
    list: async (path, part) => {
      const stats = await from((at) => sandbox.list(at(path), part));
      return stats.map((stat) => ({ ...stat, path: toRelative(stat.path) }));
    },
    change: (op, args, options) =>
      from(async (at, rewrite) => {
        const outcome = await sandbox.change(op, resolvers[op](args, at, written), options);
        return outcome.message === undefined ? outcome : { ...outcome, message: rewrite(outcome.message) };
      }),
    diff: (a, b) => from((at) => sandbox.diff(at(a), at(b))),
    searchContent: async (query) => {
      const folder = query.directory ?? ".";
      const hits = await from((at) => sandbox.searchContent({ ...query, directory: at(folder) }));
      return { ...hits, matches: hits.matches.map((match) => ({ ...match, path: toRelative(match.path) })) };
    },
    searchFiles: async (query) => {
      const folder = query.directory ?? ".";
      const paths = await from((at) => sandbox.searchFiles({ ...query, directory: at(folder) }));
      return paths.map(toRelative);
    },
    git: (op, args, options) =>
      from((at) => sandbox.git(op, { ...args, directory: at(args.directory ?? ".") }, options)),
    localize: (query) => from((at) => sandbox.localize({ ...query, directory: at(query.directory ?? ".") })),
  };
};
