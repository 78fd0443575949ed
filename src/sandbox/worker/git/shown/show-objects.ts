import type { ExecResult } from "#git";
import { fine } from "../line/answers.ts";
import { completeHistory } from "../history.ts";
import { folderIn, resolveObject } from "../line/revisions.ts";
import { readParents } from "../merge-base.ts";
import { shapeMessages } from "../messages.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { listTree } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";
import { readLogCall } from "./log-call.ts";
import type { LogCall } from "./log-call.ts";
import { showDiff } from "./show-diff.ts";
import { showEach } from "./show-log.ts";

/** `git show`: commits, tags, folders and files. */

/** Shows a commit or tag as the package does, completed. */
async function showPlain(
  repository: WorkTree,
  command: GitCommand,
  args: readonly string[],
): Promise<ExecResult> {
  const { store, complete } = shapeMessages(repository.objectStore, args);
  const result = await run({ ...command, args }, { objectStore: store });
  if (result.exitCode !== 0) return result;
  const request = { limits: [], asciiOnly: command.asciiOnly };
  const hasPatch = !args.some((arg) => arg.startsWith("--no-patch"));
  const stdout = complete(result.stdout);
  return { ...result, stdout: hasPatch ? await completeHistory(repository, stdout, request) : stdout };
}

/** Returns the text of a tag above its commit, which the package indents. */
async function showTag(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  name: string,
): Promise<ExecResult> {
  const shown = await showPlain(repository, command, ["show", "--no-patch", name]);
  const at = shown.stdout.search(/^commit [0-9a-f]{40}/m);
  const head = (at < 0 ? shown.stdout : shown.stdout.slice(0, at)).replace(/^ {4}/gm, "");
  const commit = await showCommit(repository, command, call, `${name}^{commit}`);
  return { ...commit, stdout: head + commit.stdout };
}

async function showCommit(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  name: string,
): Promise<ExecResult> {
  const { stdout, exitCode, stderr } = await run({ ...command, args: ["rev-parse", name] });
  if (exitCode !== 0) return { stdout: "", stderr, exitCode };
  const hash = stdout.trim();
  const below = call.shown.filter((arg) => !/^--(?:decorate|date)/.test(arg));
  const [first, ...others] = await readParents(repository, hash);
  const isMerge = others.length > 0;
  if (isMerge && !call.hasNoPatch && first !== undefined) {
    const isPatch = below.length === 0 || below.includes("--patch");
    if (isPatch) return showPlain(repository, command, ["show", ...[call.form.format].filter(Boolean), hash]);
    const head = await showEach(repository, command, { ...call, shown: [] }, [hash]);
    const { stdout: counts } = await showDiff(repository, {
      ...command,
      args: ["diff", ...below, first, hash],
    });
    return fine(head.stdout + (call.form.format === "--oneline" || counts === "" ? "" : "\n") + counts);
  }
  const shown = call.hasNoPatch
    ? call.shown.filter((arg) => !below.includes(arg))
    : [...call.shown, ...(below.length === 0 ? ["--patch"] : [])];
  return showEach(repository, command, { ...call, shown }, [hash]);
}

/** Returns a name like `HEAD:./x` from the folder that git runs in as one from the top. */
function plainName(repository: WorkTree, { context }: GitCommand, name: string): string {
  const [, revision = "", path = ""] = /^([^:]*):(\.{1,2}\/.*)$/.exec(name) ?? [];
  if (path === "") return name;
  const folder = context.fs.resolvePath(`/${folderIn(repository, context)}`, path).slice(1);
  return `${revision}:${folder}`;
}

async function showObject(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  given: string,
): Promise<ExecResult> {
  const name = plainName(repository, command, given);
  const hash = await resolveObject(repository, command.context, name);
  const object = hash === null ? null : await repository.objectStore.read(hash).catch(() => null);
  if (object?.type === "tree") {
    const names = listTree(object.content).map((entry) => `${entry.name}${entry.isFolder ? "/" : ""}\n`);
    return fine(`tree ${given}\n\n${names.join("")}`);
  }
  if (object?.type === "tag") return showTag(repository, command, call, name);
  if (object?.type === "commit") return showCommit(repository, command, call, name);
  return run({ ...command, args: ["show", name] });
}

/** Shows objects, one after the other. */
export async function showObjects(repository: WorkTree, command: GitCommand): Promise<ExecResult> {
  const call = await readLogCall(repository, command);
  const unknown = call.chosen.filter((arg) => arg.startsWith("-"));
  if (unknown.length > 0) return run({ ...command, args: ["show", ...unknown] });
  const names = call.chosen.length === 0 ? ["HEAD"] : call.chosen;
  let shown = "";
  for (const name of names) {
    const result = await showObject(repository, command, call, name);
    if (result.exitCode !== 0) return { ...result, stdout: shown };
    shown += (shown !== "" && call.form.isSpaced ? "\n" : "") + result.stdout;
  }
  const isOpen = call.form.isSeparated && (call.hasNoPatch || call.shown.length === 0);
  return fine(isOpen && call.hasNoPatch ? shown.replace(/\n$/, "") : shown);
}
