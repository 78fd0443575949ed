import type { ExecResult, RawObject } from "#git";
import { decode, fail, fine } from "../line/answers.ts";
import { limitedTo } from "../diff.ts";
import { plainIn, takeOptions } from "../line/flags.ts";
import { limitOf, resolveObject } from "../line/revisions.ts";
import { findMergeBase } from "../merge-base.ts";
import { quoteName } from "../names.ts";
import type { Context, GitCommand } from "../run-package.ts";
import { listTree, readTree } from "../tracked-files.ts";
import type { TrackedFile, TreeEntry, WorkTree } from "../tracked-files.ts";
import { showDiff } from "./show-diff.ts";
import { showLog } from "./show-log.ts";
import { listOthers } from "./show-status.ts";

/** Commands for scripts that the package lacks: objects, folders of commits, lists of commits, ignored files. */

const typeOf = (mode: number): string => (mode === 0o40000 ? "tree" : mode === 0o160000 ? "commit" : "blob");

const entryLine = ({ mode, hash }: TrackedFile, name: string): string =>
  `${mode.toString(8).padStart(6, "0")} ${typeOf(mode)} ${hash}\t${name}\n`;

/** What git says of an object that is there, by the form that is asked for. */
function describeObject({ type, content }: RawObject, form: string): ExecResult {
  const forms: Readonly<Record<string, string>> = {
    "-e": "",
    "-t": `${type}\n`,
    "-s": `${content.length}\n`,
  };
  const told = forms[form];
  if (told !== undefined) return fine(told);
  if (form !== "-p" && form !== type)
    return fail(`error: git cat-file has -e, -p, -s, -t and types here, not ${form} of a ${type}\n`, 129);
  const entries = type === "tree" ? listTree(content) : null;
  return fine(entries?.map((entry) => entryLine(entry, entry.name)).join("") ?? decode(content));
}

/** Says what an object is, or what it holds. */
export async function catFile(repository: WorkTree, { args, context }: GitCommand): Promise<ExecResult> {
  const [, form = "", name = ""] = args;
  const hash = await resolveObject(repository, context, name);
  const object = hash === null ? null : await repository.objectStore.read(hash).catch(() => null);
  if (object !== null) return describeObject(object, form);
  return form === "-e" ? fail("", 1) : fail(`fatal: Not a valid object name ${name}\n`, 128);
}

/** Lists what stands in folders of a commit. */
async function listFolders(
  repository: WorkTree,
  context: Context,
  name: string,
  folders: readonly string[],
): Promise<ReadonlyMap<string, TrackedFile>> {
  const files = new Map<string, TrackedFile>();
  for (const folder of folders) {
    const revision = folder === "" ? name : `${name.replace(/:.*$/, "")}:${folder}`;
    const hash = await resolveObject(repository, context, revision);
    const tree = hash === null ? null : await resolveTree(repository, hash);
    for (const entry of tree ?? []) files.set(folder === "" ? entry.name : `${folder}/${entry.name}`, entry);
  }
  return files;
}

/** What the folder of a commit or tree holds. */
async function resolveTree(
  { objectStore }: Pick<WorkTree, "objectStore">,
  hash: string,
): Promise<readonly TreeEntry[]> {
  const { type, content } = await objectStore.read(hash);
  if (type === "tree") return listTree(content);
  const next = /^(?:tree|object) ([0-9a-f]{40})$/m.exec(decode(content))?.[1];
  return type === "blob" || next === undefined ? [] : resolveTree({ objectStore }, next);
}

const treeOptions = ["-r", "--name-only", "--full-tree", "--full-name", "--name-status"];

/** Lists the files of a commit, of its top or of all folders. */
export async function lsTree(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { context, asciiOnly } = command;
  const { options, args } = takeOptions(command.args, treeOptions);
  const [name = "HEAD", ...paths] = args.slice(1).filter((arg) => arg !== "--");
  const unknown = args.slice(1).find((arg) => /^-[^-]|^--./.test(arg));
  if (unknown !== undefined) return fail(`error: git ls-tree has no option ${unknown} here\n`, 129);
  const hash = await resolveObject(repository, context, name);
  if (hash === null) return fail(`fatal: Not a valid object name ${name}\n`, 128);
  const isIn = limitedTo(paths.map((path) => limitOf(repository, context, path)));
  const folders = paths.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1));
  const files = options.has("-r")
    ? await readTree(repository, hash)
    : await listFolders(repository, context, name, folders.length === 0 ? [""] : folders);
  const hasNames = options.has("--name-only") || options.has("--name-status");
  const lines = [...files]
    .filter(([path]) => isIn(path))
    .map(([path, file]) => {
      const shown = quoteName(path, asciiOnly);
      return hasNames ? `${shown}\n` : entryLine(file, shown);
    });
  return fine(lines.join(""));
}

/** Says the hash of files, and keeps their content if it is told to. */
export async function hashObject(repository: WorkTree, { args, context }: GitCommand): Promise<ExecResult> {
  const files = args.slice(1).filter((arg) => !arg.startsWith("-") && arg !== "blob");
  const stdin: unknown = context.stdin;
  const input =
    typeof stdin === "string"
      ? Uint8Array.from(stdin, (character) => character.charCodeAt(0))
      : new Uint8Array();
  const contents: Uint8Array[] = args.includes("--stdin") ? [input] : [];
  for (const file of files) {
    const content = await context.fs
      .readFileBuffer(context.fs.resolvePath(context.cwd, file))
      .catch(() => null);
    if (content === null)
      return fail(`fatal: could not open '${file}' for reading: No such file or directory\n`, 128);
    contents.push(content);
  }
  const hashes: string[] = [];
  for (const content of contents) {
    const head = new TextEncoder().encode(`blob ${content.length}\0`);
    const digest = new Uint8Array(
      await crypto.subtle.digest("SHA-1", Uint8Array.from([...head, ...content])),
    );
    hashes.push(Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""));
    if (args.includes("-w")) await repository.objectStore.write("blob", content);
  }
  return fine(hashes.map((hash) => `${hash}\n`).join(""));
}

/** Lists or counts commits. */
export async function revList(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, [
    "--count",
    "--max-parents=",
    "--no-commit-header",
    "--abbrev-commit",
  ]);
  const form = options.has("--abbrev-commit") ? "%h" : "%H";
  const hasForm = args.some((arg) => /^--(?:format|pretty)=/.test(arg));
  const result = await showLog(repository, {
    ...given,
    args: ["log", ...(hasForm ? [] : [`--format=${form}%x09%P`]), ...args.slice(1)],
  });
  if (result.exitCode !== 0 || hasForm) return result;
  const most = Number(options.get("--max-parents") ?? Infinity);
  const hashes = result.stdout.split("\n").flatMap((line) => {
    const [hash = "", parents = ""] = line.split("\t");
    return hash === "" || parents.split(" ").filter(Boolean).length > most ? [] : [hash];
  });
  return fine(options.has("--count") ? `${hashes.length}\n` : hashes.map((hash) => `${hash}\n`).join(""));
}

/** Names those of the paths that are ignored. */
export async function checkIgnore(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const { args, context } = command;
  if (args.includes("-v"))
    return fail("error: git check-ignore has no -v here; without it, it names what is ignored\n", 129);
  const paths = plainIn(args);
  const open = new Set(await listOthers(repository, command, true));
  const all = await listOthers(repository, command, false);
  const ignored = paths.filter((path) => {
    const isIn = limitedTo([limitOf(repository, context, path)]);
    const below = all.filter(isIn);
    return below.length > 0 && below.every((each) => !open.has(each));
  });
  const isQuiet = args.includes("-q") || args.includes("--quiet");
  const stdout = isQuiet ? "" : ignored.map((path) => `${path}\n`).join("");
  return { stdout, stderr: "", exitCode: ignored.length > 0 ? 0 : 1 };
}

/** Compares a commit with its parent, or two commits. */
export async function diffTree(repository: WorkTree, given: GitCommand): Promise<ExecResult> {
  const { options, args } = takeOptions(given.args, [
    "--no-commit-id",
    "-r",
    "--root",
    "-m",
    "-c",
    "--cc",
    "-t",
  ]);
  const revisions = plainIn(args);
  const forms = args.slice(1).filter((arg) => arg.startsWith("-"));
  if (forms.length === 0)
    return fail(
      "error: git diff-tree has no raw form here; use --name-only, --name-status, --stat or -p\n",
      129,
    );
  const [first = "HEAD", second] = revisions;
  if (second !== undefined)
    return showDiff(repository, { ...given, args: ["diff", ...forms, first, second] });
  const hash = await resolveObject(repository, given.context, first);
  const shown = await showLog(repository, {
    ...given,
    args: ["log", "-n", "1", "--format=", ...forms, first],
  });
  return options.has("--no-commit-id") ? shown : { ...shown, stdout: `${hash}\n${shown.stdout}` };
}

/** Compares files with a commit or the index. */
export const diffFiles = (repository: WorkTree, given: GitCommand): Promise<ExecResult> =>
  showDiff(repository, {
    ...given,
    args: ["diff", ...given.args.slice(1).filter((arg) => !/^(?:-r|--)$/.test(arg))],
  });

/** Says where histories part, or whether one commit comes from another. */
export async function mergeBase(repository: WorkTree, { args, context }: GitCommand): Promise<ExecResult> {
  const { options, args: rest } = takeOptions(args, ["--is-ancestor", "--fork-point"]);
  const [one, other, ...more] = rest.slice(1);
  if (one === undefined || other === undefined || more.length > 0)
    return fail("fatal: usage: git merge-base <commit> <commit>\n", 128);
  const hashes: string[] = [];
  for (const name of [one, other]) {
    const hash = await resolveObject(repository, context, `${name}^{commit}`);
    if (hash === null) return fail(`fatal: Not a valid object name ${name}\n`, 128);
    hashes.push(hash);
  }
  const [first = "", second = ""] = hashes;
  const base = await findMergeBase(repository, first, second);
  if (options.has("--is-ancestor")) return fail("", base === first ? 0 : 1);
  return base === null ? fail("", 1) : fine(`${base}\n`);
}
