import type { GitContext, ObjectStore } from "#git";
import { decode } from "./line/answers.ts";
import type { FsStat, IFileSystem } from "just-bash/browser";
import { joinBytes } from "../files/bytes.ts";

/** Files of a tree, the index or the work tree, by their paths from the top of the repository. */
export type TrackedFiles = ReadonlyMap<string, TrackedFile>;

export interface TrackedFile {
  /** Git's mode: 0o100644, 0o100755, 0o120000 or 0o160000. */
  readonly mode: number;
  readonly hash: string;
}

/** Repository with a work tree, over the files of the shell. */
export interface WorkTree extends GitContext {
  readonly fs: GitContext["fs"] & Pick<IFileSystem, "chmod" | "lstat" | "readlink">;
  readonly workTree: string;
}

export const regularMode = 0o100644;
const executableMode = 0o100755;
export const linkMode = 0o120000;
const folderMode = 0o40000;

/** Returns git's mode of a file of the work tree. */
const modeOf = ({ isSymbolicLink, mode }: FsStat): number =>
  isSymbolicLink ? linkMode : (mode & 0o100) === 0 ? regularMode : executableMode;

/** Returns the type of a file by its mode: regular, link or submodule. */
export const typeOfMode = (mode: number): number => mode >> 12;

export const submoduleType = 0o16;

const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

interface IndexEntry extends TrackedFile {
  readonly path: string;
  /** 0, or the side of a conflict. */
  readonly stage: number;
  /** Offset in the index file. */
  readonly start: number;
  readonly end: number;
}

/** Byte offsets in the index file as the package writes it (version 2), and in each of its entries. */
const layout = { count: 8, header: 12, mode: 24, hash: 40, flags: 60, path: 62, padding: 8, checksum: 20 };

function* entriesOf(bytes: Uint8Array): Generator<IndexEntry> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = layout.header;
  for (let left = view.getUint32(layout.count); left > 0; left -= 1) {
    const nameAt = at + layout.path;
    const nameEnd = bytes.indexOf(0, nameAt);
    const end = at + Math.floor((nameEnd - at) / layout.padding + 1) * layout.padding;
    yield {
      path: decode(bytes.subarray(nameAt, nameEnd)),
      mode: view.getUint32(at + layout.mode),
      hash: hexOf(bytes.subarray(at + layout.hash, at + layout.flags)),
      stage: (view.getUint16(at + layout.flags) >> 12) & 3,
      start: at,
      end,
    };
    at = end;
  }
}

const indexPath = ({ gitDir }: GitContext): string => `${gitDir}/index`;

async function readIndexBytes(repository: GitContext): Promise<Uint8Array> {
  const path = indexPath(repository);
  return (await repository.fs.exists(path))
    ? repository.fs.readFileBuffer(path)
    : new Uint8Array(layout.header);
}

/** Reads the index: the files without a conflict, and the paths with one. */
export async function readIndex(
  repository: GitContext,
): Promise<{ readonly files: TrackedFiles; readonly unmerged: ReadonlySet<string> }> {
  const files = new Map<string, TrackedFile>();
  const unmerged = new Set<string>();
  for (const { path, mode, hash, stage } of entriesOf(await readIndexBytes(repository))) {
    if (stage === 0) files.set(path, { mode, hash });
    else unmerged.add(path);
  }
  return { files, unmerged };
}

/**
 * Changes the modes of these files in the index, or removes the files (null); returns a function that restores the
 * index.
 */
export async function editIndex(
  repository: GitContext,
  modes: ReadonlyMap<string, number | null>,
): Promise<() => Promise<void>> {
  const before = await readIndexBytes(repository);
  const header = before.slice(0, layout.header);
  const entries: Uint8Array[] = [];
  let end = layout.header;
  for (const entry of entriesOf(before)) {
    end = entry.end;
    const mode = entry.stage === 0 ? modes.get(entry.path) : undefined;
    if (mode === null) continue;
    const bytes = before.slice(entry.start, entry.end);
    if (mode !== undefined) new DataView(bytes.buffer).setUint32(layout.mode, mode);
    entries.push(bytes);
  }
  new DataView(header.buffer).setUint32(layout.count, entries.length);
  const content = joinBytes([header, ...entries, before.subarray(end, -layout.checksum)]);
  const checksum = new Uint8Array(await crypto.subtle.digest("SHA-1", content));
  await repository.fs.writeFile(indexPath(repository), joinBytes([content, checksum]));
  return () => repository.fs.writeFile(indexPath(repository), before);
}

/** What stands in a folder of a commit. */
export interface TreeEntry extends TrackedFile {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Lists what a folder of a commit holds; `content` is that of the tree object. */
export function listTree(content: Uint8Array): readonly TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < content.length;) {
    const end = content.indexOf(0, at);
    const [, digits = "", name = ""] = /^(\d+) (.*)$/s.exec(decode(content.subarray(at, end))) ?? [];
    const mode = Number.parseInt(digits, 8);
    at = end + 21;
    entries.push({ name, mode, hash: hexOf(content.subarray(end + 1, at)), isFolder: mode === folderMode });
  }
  return entries;
}

/** Adds the files of a tree, which is the content of a tree object. */
async function addTree(
  store: ObjectStore,
  content: Uint8Array,
  folder: string,
  files: Map<string, TrackedFile>,
): Promise<void> {
  for (const { name, mode, hash, isFolder } of listTree(content)) {
    if (isFolder) await addTree(store, (await store.read(hash)).content, `${folder}${name}/`, files);
    else files.set(folder + name, { mode, hash });
  }
}

/** Returns the files of a commit, tag or tree; null stands for the empty tree. */
export async function readTree(repository: GitContext, hash: string | null): Promise<TrackedFiles> {
  const files = new Map<string, TrackedFile>();
  for (let next = hash; next !== null;) {
    const { type, content } = await repository.objectStore.read(next);
    if (type === "tree") {
      await addTree(repository.objectStore, content, "", files);
      break;
    }
    next = /^(?:tree|object) ([0-9a-f]{40})$/m.exec(decode(content))?.[1] ?? null;
  }
  return files;
}

/** Returns the hash of the commit that HEAD names; null before the first commit. */
export async function readHead({ refStore }: GitContext): Promise<string | null> {
  let ref = await refStore.readRef("HEAD");
  while (ref?.type === "symbolic") ref = await refStore.readRef(ref.target);
  return ref?.hash ?? null;
}

/** Returns those of the files that the work tree has, with their modes there. Their hashes stay as they are. */
export async function readWorkTree(repository: WorkTree, files: TrackedFiles): Promise<TrackedFiles> {
  const config = `${repository.gitDir}/config`;
  const settings = (await repository.fs.exists(config)) ? await repository.fs.readFile(config) : "";
  const hasModes = !/^\s*filemode\s*=\s*false/im.test(settings);
  const found = new Map<string, TrackedFile>();
  for (const [path, file] of files) {
    const stat = await repository.fs.lstat(`${repository.workTree}/${path}`).catch(() => null);
    if (stat === null || stat.isDirectory !== (typeOfMode(file.mode) === submoduleType)) continue;
    found.set(path, hasModes && !stat.isDirectory ? { ...file, mode: modeOf(stat) } : file);
  }
  return found;
}

/** Returns the modes of `after` that differ from those of `before`, among the files that both have. */
export function changedModes(before: TrackedFiles, after: TrackedFiles): ReadonlyMap<string, number> {
  const modes = new Map<string, number>();
  for (const [path, { mode }] of after) if ((before.get(path)?.mode ?? mode) !== mode) modes.set(path, mode);
  return modes;
}

/** Returns the files whose mode in the work tree differs from that of the index, although both are files. */
export async function readModes(repository: WorkTree): Promise<ReadonlyMap<string, number>> {
  const { files } = await readIndex(repository);
  const modes = changedModes(files, await readWorkTree(repository, files));
  const isFile = (mode: number): boolean => typeOfMode(mode) === typeOfMode(regularMode);
  return new Map([...modes].filter(([path, mode]) => isFile(mode) && isFile(files.get(path)?.mode ?? 0)));
}
