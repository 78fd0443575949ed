import type { CommandContext } from "../custom-command.ts";
import { failWith } from "./program.ts";

/** Facts that `ls`, `stat` and others print about a file. */

export type Stat = Awaited<ReturnType<CommandContext["fs"]["stat"]>>;

export const owner = "user";

/** Returns the mode as `ls -l` shows it: `-rwxr-xr-x`. */
export function modeText({ mode, isDirectory, isSymbolicLink }: Stat): string {
  const kind = isSymbolicLink ? "l" : isDirectory ? "d" : "-";
  const bits = isSymbolicLink ? 0o777 : mode;
  const rights = [..."rwxrwxrwx"].map((letter, at) => ((bits >> (8 - at)) & 1 ? letter : "-"));
  return kind + rights.join("");
}

export const kindText = ({ isDirectory, isSymbolicLink, size }: Stat): string => {
  if (isSymbolicLink) return "symbolic link";
  return isDirectory ? "directory" : size === 0 ? "regular empty file" : "regular file";
};

export const two = (value: number): string => String(value).padStart(2, "0");

export const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Returns a size as `ls -h` shows it: `1.5K`. */
export function humanSize(size: number): string {
  if (size < 1024) return String(size);
  let value = size;
  let unit = -1;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    unit += 1;
  }
  const rounded = value < 10 ? Math.ceil(value * 10) / 10 : Math.ceil(value);
  return `${value < 10 ? rounded.toFixed(1) : rounded}${"KMGTP".charAt(unit)}`;
}

export const statOf = (
  context: CommandContext,
  path: string,
  what: string,
  follow: boolean,
): Promise<Stat> => {
  const place = context.fs.resolvePath(context.cwd, path);
  return (follow ? context.fs.stat(place) : context.fs.lstat(place)).catch(failWith(`${what} '${path}'`));
};

export const isFolder = ({ fs, cwd }: CommandContext, path: string): Promise<boolean> =>
  fs.stat(fs.resolvePath(cwd, path)).then(
    (found) => found.isDirectory,
    () => false,
  );
