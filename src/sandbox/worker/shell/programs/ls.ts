import type { CommandContext, CustomCommand } from "../custom-command.ts";
import type { Stat } from "./file-facts.ts";
import { humanSize, modeText, months, owner, statOf, two } from "./file-facts.ts";
import { Failure, forEach, type Options, program, readOptions, succeed } from "./program.ts";

const names = {
  flags: "aAlhdRrtSU1FpnvCxLHkNqQBc",
  valued: "w",
  long: "all:a almost-all:A human-readable:h directory:d recursive:R reverse:r group-directories-first:x color: classify:F full-time:l time-style: width:w",
};

interface Item {
  readonly name: string;
  readonly found: Stat;
  readonly target: string | null;
}

type Order = (a: Item, b: Item) => number;

const byName: Order = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

function sorted(items: Item[], { has }: Options): Item[] {
  if (has("U")) return items;
  const time: Order = (a, b) => b.found.mtime.getTime() - a.found.mtime.getTime();
  const size: Order = (a, b) => b.found.size - a.found.size;
  const first: Order | null = has("t") ? time : has("S") ? size : null;
  items.sort((a, b) => first?.(a, b) || byName(a, b));
  if (has("r")) items.reverse();
  if (has("x")) items.sort((a, b) => Number(b.found.isDirectory) - Number(a.found.isDirectory));
  return items;
}

const markOf = ({ found }: Item, { has }: Options): string => {
  if (found.isDirectory) return has("F") || has("p") ? "/" : "";
  if (!has("F")) return "";
  if (found.isSymbolicLink) return has("l") ? "" : "@";
  return found.mode & 0o111 ? "*" : "";
};

const halfYear = 182 * 24 * 3600 * 1000;

const timeOf = (time: Date): string => {
  const clock = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
  const isOld = Math.abs(Date.now() - time.getTime()) > halfYear;
  const day = String(time.getUTCDate()).padStart(2);
  return `${months[time.getUTCMonth()] ?? ""} ${day} ${isOld ? ` ${time.getUTCFullYear()}` : clock}`;
};

/** One line per item; of `ls -l`, its columns are as wide as they have to be. */
function linesFor(items: readonly Item[], options: Options): string {
  const { has } = options;
  const sizes = items.map(({ found }) => (has("h") ? humanSize(found.size) : String(found.size)));
  const width = Math.max(0, ...sizes.map((size) => size.length));
  const lines = items.map((item, at) => {
    const name = `${item.name}${markOf(item, options)}`;
    if (!has("l")) return `${name}\n`;
    const arrow = item.target === null ? "" : ` -> ${item.target}`;
    const links = item.found.isDirectory ? 2 : 1;
    const facts = [modeText(item.found), links, owner, owner, (sizes[at] ?? "").padStart(width)];
    return `${facts.join(" ")} ${timeOf(item.found.mtime)} ${name}${arrow}\n`;
  });
  return lines.join("");
}

async function itemAt(context: CommandContext, path: string, name: string, follow: boolean): Promise<Item> {
  const found = await statOf(context, path, "cannot access", follow);
  const place = context.fs.resolvePath(context.cwd, path);
  return { name, found, target: found.isSymbolicLink ? await context.fs.readlink(place) : null };
}

const blocksOf = (items: readonly Item[]): number =>
  items.reduce((sum, { found }) => sum + (found.isSymbolicLink ? 0 : Math.ceil(found.size / 4096) * 4), 0);

const isShown = (name: string, { has }: Options): boolean => has("a") || has("A") || !name.startsWith(".");

async function listFolder(context: CommandContext, path: string, options: Options): Promise<readonly Item[]> {
  const { has } = options;
  const found = await context.fs.readdir(context.fs.resolvePath(context.cwd, path));
  const special = has("a") && !has("A") ? [".", ".."] : [];
  const items: Item[] = [];
  for (const name of [...special, ...found.filter((each) => isShown(each, options))])
    items.push(await itemAt(context, `${path}/${name}`, name, has("L")));
  return sorted(items, options);
}

async function printFolders(
  context: CommandContext,
  folders: readonly string[],
  options: Options,
  isTitled: boolean,
): Promise<readonly string[]> {
  const parts: string[] = [];
  for (const path of folders) {
    const items = await listFolder(context, path, options);
    const total = options.has("l") ? `total ${blocksOf(items)}\n` : "";
    parts.push(`${isTitled ? `${path}:\n` : ""}${total}${linesFor(items, options)}`);
    if (!options.has("R")) continue;
    const inside = items.filter(({ name, found }) => found.isDirectory && !/^\.\.?$/.test(name));
    const paths = inside.map(({ name }) => `${path.replace(/\/$/, "")}/${name}`);
    parts.push(...(await printFolders(context, paths, options, true)));
  }
  return parts;
}

/** Returns an operand as it is listed: a link to a folder as that folder, unless links themselves are shown. */
async function operandAt(context: CommandContext, path: string, { has }: Options): Promise<Item> {
  const own = await itemAt(context, path, path, has("L"));
  const shows = has("d") || (has("l") && !path.endsWith("/"));
  if (own.target === null || shows) return own;
  const led = await itemAt(context, path, path, true).catch(() => own);
  return led.found.isDirectory ? led : own;
}

/** Lists files and folders, one per line. */
export const ls: CustomCommand = program("ls", async (args, context) => {
  const options = readOptions(args, names);
  if (options.has("L") && options.has("R")) throw new Failure("-L with -R is not supported here", 2);
  const operands = options.operands.length === 0 ? ["."] : options.operands;
  const files: Item[] = [];
  const folders: Item[] = [];
  const { stderr, exitCode } = await forEach("ls", operands, async (path) => {
    const item = await operandAt(context, path, options);
    (item.found.isDirectory && !options.has("d") ? folders : files).push(item);
    return undefined;
  });
  const paths = sorted(folders, options).map(({ name }) => name);
  const isTitled = operands.length > 1 || options.has("R");
  const own = files.length === 0 ? [] : [linesFor(sorted(files, options), options)];
  const parts = [...own, ...(await printFolders(context, paths, options, isTitled))];
  return { ...succeed(parts.join("\n")), stderr, exitCode: exitCode * 2 };
});
