import type { ChangeArguments, ChangeOperation, Sandbox } from "./contract.ts";
import { SandboxError } from "./contract.ts";
import { pathFrom, workspaceRoot } from "./paths.ts";

/** This file is the view of a sandbox from a folder of the workspace, which an agent's `working_dir` names. */

/** A line of a patch that names a file. Only `\n` ends a line; any other character belongs to the path. */
const fileLine = /^(\*\*\* (?:Add File|Update File|Delete File|Move to): )(.+)$/s;

type Resolve = (path: string) => string;

type Resolvers = {
  readonly [O in ChangeOperation]: (args: ChangeArguments[O], at: Resolve) => ChangeArguments[O];
};

const resolvers: Resolvers = {
  mkdir: (args, at) => ({ ...args, path: at(args.path) }),
  delete: (args, at) => ({ ...args, path: at(args.path) }),
  move: (args, at) => ({ ...args, source: at(args.source), destination: at(args.destination) }),
  copy: (args, at) => ({ ...args, source: at(args.source), destination: at(args.destination) }),
  edit: (args, at) => ({ ...args, path: at(args.path) }),
  patch: (args, at) => ({ ...args, path: at(args.path) }),
  apply_patch: ({ patch }, at) => ({
    patch: patch
      .split("\n")
      .map((line) => line.replace(fileLine, (_, what: string, path: string) => `${what}${at(path.trim())}`))
      .join("\n"),
  }),
};

/** A path of the workspace as it is written from a folder. */
const toldFrom = (directory: string, path: string): string =>
  path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : `${workspaceRoot}/${path}`;

/** Asks a sandbox about paths, and has what it says of them, refusals too, name them as its caller does. */
const askFrom = async <T>(
  directory: string,
  ask: (at: Resolve, tell: (text: string) => string) => Promise<T>,
): Promise<T> => {
  const asked = new Set<string>();
  const at: Resolve = (path) => {
    const resolved = pathFrom(directory, path);
    asked.add(resolved.startsWith(`${workspaceRoot}/`) ? resolved.slice(workspaceRoot.length + 1) : resolved);
    return resolved;
  };
  const tell = (text: string): string =>
    [...asked].reduce((told, path) => told.replace(path, () => toldFrom(directory, path)), text);
  try {
    return await ask(at, tell);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw new SandboxError(error.code, tell(error.message), error.status);
  }
};

/** A view whose relative paths count from a folder, in what it is asked and what it tells; `.` is the sandbox itself. */
export const viewFrom = (sandbox: Sandbox, directory: string): Sandbox => {
  if (directory === ".") return sandbox;
  const at: Resolve = (path) => pathFrom(directory, path);
  const told: Resolve = (path) => toldFrom(directory, path);
  return {
    ...sandbox,
    directory,
    as: (actor) => viewFrom(sandbox.as(actor), directory),
    closing: (paths) => viewFrom(sandbox.closing(paths), directory),
    exec: (request, signal) => sandbox.exec({ ...request, cwd: at(request.cwd ?? ".") }, signal),
    start: (request, signal) => sandbox.start({ ...request, cwd: at(request.cwd ?? ".") }, signal),
    read: (path, range) => askFrom(directory, (noted) => sandbox.read(noted(path), range)),
    write: (path, content, options) =>
      askFrom(directory, (noted) => sandbox.write(noted(path), content, options)),
    stat: async (path) => {
      const stat = await askFrom(directory, (noted) => sandbox.stat(noted(path)));
      return { ...stat, path: told(stat.path) };
    },
    list: async (path) => {
      const stats = await askFrom(directory, (noted) => sandbox.list(noted(path)));
      return stats.map((stat) => ({ ...stat, path: told(stat.path) }));
    },
    change: (op, args, options) =>
      askFrom(directory, async (noted, tell) => {
        const outcome = await sandbox.change(op, resolvers[op](args, noted), options);
        return outcome.message === undefined ? outcome : { ...outcome, message: tell(outcome.message) };
      }),
    diff: (a, b) => sandbox.diff(at(a), at(b)),
    searchContent: async (query) => {
      const hits = await sandbox.searchContent({ ...query, directory: at(query.directory ?? ".") });
      return { ...hits, matches: hits.matches.map((match) => ({ ...match, path: told(match.path) })) };
    },
    searchFiles: async (query) => {
      const paths = await sandbox.searchFiles({ ...query, directory: at(query.directory ?? ".") });
      return paths.map(told);
    },
    git: (op, args, options) => sandbox.git(op, { ...args, directory: at(args.directory ?? ".") }, options),
    localize: (query) => sandbox.localize({ ...query, directory: at(query.directory ?? ".") }),
  };
};
