import type { CommandContext, CustomCommand } from "../custom-command.ts";
import type { Stat } from "./file-facts.ts";
import { kindText, modeText, owner, statOf } from "./file-facts.ts";
import { Failure, forEach, program, readOptions } from "./program.ts";

const seconds = (time: Date): string => String(Math.floor(time.getTime() / 1000));

const stamp = (time: Date): string => `${time.toISOString().replace("T", " ").replace("Z", "")}000000 +0000`;

const alike = (letters: string, value: string): Record<string, string> =>
  Object.fromEntries([...letters].map((letter) => [letter, value]));

const facts = (path: string, found: Stat, target: string | null): Readonly<Record<string, string>> => ({
  n: path,
  N: target === null ? `'${path}'` : `'${path}' -> '${target}'`,
  s: String(found.size),
  a: (found.mode & 0o7777).toString(8),
  A: modeText(found),
  F: kindText(found),
  i: String(found.ino ?? 1),
  b: String(Math.ceil(found.size / 512)),
  f: (found.mode & 0o7777).toString(16),
  ...alike("UG", owner),
  ...alike("ug", "1000"),
  ...alike("hdD", "1"),
  ...alike("xyzw", stamp(found.mtime)),
  ...alike("XYZW", seconds(found.mtime)),
  B: "512",
  o: "4096",
  m: "/",
  "%": "%",
});

const whole = [
  "  File: %N",
  "  Size: %s\t\tBlocks: %b\tIO Block: %o\t%F",
  "Device: %d\tInode: %i\tLinks: %h",
  "Access: (0%a/%A)  Uid: ( %u/ %U)   Gid: ( %g/ %G)",
  "Access: %x",
  "Modify: %y",
  "Change: %z",
].join("\n");

const plain = (format: string): string =>
  format.replace(/\\([nt\\])/g, (_, letter: string) => ({ n: "\n", t: "\t" })[letter] ?? letter);

const describe = async (
  path: string,
  format: string,
  follow: boolean,
  context: CommandContext,
): Promise<string> => {
  const found = await statOf(context, path, "cannot statx", follow);
  const place = context.fs.resolvePath(context.cwd, path);
  const known = facts(path, found, found.isSymbolicLink ? await context.fs.readlink(place) : null);
  return format.replace(/%[-0 ]*(\d{0,3})(?:\.\d+)?([a-zA-Z%])/g, (text, width: string, letter: string) =>
    (known[letter] ?? text).padStart(Number(width)),
  );
};

/** Prints facts about files in a given format. */
export const stat: CustomCommand = program("stat", async (args, context) => {
  const names = { flags: "L", valued: "cp", long: "format:c printf:p dereference:L" };
  const { has, value, operands } = readOptions(args, names);
  if (operands.length === 0) throw new Failure("missing operand");
  const format = has("p") ? plain(value("p") ?? "") : `${value("c") ?? whole}\n`;
  return forEach("stat", operands, (path) => describe(path, format, has("L"), context));
});
