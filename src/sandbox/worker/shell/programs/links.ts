import type { CommandContext, CustomCommand } from "../custom-command.ts";
import { isFolder } from "./file-facts.ts";
import {
  Failure,
  failWith,
  forEach,
  type Options,
  original,
  program,
  readOptions,
  reasonOf,
  succeed,
} from "./program.ts";

/** `rm` and `mv`, which never follow a link that they are given, and `ln`, which makes symbolic ones alone. */

const removal = {
  flags: "rRfivdI",
  long: "recursive:r force:f verbose:v interactive:i dir:d preserve-root:",
};

const rm = program("rm", (args, context) => {
  const { has, operands } = readOptions(args, removal);
  if (operands.length === 0 && !has("f")) throw new Failure("missing operand");
  const isDeep = has("r") || has("R");
  return forEach("rm", operands, async (path) => {
    const place = context.fs.resolvePath(context.cwd, path);
    const what = `cannot remove '${path}'`;
    if (/^\.\.?$/.test(nameOf(path)))
      throw new Failure(`refusing to remove '.' or '..' directory: skipping '${path}'`);
    const found = await context.fs.lstat(place).catch((error: unknown) => {
      if (has("f") && reasonOf(error) === "No such file or directory") return null;
      return failWith(what)(error);
    });
    if (found === null) return undefined;
    if (found.isDirectory && !isDeep && !has("d")) throw new Failure(`${what}: Is a directory`);
    await context.fs.rm(place, { recursive: isDeep }).catch(failWith(what));
    return has("v") ? `removed ${found.isDirectory ? "directory " : ""}'${path}'\n` : undefined;
  });
});

interface Target {
  readonly sources: readonly string[];
  readonly target: string;
  /** Whether the target is a folder, into which the sources go. */
  readonly isInto: boolean;
}

/** Throws a failure if nothing can be made at a path: a file below no folder, or with the name of a folder. */
async function checkPlace(target: string, source: string, context: CommandContext): Promise<void> {
  if (target.endsWith("/") && !(await isFolder(context, source)))
    throw new Failure(`cannot create regular file '${target}': Not a directory`);
  if (!(await isFolder(context, `${target.replace(/\/+$/, "")}/..`)))
    throw new Failure(`cannot create '${target}': No such file or directory`);
}

/** Returns where `cp` and `mv` put things; throws a failure if that is impossible. */
export async function targetOf({ has, value, operands }: Options, context: CommandContext): Promise<Target> {
  const folder = value("t");
  const sources = folder === undefined ? operands.slice(0, -1) : operands;
  const target = folder ?? operands.at(-1);
  const [first] = operands;
  if (first === undefined || target === undefined) throw new Failure("missing file operand");
  if (sources.length === 0) throw new Failure(`missing destination file operand after '${first}'`);
  const isFound = await isFolder(context, target);
  const isInto = isFound && !has("T");
  if (!isInto && (sources.length > 1 || folder !== undefined))
    throw new Failure(`target '${target}': No such file or directory`);
  if (!isFound) await checkPlace(target, first, context);
  return { sources, target, isInto };
}

export const nameOf = (path: string): string => /([^/]*)\/*$/.exec(path)?.[1] ?? path;

const moving = {
  flags: "finvuT",
  valued: "t",
  long: "force:f interactive:i no-clobber:n verbose:v update:u target-directory:t no-target-directory:T",
};

/** Returns when a file changed; NaN if there is none. */
const timeOf = async ({ fs, cwd }: CommandContext, path: string): Promise<number> =>
  (await fs.stat(fs.resolvePath(cwd, path)).catch(() => null))?.mtime.getTime() ?? NaN;

const mv = program("mv", async (args, context) => {
  const options = readOptions(args, moving);
  const { has, words } = options;
  const { sources, target, isInto } = await targetOf(options, context);
  if (!isInto && (await isFolder(context, target)))
    throw new Failure(`cannot overwrite directory '${target}' with -T here`);
  const chosen: string[] = [];
  for (const path of sources) {
    const to = isInto ? `${target}/${nameOf(path)}` : target;
    const isOlder = (await timeOf(context, path)) <= (await timeOf(context, to));
    if (!has("u") || !isOlder) chosen.push(path);
  }
  if (chosen.length === 0) return succeed();
  return original(context, [...words.filter((word) => /^-[finv]$/.test(word)), "--", ...chosen, target]);
});

const linking = {
  flags: "sfnTv",
  valued: "t",
  long: "symbolic:s force:f no-dereference:n no-target-directory:T verbose:v target-directory:t",
};

const ln = program("ln", async (args, context) => {
  const options = readOptions(args, linking);
  const { has, operands } = options;
  const { fs, cwd } = context;
  if (!has("s")) throw new Failure("hard links are not supported here; use ln -s, or cp for a copy");
  const find = (path: string) => fs.lstat(fs.resolvePath(cwd, path)).catch(() => null);
  const isReplaced = has("n") && (await find(operands.at(-1) ?? "."))?.isSymbolicLink === true;
  const { sources, target, isInto } = await targetOf(
    {
      ...options,
      has: (letter) => (letter === "T" && isReplaced) || has(letter),
      operands: operands.length === 1 && !has("t") ? [...operands, "."] : operands,
    },
    context,
  );
  return forEach("ln", sources, async (source) => {
    const path = isInto ? `${target}/${nameOf(source)}` : target;
    const place = fs.resolvePath(cwd, path);
    const what = `failed to create symbolic link '${path}'`;
    const found = await find(path);
    if (found !== null && (found.isDirectory || !has("f"))) throw new Failure(`${what}: File exists`);
    if (found !== null) await fs.rm(place).catch(failWith(what));
    await fs.symlink(source, place).catch(failWith(what));
    return has("v") ? `'${path}' -> '${source}'\n` : undefined;
  });
});

export const linkPrograms: readonly CustomCommand[] = [rm, mv, ln];
