import type { Context, CustomCommand } from "../custom-command.ts";
import { Failure, forEach, original, program, readOptions, reasonOf } from "./program.ts";

/** `rm` and `mv`, which take links for what they are. */

export const said =
  (what: string) =>
  (error: unknown): never => {
    throw new Failure(`${what}: ${reasonOf(error)}`);
  };

export const isFolder = ({ fs }: Context, place: string): Promise<boolean> =>
  fs.stat(place).then(
    (found) => found.isDirectory,
    () => false,
  );

const removal = {
  flags: "rRfivdI",
  long: { recursive: "r", force: "f", verbose: "v", interactive: "i", dir: "d", "preserve-root": "" },
};

const rm = program("rm", (args, context) => {
  const { has, operands } = readOptions(args, removal);
  if (operands.length === 0 && !has("f")) throw new Failure("missing operand");
  const isDeep = has("r") || has("R");
  return forEach("rm", operands, async (path) => {
    const place = context.fs.resolvePath(context.cwd, path);
    const what = `cannot remove '${path}'`;
    const found = await context.fs.lstat(place).catch((error: unknown) => {
      if (has("f") && reasonOf(error) === "No such file or directory") return null;
      return said(what)(error);
    });
    if (found === null) return undefined;
    if (found.isDirectory && !isDeep && !has("d")) throw new Failure(`${what}: Is a directory`);
    await context.fs.rm(place, { recursive: isDeep }).catch(said(what));
    return has("v") ? `removed ${found.isDirectory ? "directory " : ""}'${path}'\n` : undefined;
  });
});

/** The last operand, or the value of `-t`, and the others. */
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
  long: {
    force: "f",
    interactive: "i",
    "no-clobber": "n",
    verbose: "v",
    update: "u",
    "target-directory": "t",
    "no-target-directory": "T",
  },
};

const mv = program("mv", async (args, context) => {
  const { has, value, words, operands } = readOptions(args, moving);
  const { sources, target } = targetOf(operands, value("t"));
  const place = context.fs.resolvePath(context.cwd, target);
  if (value("t") !== undefined && !(await isFolder(context, place)))
    throw new Failure(`target '${target}': No such file or directory`);
  const flags = words.filter((word) => /^-[finv]$/.test(word));
  const newer = async (path: string): Promise<boolean> => {
    const [from, to] = [path, (await isFolder(context, place)) ? `${target}/${nameOf(path)}` : target].map(
      (each) => context.fs.stat(context.fs.resolvePath(context.cwd, each)).catch(() => null),
    );
    const [source, there] = [await from, await to];
    return there == null || source == null || source.mtime > there.mtime;
  };
  const chosen: string[] = [];
  for (const path of sources) if (!has("u") || (await newer(path))) chosen.push(path);
  return chosen.length === 0
    ? { stdout: "", stderr: "", exitCode: 0 }
    : original(context, [...flags, "--", ...chosen, target]);
});

export const linkPrograms: readonly CustomCommand[] = [rm, mv];
