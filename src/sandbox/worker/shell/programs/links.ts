import type { Context, CustomCommand } from "../custom-command.ts";
import { isFolder } from "./file-facts.ts";
import { Failure, failWith, forEach, original, program, readOptions, reasonOf, succeed } from "./program.ts";

/** `rm` and `mv`, which never follow a link that they are given. */

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

/** Returns the last operand, or the value of `-t`, and the others. */
export function targetOf(
  operands: readonly string[],
  folder: string | undefined,
): { readonly sources: readonly string[]; readonly target: string } {
  const sources = folder === undefined ? operands.slice(0, -1) : operands;
  const target = folder ?? operands.at(-1);
  if (sources.length > 0 && target !== undefined) return { sources, target };
  const [only] = operands;
  throw new Failure(
    only === undefined ? "missing file operand" : `missing destination file operand after '${only}'`,
  );
}

export const nameOf = (path: string): string => /([^/]*)\/*$/.exec(path)?.[1] ?? path;

const moving = {
  flags: "finvuT",
  valued: "t",
  long: "force:f interactive:i no-clobber:n verbose:v update:u target-directory:t no-target-directory:T",
};

/** Returns when a file changed; NaN if there is none. */
const timeOf = async ({ fs, cwd }: Context, path: string): Promise<number> =>
  (await fs.stat(fs.resolvePath(cwd, path)).catch(() => null))?.mtime.getTime() ?? NaN;

const mv = program("mv", async (args, context) => {
  const { has, value, words, operands } = readOptions(args, moving);
  const { sources, target } = targetOf(operands, value("t"));
  const isInto = await isFolder(context, target);
  if (value("t") !== undefined && !isInto) throw new Failure(`target '${target}': No such file or directory`);
  if (has("T") && isInto) throw new Failure(`cannot overwrite directory '${target}' with -T here`);
  const chosen: string[] = [];
  for (const path of sources) {
    const to = isInto ? `${target}/${nameOf(path)}` : target;
    const isOlder = (await timeOf(context, path)) <= (await timeOf(context, to));
    if (!has("u") || !isOlder) chosen.push(path);
  }
  if (chosen.length === 0) return succeed();
  return original(context, [...words.filter((word) => /^-[finv]$/.test(word)), "--", ...chosen, target]);
});

export const linkPrograms: readonly CustomCommand[] = [rm, mv];
