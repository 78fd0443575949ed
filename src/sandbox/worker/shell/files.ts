import { Buffer } from "node:buffer";
import type { BufferEncoding, FileContent, FsStat, IFileSystem } from "just-bash/browser";
import { SandboxError } from "../../contract.ts";
import { workspacePath, workspaceRoot } from "../../paths.ts";
import { byteText } from "../byte-text.ts";
import { fail, posixName } from "../errors.ts";
import type { Disk, Entry } from "../files/files.ts";
import { runAtomically, listChildren, contentOf, extendFile } from "../files/files.ts";
import { requireEntry, requireFile, locate } from "../files/locate.ts";
import type { Found, Writer } from "../files/tree.ts";
import { checkWritable, makeFolder, makeLink, removeTree, touchEntry, writeFile } from "../files/tree.ts";
import { meter } from "../meter.ts";
import { copyFile, moveOver } from "./copy.ts";

type Encoding = BufferEncoding | { readonly encoding?: BufferEncoding | null } | undefined;

const encodingOf = (options: Encoding): BufferEncoding =>
  (typeof options === "string" ? options : options?.encoding) ?? "utf8";

const isText = (encoding: BufferEncoding): boolean => encoding === "utf8" || encoding === "utf-8";

/** Returns the bytes of a command's `content`. */
export function bytesOf(content: FileContent, options: Encoding): Uint8Array {
  if (typeof content !== "string") return content;
  const encoding = encodingOf(options);
  return isText(encoding) ? byteText.encode(content) : new Uint8Array(Buffer.from(content, encoding));
}

/** Returns the content that a command reads. */
export function contentFrom(bytes: Uint8Array, options: Encoding): string {
  const encoding = encodingOf(options);
  const { buffer, byteOffset, length } = bytes;
  return isText(encoding)
    ? byteText.decode(bytes)
    : Buffer.from(buffer, byteOffset, length).toString(encoding);
}

const statOf = (entry: Entry): FsStat => ({
  isFile: entry.type === "file",
  isDirectory: entry.type === "directory",
  isSymbolicLink: entry.type === "symlink",
  mode: entry.mode,
  size: entry.type === "symlink" ? (entry.target ?? "").length : entry.size,
  mtime: new Date(entry.mtime),
  dev: 1,
  ino: entry.id,
  identity: `workspace:${entry.id}`,
});

/** Operations between two turns of the event loop, so that timers and requests run during a busy command. */
const operationsPerTurn = 100;

/** Counts operations and periodically waits for one turn of the event loop. */
export function createTurns(): () => Promise<void> {
  let operations = 0;
  return async () => {
    operations += 1;
    if (operations % operationsPerTurn === 0) await meter.giveWay();
  };
}

/** Converts a path below the mount to a workspace path. */
const within = (path: string): string => workspacePath(`${workspaceRoot}/${path}`);

type Operator = <Result>(path: string, name: string, operation: (path: string) => Result) => Promise<Result>;

/** Wraps each operation: converts refusals to errors that commands know, and yields to the event loop. */
const operator =
  (turn: () => Promise<void>): Operator =>
  async (path, name, operation) => {
    await turn();
    try {
      return operation(within(path));
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      throw new Error(`${posixName(error)}, ${name} '${workspaceRoot}${path}'`, { cause: error });
    }
  };

function names(disk: Disk, path: string): Entry[] {
  const { entry } = requireEntry(disk, path);
  return entry.type === "directory"
    ? listChildren(disk, entry.id)
    : fail("conflict", `${path} is not a folder`);
}

/** Returns the stat for `[ -w ]` and `ls`: files that this command may not change look read-only. */
function shown(writer: Writer, { path, entry }: Found): FsStat {
  try {
    if (entry.type === "file") checkWritable(writer, path);
    return statOf(entry);
  } catch {
    return { ...statOf(entry), mode: entry.mode & 0o555 };
  }
}

function readers(disk: Disk, writer: Writer, run: Operator) {
  return {
    readFile: (path: string, options?: Encoding) =>
      run(path, "open", (file) => contentFrom(contentOf(disk, requireFile(disk, file).entry), options)),
    readFileBuffer: (path: string) =>
      run<Uint8Array>(path, "open", (file) => contentOf(disk, requireFile(disk, file).entry)),
    exists: (path: string) =>
      run(path, "access", (file) => locate(disk, file).entry !== null).catch(() => false),
    stat: (path: string) => run(path, "stat", (file) => shown(writer, requireEntry(disk, file))),
    lstat: (path: string) => run(path, "lstat", (file) => shown(writer, requireEntry(disk, file, false))),
    readdir: (path: string) =>
      run(path, "scandir", (folder) => names(disk, folder).map((entry) => entry.name)),
    readdirWithFileTypes: (path: string) =>
      run(path, "scandir", (folder) =>
        names(disk, folder).map((entry) => ({ name: entry.name, ...statOf(entry) })),
      ),
    readlink: (path: string) =>
      run(path, "readlink", (file) => {
        const { entry } = requireEntry(disk, file, false);
        return entry.target ?? fail("invalid_request", `${file} is not a link`);
      }),
    realpath: (path: string) =>
      run(path, "realpath", (file) => {
        const physical = requireEntry(disk, file).path;
        return physical === "." ? "/" : `/${physical}`;
      }),
  };
}

function append(disk: Disk, writer: Writer, path: string, bytes: Uint8Array): void {
  const place = locate(disk, path);
  checkWritable(writer, place.path);
  if (place.entry?.type === "file") extendFile(disk, place.path, place.entry, bytes, writer.name);
  else writeFile(disk, writer, path, bytes);
}

function removeAt(
  disk: Disk,
  writer: Writer,
  path: string,
  options: { recursive?: boolean; force?: boolean },
): void {
  const place = locate(disk, path, false);
  if (place.entry === null) {
    if (options.force !== true) fail("workspace_read_not_found", path);
    return;
  }
  const filled = place.entry.type === "directory" && listChildren(disk, place.entry.id).length > 0;
  if (filled && options.recursive !== true) fail("conflict", "ENOTEMPTY: directory not empty");
  removeTree(disk, writer, place.path, place.entry);
}

/** Refuses a path whose folder is missing. */
function checkFolder(disk: Disk, path: string): void {
  if (locate(disk, path).missing.length > 1) fail("workspace_read_not_found", path);
}

function writers(disk: Disk, writer: Writer, run: Operator) {
  const checked =
    (act: (path: string, bytes: Uint8Array) => void) =>
    (path: string, content: FileContent, options?: Encoding): Promise<void> =>
      run(path, "open", (file) => {
        checkFolder(disk, file);
        act(file, bytesOf(content, options));
      });
  return {
    writeFile: checked((file, bytes) => writeFile(disk, writer, file, bytes)),
    appendFile: checked((file, bytes) => append(disk, writer, file, bytes)),
    mkdir: (path: string, options: { recursive?: boolean } = {}) =>
      run(path, "mkdir", (folder) => {
        const place = locate(disk, folder);
        if (options.recursive !== true && place.entry !== null) fail("exists", folder);
        if (options.recursive !== true && place.missing.length > 1) fail("workspace_read_not_found", folder);
        makeFolder(disk, writer, folder);
      }),
    rm: (path: string, options: { recursive?: boolean; force?: boolean } = {}) =>
      run(path, "rm", (file) => removeAt(disk, writer, file, options)),
    cp: (source: string, destination: string) =>
      run(source, "cp", (from) => copyFile(disk, writer, from, within(destination))),
    mv: (source: string, destination: string) =>
      run(source, "mv", (from) => moveOver(disk, writer, from, within(destination))),
    chmod: (path: string, mode: number) =>
      run(path, "chmod", (file) => touchEntry(disk, writer, file, { mode })),
    utimes: (path: string, _accessed: Date, modified: Date) =>
      run(path, "utimes", (file) => touchEntry(disk, writer, file, { mtime: modified.getTime() })),
    symlink: (target: string, path: string) =>
      run(path, "symlink", (link) => makeLink(disk, writer, link, target)),
    link: (_: string, newPath: string) =>
      run<void>(newPath, "link", () => fail("unsupported", "hard links are not supported here")),
  };
}

/** Normalises an absolute path, without `.`, `..` and doubled slashes. */
function absolute(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") kept.pop();
    else if (segment !== "" && segment !== ".") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

/** Returns the workspace as commands see it under `/workspace`, without hard links, so that rules on paths hold. */
export function shellFiles(disk: Disk, writer: Writer, turn: () => Promise<void>): IFileSystem {
  const run = operator(turn);
  const change: Operator = (path, name, operation) =>
    run(path, name, (place) => runAtomically(disk, () => operation(place)));
  return {
    ...readers(disk, writer, run),
    ...writers(disk, writer, change),
    resolvePath: (base, path) => absolute(path.startsWith("/") ? path : `${base}/${path}`),
    getAllPaths: () => [],
  };
}
