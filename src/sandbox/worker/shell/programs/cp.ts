import type { CommandContext, CustomCommand } from "../custom-command.ts";
import { isFolder, type Stat, statOf } from "./file-facts.ts";
import { nameOf, targetOf } from "./links.ts";
import { Failure, failWith, forEach, type Options, program, readOptions } from "./program.ts";

const names = {
  flags: "arRpPdLHfivnuT",
  valued: "t",
  long: "archive:a recursive:r force:f interactive:i verbose:v no-clobber:n update:u no-target-directory:T target-directory:t no-dereference:P dereference:L preserve:p",
};

const isDeep = ({ has }: Options): boolean => has("r") || has("R") || has("a");

const followsLinks = (options: Options): boolean =>
  options.has("L") || !(isDeep(options) || options.has("P") || options.has("d"));

/** A thing that is copied, and where to, by absolute paths; and the name of the copy for errors. */
interface Copy {
  readonly from: string;
  readonly to: string;
  readonly path: string;
  readonly shown: string;
  /** Real paths of the folders around it, among which a link may not lead. */
  readonly around: readonly string[];
}

/** Copies a file or a link, unless `-n` or `-u` spares the file in its place. */
async function copyFile(
  context: CommandContext,
  { from, to, shown }: Copy,
  found: Stat,
  { has }: Options,
): Promise<void> {
  const { fs } = context;
  const failing = failWith(`cannot create regular file '${shown}'`);
  const before = await fs.lstat(to).catch(() => null);
  if (before !== null && (has("n") || (has("u") && before.mtime >= found.mtime))) return;
  if (await isFolder(context, to))
    throw new Failure(`cannot overwrite directory '${shown}' with non-directory`);
  if (!found.isSymbolicLink) return fs.cp(from, to).catch(failing);
  if (before !== null) await fs.rm(to).catch(failing);
  return fs.symlink(await fs.readlink(from), to).catch(failing);
}

/** Copies a thing: a folder with its entries, a link as a link, unless links are followed. */
async function copy(context: CommandContext, one: Copy, options: Options): Promise<void> {
  const { fs } = context;
  const { from, to, path, shown } = one;
  const found = await statOf(context, from, "cannot stat", followsLinks(options));
  if (!found.isDirectory) await copyFile(context, one, found, options);
  else {
    const real = await fs.realpath(from);
    if (one.around.includes(real)) throw new Failure(`cannot copy cyclic symbolic link '${path}'`);
    if (!(await isFolder(context, to)))
      await fs.mkdir(to).catch(failWith(`cannot create directory '${shown}'`));
    const around = [...one.around, real];
    for (const name of await fs.readdir(from)) {
      const below = (folder: string): string => `${folder.replace(/\/$/, "")}/${name}`;
      await copy(
        context,
        { from: below(from), to: below(to), path: below(path), shown: below(shown), around },
        options,
      );
    }
  }
  const keepsTime = (options.has("p") || options.has("a")) && !found.isSymbolicLink;
  if (keepsTime) await fs.utimes(to, found.mtime, found.mtime);
}

/** Throws if a thing cannot be copied to its place. */
async function check(
  context: CommandContext,
  { path, from, to, shown }: Copy,
  options: Options,
): Promise<void> {
  const found = await statOf(context, path, "cannot stat", followsLinks(options));
  if (found.isDirectory && !isDeep(options))
    throw new Failure(`-r not specified; omitting directory '${path}'`);
  if (found.isDirectory && to !== from && `${to}/`.startsWith(`${from}/`))
    throw new Failure(`cannot copy a directory, '${path}', into itself, '${shown}'`);
  if (to === from) throw new Failure(`'${path}' and '${shown}' are the same file`);
}

/** Copies files, folders and links. */
export const cp: CustomCommand = program("cp", async (args, context) => {
  const options = readOptions(args, names);
  const { has } = options;
  const { fs, cwd } = context;
  const { sources, target, isInto } = await targetOf(options, context);
  const place = fs.resolvePath(cwd, target);
  return forEach("cp", sources, async (path) => {
    const inside = nameOf(path);
    const shown = isInto ? `${target.replace(/\/$/, "")}/${inside}` : target;
    const to = isInto ? fs.resolvePath(place, inside === ".." ? "." : inside) : place;
    const one = { path, from: fs.resolvePath(cwd, path), to, shown, around: [] };
    await check(context, one, options);
    await copy(context, one, options);
    return has("v") ? `'${path}' -> '${shown}'\n` : undefined;
  });
});
