import type { Context, CustomCommand } from "../custom-command.ts";
import type { Stat } from "./file-facts.ts";
import { isFolder, nameOf, said, targetOf } from "./links.ts";
import { Failure, forEach, type Options, program, readOptions } from "./program.ts";

const names = {
  flags: "arRpPdLHfivnuTxl",
  valued: "tS",
  long: {
    archive: "a",
    recursive: "r",
    force: "f",
    interactive: "i",
    verbose: "v",
    "no-clobber": "n",
    update: "u",
    "no-target-directory": "T",
    "target-directory": "t",
    "no-dereference": "P",
    dereference: "L",
    parents: "x",
    preserve: "p",
  },
};

/** One thing that is copied, and where to. */
interface Copy {
  readonly path: string;
  readonly from: string;
  readonly found: Stat;
  readonly to: string;
  /** The name of the copy as it is shown. */
  readonly shown: string;
}

const isDeep = ({ has }: Options): boolean => has("r") || has("R") || has("a");

const followsLinks = (options: Options): boolean =>
  options.has("L") || !(isDeep(options) || options.has("P") || options.has("d"));

/** Copies what is at a place; a link as a link, unless links are followed. */
async function copy(context: Context, from: string, to: string, options: Options): Promise<void> {
  const { fs } = context;
  const found = await (followsLinks(options) ? fs.stat(from) : fs.lstat(from));
  if (found.isSymbolicLink) {
    const before = await fs.lstat(to).catch(() => null);
    if (before !== null) await fs.rm(to);
    return fs.symlink(await fs.readlink(from), to);
  }
  if (!found.isDirectory) await fs.cp(from, to);
  else {
    if (!(await isFolder(context, to))) await fs.mkdir(to);
    for (const name of await fs.readdir(from))
      await copy(context, `${from}/${name}`, `${to}/${name}`, options);
  }
  if (options.has("p") || options.has("a")) await fs.utimes(to, found.mtime, found.mtime);
}

/** Throws if a thing cannot be copied to its place; returns whether it has to be. */
async function isWanted(
  { fs }: Context,
  { path, from, found, to, shown }: Copy,
  options: Options,
): Promise<boolean> {
  const { has } = options;
  if (found.isDirectory && !isDeep(options))
    throw new Failure(`-r not specified; omitting directory '${path}'`);
  if (found.isDirectory && to !== from && `${to}/`.startsWith(`${from}/`))
    throw new Failure(`cannot copy a directory, '${path}', into itself, '${shown}'`);
  if (to === from) throw new Failure(`'${path}' and '${shown}' are the same file`);
  const before = await fs.stat(to).catch(() => null);
  if (before === null || found.isDirectory) return true;
  if (before.isDirectory) throw new Failure(`cannot overwrite directory '${shown}' with non-directory`);
  return !has("n") && !(has("u") && before.mtime >= found.mtime);
}

/** Copies files, folders and links. */
export const cp: CustomCommand = program("cp", async (args, context) => {
  const options = readOptions(args, names);
  const { has, value } = options;
  const { fs, cwd } = context;
  const { sources, target } = targetOf(options.operands, value("t"));
  const place = fs.resolvePath(cwd, target);
  const isInto = !has("T") && (await isFolder(context, place));
  if (!isInto && (sources.length > 1 || value("t") !== undefined))
    throw new Failure(`target '${target}': No such file or directory`);
  return forEach("cp", sources, async (path) => {
    const from = fs.resolvePath(cwd, path);
    const stat = followsLinks(options) ? fs.stat(from) : fs.lstat(from);
    const found = await stat.catch(said(`cannot stat '${path}'`));
    const inside = has("x") ? path : nameOf(path);
    if (has("x")) await fs.mkdir(fs.resolvePath(place, `${inside}/..`), { recursive: true });
    const shown = isInto ? `${target.replace(/\/$/, "")}/${inside}` : target;
    const to = isInto ? fs.resolvePath(place, inside === ".." ? "." : inside) : place;
    if (!(await isWanted(context, { path, from, found, to, shown }, options))) return undefined;
    await copy(context, from, to, options).catch(said(`cannot create regular file '${shown}'`));
    return has("v") ? `'${path}' -> '${shown}'\n` : undefined;
  });
});
