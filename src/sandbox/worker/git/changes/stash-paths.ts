import type { ExecResult } from "#git";
import { joinBytes } from "../../files/bytes.ts";
import { checkOut } from "../checkouts.ts";
import { limitedTo } from "../diff.ts";
import { decode, fail, fine } from "../line/answers.ts";
import { limitOf, listUnknown, literalPath } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { showDiff } from "../shown/show-diff.ts";
import { folderMode, modeOf, readHead, readIndex, readTree } from "../tracked-files.ts";
import type { TrackedFile, TrackedFiles, WorkTree } from "../tracked-files.ts";
import { readCommitter, readDate } from "./who.ts";

/** `git stash` of some paths: writes the stash itself, so that the other files are never touched. */

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

const bytesOf = (hash: string): Uint8Array =>
  Uint8Array.from(hash.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));

/** Writes files as trees; returns the hash of the top one. */
async function writeTree(
  { objectStore }: Pick<WorkTree, "objectStore">,
  files: TrackedFiles,
): Promise<string> {
  const entries = new Map<string, TrackedFile>();
  const folders = new Map<string, Map<string, TrackedFile>>();
  for (const [path, file] of files) {
    const [, folder, rest = ""] = /^([^/]+)\/(.*)$/s.exec(path) ?? [];
    if (folder === undefined) entries.set(path, file);
    else folders.set(folder, (folders.get(folder) ?? new Map<string, TrackedFile>()).set(rest, file));
  }
  // Git sorts a folder as if its name ended with a slash.
  for (const [name, below] of folders)
    entries.set(`${name}/`, { mode: folderMode, hash: await writeTree({ objectStore }, below) });
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1));
  const content = sorted.flatMap(([name, { mode, hash }]) => [
    encode(`${mode.toString(8)} ${name.replace(/\/$/, "")}\0`),
    bytesOf(hash),
  ]);
  return objectStore.write("tree", joinBytes(content));
}

/** Keeps a file of the work tree as an object; returns undefined if there is no such file. */
async function keepFile(
  { fs, workTree, objectStore }: WorkTree,
  path: string,
): Promise<TrackedFile | undefined> {
  const file = `${workTree}/${path}`;
  const stat = await fs.lstat(file).catch(() => null);
  if (stat === null || stat.isDirectory) return undefined;
  const content = stat.isSymbolicLink ? encode(await fs.readlink(file)) : await fs.readFileBuffer(file);
  return { mode: modeOf(stat), hash: await objectStore.write("blob", content) };
}

/** Returns files with some of them replaced, or removed where there is no other. */
function replaced(files: TrackedFiles, others: ReadonlyMap<string, TrackedFile | undefined>): TrackedFiles {
  const all = new Map(files);
  for (const [path, file] of others) {
    if (file === undefined) all.delete(path);
    else all.set(path, file);
  }
  return all;
}

/** Writes a stash of these files and lists it as the newest one; returns its title. */
async function writeStash(
  repository: WorkTree,
  command: GitCommand,
  head: string,
  files: Readonly<Record<"staged" | "current", TrackedFiles>>,
): Promise<string> {
  const { fs, gitDir, objectStore, refStore } = repository;
  const date = command.context.env.get("GIT_COMMITTER_DATE") ?? "now";
  const who = `${await readCommitter(repository, command)} ${readDate(date) ?? readDate("now")}`;
  const commit = async (tree: TrackedFiles, parents: readonly string[], title: string): Promise<string> => {
    const lines = [`tree ${await writeTree(repository, tree)}`, ...parents.map((hash) => `parent ${hash}`)];
    return objectStore.write(
      "commit",
      encode([...lines, `author ${who}`, `committer ${who}`, "", title].join("\n")),
    );
  };
  const ref = await refStore.readRef("HEAD");
  const branch = ref?.type === "symbolic" ? ref.target.replace("refs/heads/", "") : "(no branch)";
  const subject = /\n\n(.*)/.exec(decode((await objectStore.read(head)).content))?.[1] ?? "";
  const place = `${branch}: ${head.slice(0, 7)} ${subject}`;
  const at = command.args.indexOf("-m");
  const title = at < 0 ? `WIP on ${place}` : `On ${branch}: ${command.args[at + 1]}`;
  const index = await commit(files.staged, [head], `index on ${place}\n`);
  const hash = await commit(files.current, [head, index], title);
  const before = await refStore.readRef("refs/stash");
  const log = `${gitDir}/logs/refs/stash`;
  const lines = await fs.readFile(log).catch(() => "");
  await fs.mkdir(`${gitDir}/logs/refs`, { recursive: true });
  await refStore.writeRef("refs/stash", hash);
  await fs.writeFile(
    log,
    `${lines}${before?.type === "direct" ? before.hash : "0".repeat(40)} ${hash} ${who}\t${title}\n`,
  );
  return title;
}

/** Makes these files as they are in the commit of HEAD, in the index and in the work tree. */
async function takeBack(
  repository: WorkTree,
  command: GitCommand,
  before: TrackedFiles,
  paths: readonly string[],
): Promise<void> {
  const { fs, workTree } = repository;
  const top = { ...command, context: { ...command.context, cwd: workTree } };
  await run({ ...top, args: ["reset", "--", ...paths.map(literalPath)] });
  for (const path of paths) if (!before.has(path)) await fs.rm(`${workTree}/${path}`, { force: true });
  const known = paths.filter((path) => before.has(path)).map(literalPath);
  if (known.length > 0) await checkOut(repository, { ...top, args: ["checkout", "--", ...known] });
}

/** Stashes the files of these paths alone. */
export async function stashPaths(
  repository: WorkTree,
  command: GitCommand,
  paths: readonly string[],
): Promise<ExecResult> {
  const { context } = command;
  const diff = ["diff", "--name-only", "-z", "--no-renames", "HEAD"];
  const listed = await showDiff(repository, { ...command, args: diff });
  const changed = listed.stdout.split("\0").filter((path) => path !== "");
  const [unknown] = await listUnknown(repository, context, paths, changed);
  if (unknown !== undefined)
    return fail(`error: pathspec '${unknown}' did not match any file(s) known to git\n`, 1);
  const named = changed.filter(limitedTo(paths.map((path) => limitOf(repository, context, path))));
  if (named.length === 0) return fine("No local changes to save\n");
  const head = await readHead(repository);
  if (head === null) return fail("error: there is no commit yet; make one before git stash\n", 1);
  const { files, unmerged } = await readIndex(repository);
  const conflict = named.find((path) => unmerged.has(path));
  if (conflict !== undefined)
    return fail(`error: ${conflict} has a conflict; settle it with git add before git stash\n`, 1);
  const before = await readTree(repository, head);
  const current = new Map<string, TrackedFile | undefined>();
  for (const path of named) current.set(path, await keepFile(repository, path));
  const staged = new Map(named.map((path) => [path, files.get(path)]));
  const title = await writeStash(repository, command, head, {
    staged: replaced(before, staged),
    current: replaced(before, current),
  });
  await takeBack(repository, command, before, named);
  return fine(`Saved working directory and index state ${title}\n`);
}
