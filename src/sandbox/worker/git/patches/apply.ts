import type { ExecResult } from "#git";
import { decode, fail, fine, refuse } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import { folderIn } from "../line/revisions.ts";
import type { Context, GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { linkMode, readIndex } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";
import { applyChange, BadPatch, readPatch, reverseChange } from "./read-patch.ts";
import type { PatchedFile } from "./read-patch.ts";

/** `git apply`: patches from files or the standard input, applied to the work tree or to the index. */

/** The files after a patch, by path; null if the patch deletes the file. */
type Outcomes = ReadonlyMap<string, { readonly text: string; readonly mode: number | null } | null>;

interface Applied {
  readonly outcomes: Outcomes;
  /** What did not fit, in git's words. */
  readonly errors: readonly string[];
}

/** Where the paths of patches lead. */
interface Place {
  readonly fs: Context["fs"];
  readonly root: string;
  /** Reads what stands in a file before; null if there is none. */
  readonly read: (path: string) => Promise<string | null>;
}

const outside = /(?:^|\/)\.\.(?:\/|$)|^\/|(?:^|\/)\.git(?:\/|$)/;

/** Returns what of a change cannot be applied here, whatever the file holds; null if nothing. */
function refusalOfChange({ from, to, isBinary, newMode, oldMode }: PatchedFile): string | null {
  const name = to ?? from;
  if (name === null) return "git diff header lacks filename information";
  const invalid = [from, to].find((path) => path !== null && outside.test(path));
  if (invalid !== undefined) return `invalid path '${invalid}'`;
  if (isBinary)
    return `cannot apply binary patch to '${name}' here; copy the file, or use git stash or git cherry-pick`;
  const isLink = newMode === linkMode || oldMode === linkMode;
  return isLink ? `cannot apply the patch of a link to '${name}' here; use ln -s` : null;
}

/** Returns what stands in the way of a path: it is a symbolic link or beyond one. */
async function faultOfPath({ fs, root }: Place, path: string): Promise<string | null> {
  for (const { index } of `${path}/`.matchAll(/\//g)) {
    const stat = await fs.lstat(`${root}/${path.slice(0, index)}`).catch(() => null);
    if (stat?.isSymbolicLink === true)
      return `affected file '${path}' is a symbolic link or beyond one; use ln -s`;
  }
  return null;
}

/** Returns what is wrong with a change before its hunks are looked at. */
async function faultOf(place: Place, change: PatchedFile): Promise<string | null> {
  const { read } = place;
  const refusal = refusalOfChange(change);
  if (refusal !== null) return refusal;
  for (const path of new Set([change.from, change.to])) {
    const fault = path === null ? null : await faultOfPath(place, path);
    if (fault !== null) return fault;
  }
  if (change.to === null) return null;
  const isNew = change.from === null || (change.isRename && change.from !== change.to);
  const exists = isNew && (await read(change.to)) !== null;
  return exists ? `${change.to}: already exists in working directory` : null;
}

async function readBefore(
  { read }: Place,
  path: string,
  outcomes: Map<string, { text: string; mode: number | null } | null>,
): Promise<string | null> {
  const known = outcomes.get(path);
  if (known !== undefined) return known?.text ?? null;
  return read(path);
}

/** Works out what patches make of files, without writing them. */
async function workOut(place: Place, changes: readonly PatchedFile[]): Promise<Applied> {
  const outcomes = new Map<string, { text: string; mode: number | null } | null>();
  const errors: string[] = [];
  for (const change of changes) {
    const { from, to } = change;
    const fault = await faultOf(place, change);
    if (fault !== null) {
      errors.push(fault);
      continue;
    }
    const before = from === null ? "" : await readBefore(place, from, outcomes);
    if (before === null) errors.push(`${from}: No such file or directory`);
    else {
      const after = applyChange(before, change);
      if (typeof after === "number")
        errors.push(`patch failed: ${from}:${after}`, `${from}: patch does not apply`);
      else {
        if (from !== null && from !== to) outcomes.set(from, null);
        if (to !== null) outcomes.set(to, { text: after, mode: change.newMode });
      }
    }
  }
  return { outcomes, errors };
}

async function writeOutcomes({ fs, root }: Place, outcomes: Outcomes): Promise<void> {
  for (const [path, outcome] of outcomes) {
    const file = `${root}/${path}`;
    if (outcome === null) {
      await fs.rm(file);
      for (let folder = path; folder.includes("/");) {
        folder = folder.slice(0, folder.lastIndexOf("/"));
        if ((await fs.readdir(`${root}/${folder}`)).length > 0) break;
        await fs.rm(`${root}/${folder}`, { recursive: true });
      }
    } else {
      await fs.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
      await fs.writeFile(file, outcome.text);
      if (outcome.mode !== null) await fs.chmod(file, outcome.mode & 0o777);
    }
  }
}

const ownOptions = ["--check", "-R", "--index", "--cached", "-p ", "--directory="];

/** Returns the standard input as text. */
function textOf(stdin: Context["stdin"]): string {
  const raw: unknown = stdin;
  if (typeof raw !== "string") return "";
  const bytes = Uint8Array.from(raw, (character) => character.charCodeAt(0));
  return /[^\0-\xff]/.test(raw) ? raw : decode(bytes);
}

/** Reads the patches of these files; of the standard input if there are none. */
async function readInputs(context: Context, files: readonly string[]): Promise<string | ExecResult> {
  const unknown = files.find((file) => /^-./.test(file));
  if (unknown !== undefined) return refuse("git apply", unknown, "apply the patch without it");
  const texts: string[] = [];
  for (const file of files.length === 0 ? ["-"] : files) {
    const path = context.fs.resolvePath(context.cwd, file);
    const text = file === "-" ? textOf(context.stdin) : await context.fs.readFile(path).catch(() => null);
    if (text === null) return fail(`error: can't open patch '${file}': No such file or directory\n`, 128);
    texts.push(text);
  }
  return texts.join("");
}

/** Returns what to read files from: the work tree, or the index. */
async function placeFor(
  repository: WorkTree | null,
  { fs, cwd }: Context,
  isCached: boolean,
): Promise<Place> {
  const root = repository?.workTree ?? cwd;
  if (repository === null || !isCached)
    return {
      fs,
      root,
      read: async (path) => {
        const content = await fs.readFileBuffer(`${root}/${path}`).catch(() => null);
        return content === null ? null : decode(content);
      },
    };
  const { files } = await readIndex(repository);
  const read = async (path: string): Promise<string | null> => {
    const hash = files.get(path)?.hash;
    return hash === undefined ? null : decode((await repository.objectStore.read(hash)).content);
  };
  return { fs, root, read };
}

/** Stages the files of outcomes as they are in the work tree. */
async function stageOutcomes(place: Place, command: GitCommand, outcomes: Outcomes): Promise<void> {
  const args = ["add", ...[...outcomes.keys()].map((path) => `./${path}`)];
  await run({ ...command, args, context: { ...command.context, cwd: place.root } });
}

/** Applies outcomes to the index alone: the files of the work tree are brought back. */
async function cacheOutcomes(place: Place, command: GitCommand, outcomes: Outcomes): Promise<void> {
  const { fs, root } = place;
  const before = new Map<string, Uint8Array | null>();
  for (const path of outcomes.keys())
    before.set(path, await fs.readFileBuffer(`${root}/${path}`).catch(() => null));
  const present = new Map(
    [...outcomes].filter(([path, outcome]) => outcome !== null || before.get(path) !== null),
  );
  await writeOutcomes(place, present);
  await stageOutcomes(place, command, outcomes);
  for (const [path, content] of before) {
    if (content === null) await fs.rm(`${root}/${path}`, { force: true });
    else await fs.writeFile(`${root}/${path}`, content);
  }
}

/** Reads changes from patches; returns a failure if they are not well formed. */
function readChanges(
  text: string,
  options: ReadonlyMap<string, string>,
): readonly PatchedFile[] | ExecResult {
  try {
    const changes = readPatch(text, Number(options.get("-p") ?? 1));
    return options.has("-R") ? changes.map(reverseChange) : changes;
  } catch (error) {
    if (error instanceof BadPatch) return fail(`error: ${error.message}\n`, 128);
    throw error;
  }
}

/** Returns whether a change is of a file in this folder: git leaves out what stands outside the one that it runs in. */
const isBelow = ({ from, to }: PatchedFile, folder: string): boolean =>
  folder === "" || (to ?? from ?? "").startsWith(`${folder}/`);

/** Applies patches, or says whether they fit. */
export async function applyPatches(repository: WorkTree | null, command: GitCommand): Promise<ExecResult> {
  const { context } = command;
  const { options, args } = takeOptions(command.args, ownOptions);
  const text = await readInputs(
    context,
    args.slice(1).filter((arg) => arg !== "--"),
  );
  if (typeof text !== "string") return text;
  const all = readChanges(text.replace(/^\ufeff/, ""), options);
  if (!("length" in all)) return all;
  const folder = repository === null ? "" : folderIn(repository, context);
  const changes = all.filter((change) => isBelow(change, folder));
  const isCached = options.has("--cached");
  const place = await placeFor(repository, context, isCached);
  const { outcomes, errors } = await workOut(place, changes);
  if (errors.length > 0) return fail(errors.map((error) => `error: ${error}\n`).join(""), 1);
  if (options.has("--check")) return fine();
  await (isCached ? cacheOutcomes(place, command, outcomes) : writeOutcomes(place, outcomes));
  return fine();
}
