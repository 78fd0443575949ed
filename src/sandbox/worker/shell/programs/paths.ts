import { hexOf } from "../../../sha256.ts";
import type { CommandContext, CustomCommand } from "../custom-command.ts";
import { Failure, failWith, forEach, program, readOptions, succeed } from "./program.ts";

/** `mktemp` and `realpath`. */

/** Makes an empty file or folder and prints its name. */
const mktemp = program("mktemp", async (args, { fs, cwd }) => {
  const names = { flags: "dqt", valued: "ps", long: "directory:d quiet:q tmpdir:p suffix:s" };
  const { has, value, operands } = readOptions(args, names);
  const [template = "tmp.XXXXXXXXXX"] = operands;
  if (!template.includes("XXX")) throw new Failure(`too few X's in template '${template}'`);
  const letters = hexOf(crypto.getRandomValues(new Uint8Array(16)));
  const name = template.replace(/X{3,}(?!.*XXX)/, (marks) => letters.slice(0, marks.length));
  const isTemporary = has("t") || operands.length === 0;
  const folder = value("p") ?? (isTemporary ? "/tmp" : null);
  const shown = `${folder === null ? "" : `${folder}/`}${name}${value("s") ?? ""}`;
  const path = fs.resolvePath(cwd, shown);
  await (has("d") ? fs.mkdir(path) : fs.writeFile(path, "")).catch(failWith(`failed to create '${shown}'`));
  return succeed(`${folder === null ? path : shown}\n`);
});

/** Returns where a path leads; its last part need not exist. */
async function resolveLinks({ fs, cwd }: CommandContext, path: string): Promise<string> {
  const place = fs.resolvePath(cwd, path);
  const parent = fs.resolvePath(place, "..");
  return fs.realpath(place).catch(async () => {
    const found = await fs.realpath(parent).catch(failWith(path));
    return fs.resolvePath(found, place.slice(place.lastIndexOf("/") + 1));
  });
}

/** Prints where paths lead, links resolved. */
const realpath = program("realpath", (args, context) => {
  const { operands } = readOptions(args, { flags: "q", long: "quiet:q" });
  return forEach("realpath", operands, async (path) => `${await resolveLinks(context, path)}\n`);
});

export const pathPrograms: readonly CustomCommand[] = [mktemp, realpath];
