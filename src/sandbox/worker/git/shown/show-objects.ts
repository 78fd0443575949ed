import type { ExecResult } from "#git";
import { decode, fine } from "../line/answers.ts";
import { folderIn, resolveObject } from "../line/revisions.ts";
import type { GitCommand } from "../run-package.ts";
import { run } from "../run-package.ts";
import { listTree } from "../tracked-files.ts";
import type { WorkTree } from "../tracked-files.ts";
import { formatDate } from "./commit-dates.ts";
import { personIn, readCommit } from "./commit-object.ts";
import { isLong } from "./commit-text.ts";
import { readLogCall } from "./log-call.ts";
import type { LogCall } from "./log-call.ts";
import { showDiff } from "./show-diff.ts";
import { showEach } from "./show-log.ts";

/** `git show`: commits, tags, folders and files. */

/** Returns what a merge changes: as a patch what neither side has, else what it brings to the first. */
async function showMerge(
  repository: WorkTree,
  command: GitCommand,
  { below }: LogCall,
  [first, hash]: readonly [string, string],
): Promise<string> {
  const isPatch = below.length === 0 || below.includes("--patch");
  const { stdout } = isPatch
    ? await run({ ...command, args: ["show", "--format=", hash] })
    : await showDiff(repository, { ...command, args: ["diff", ...below, first, hash] });
  return stdout.trim() === "" ? "" : stdout.replace(/^\n+/, "");
}

async function showCommit(
  repository: WorkTree,
  command: GitCommand,
  call: LogCall,
  hash: string,
): Promise<string> {
  const { parents } = await readCommit(repository, hash);
  const forms = call.below.length === 0 ? ["--patch"] : call.below;
  const below = call.hasNoPatch ? [] : forms;
  const text = await showEach(repository, command, { ...call, below }, [hash]);
  const [first, second] = parents;
  if (second === undefined || first === undefined || call.hasNoPatch) return text;
  const changes = await showMerge(repository, command, call, [first, hash]);
  return text + (call.style.format === "oneline" ? "" : "\n") + changes;
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
  if (object?.type === "commit") return fine(await showCommit(repository, command, call, hash ?? ""));
  if (object?.type !== "tag") return run({ ...command, args: ["show", name] });
  const text = decode(object.content);
  const { name: who, mail, time } = personIn(text, "tagger");
  const isWhole = isLong(call.style.format);
  const date = isWhole ? `Date:   ${formatDate(time, call.style.date)}\n` : "";
  const commit = await showObject(repository, command, call, `${name}^{commit}`);
  const message = text.slice(text.indexOf("\n\n") + 2).trimEnd();
  const head = `tag ${/^tag (.*)$/m.exec(text)?.[1]}\nTagger: ${who} <${mail}>\n${date}\n${message}\n`;
  return { ...commit, stdout: head + (isWhole ? "\n" : "") + commit.stdout };
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
    const isSpaced = isLong(call.style.format) || (call.isSeparated && shown !== "");
    shown += (shown !== "" && isSpaced ? "\n" : "") + result.stdout;
  }
  return fine(shown);
}
