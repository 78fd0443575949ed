import type { ExecResult } from "#git";
import { decode, fail } from "../line/answers.ts";
import { takeOptions } from "../line/flags.ts";
import { resolveObject } from "../line/revisions.ts";
import type { Context, GitCommand } from "../run-package.ts";
import type { WorkTree } from "../tracked-files.ts";
import { readCommitter, readDate } from "./who.ts";

/** The options of `git commit` that the package does not know: whose commit it is, and what its message is made of. */

const ownOptions = [
  "--author=",
  "--date=",
  "--reset-author",
  "-C ",
  "--reuse-message=",
  "--fixup=",
  "-s",
  "--trailer=",
  "--dry-run",
  "-o",
  "-i",
];

export interface CommitCall {
  /** The command without these options and without paths. */
  readonly command: GitCommand;
  /** The paths that were named. */
  readonly paths: readonly string[];
  readonly isDry: boolean;
  /** Whether what is staged is committed as well as the paths. */
  readonly isAlso: boolean;
  /** Makes the author of a commit that is amended; null if the author stays. */
  readonly authorOf: AuthorChange | null;
}

/** Makes the line of a commit's author out of those of its author and its committer. */
type AuthorChange = (author: string, committer: string) => string;

/** Returns the messages among arguments, and the arguments without them and without paths. */
function splitArguments(
  args: readonly string[],
): Readonly<Record<"messages" | "others" | "paths", readonly string[]>> {
  const [messages, others, paths]: [string[], string[], string[]] = [[], [], []];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") return { messages, others, paths: [...paths, ...args.slice(at + 1)] };
    if (arg === "-m") messages.push(args[(at += 1)] ?? "");
    else if (arg.startsWith("--message=")) messages.push(arg.slice("--message=".length));
    else if (arg === "-F" || arg === "-C") others.push(arg, args[(at += 1)] ?? "");
    else if (arg.startsWith("-") || at === 0) others.push(arg);
    else paths.push(arg);
  }
  return { messages, others, paths };
}

interface Known {
  readonly author: string;
  readonly message: string;
}

async function readCommit(repository: WorkTree, context: Context, name: string): Promise<Known | null> {
  const hash = await resolveObject(repository, context, `${name}^{commit}`);
  if (hash === null) return null;
  const text = decode((await repository.objectStore.read(hash)).content);
  const author = /^author (.*)$/m.exec(text)?.[1] ?? "";
  return { author, message: text.slice(text.indexOf("\n\n") + 2) };
}

const titleOf = ({ message }: Known): string => message.split("\n")[0] ?? "";

/** Adds trailers below a message, in a paragraph of their own. */
function withTrailers(message: string, trailers: readonly string[]): string {
  const text = message.replace(/\n+$/, "");
  const last = text.split(/\n\s*\n/).at(-1) ?? "";
  const hasTrailers = text.includes("\n\n") && last.split("\n").every((line) => /^[A-Za-z-]+: /.test(line));
  const missing = trailers.filter((trailer) => !last.split("\n").includes(trailer));
  if (missing.length === 0) return text;
  return `${text}${hasTrailers ? "\n" : "\n\n"}${missing.join("\n")}`;
}

/** Returns the environment of a commit by an author: `Name <mail> seconds zone`, or without a date. */
function environmentOf(env: Context["env"], author: string, date: string | undefined): Context["env"] {
  const [, name = "", mail = "", time = ""] = /^(.*?)\s*<([^>]*)>\s*(.*)$/.exec(author) ?? [];
  const own = new Map(env);
  if (author !== "") own.set("GIT_AUTHOR_NAME", name).set("GIT_AUTHOR_EMAIL", mail);
  const when = date ?? (time === "" ? undefined : time);
  if (when !== undefined) own.set("GIT_AUTHOR_DATE", when);
  return own;
}

/** Returns the messages that a commit is to have, in place of those of the command line; null if another commit is not there. */
async function composeMessages(
  repository: WorkTree,
  command: GitCommand,
  options: ReadonlyMap<string, string>,
  given: readonly string[],
): Promise<readonly string[] | null> {
  const { context } = command;
  const messages = await markMessages(repository, context, options, given);
  const trailers = await listTrailers(repository, command, options);
  if (messages === null || trailers.length === 0) return messages;
  const amended = command.args.includes("--amend") ? await readCommit(repository, context, "HEAD") : null;
  const text = messages.length === 0 ? amended?.message : messages.join("\n\n");
  return text === undefined ? messages : [withTrailers(text, trailers)];
}

/** Puts the title of a commit to fix before messages; null if there is no such commit. */
async function markMessages(
  repository: WorkTree,
  context: Context,
  options: ReadonlyMap<string, string>,
  given: readonly string[],
): Promise<readonly string[] | null> {
  const name = options.get("--fixup");
  if (name === undefined) return given;
  const known = await readCommit(repository, context, name);
  return known === null ? null : [`fixup! ${titleOf(known)}`, ...given];
}

async function listTrailers(
  repository: WorkTree,
  command: GitCommand,
  options: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const trailer = options.get("--trailer");
  return [
    ...(trailer === undefined ? [] : [trailer.replace(/^([A-Za-z-]+)=/, "$1: ")]),
    ...(options.has("-s") ? [`Signed-off-by: ${await readCommitter(repository, command)}`] : []),
  ];
}

/** Returns the change of the author that the options of an amended commit ask for. */
function authorChangeOf(options: ReadonlyMap<string, string>, date: string | undefined): AuthorChange | null {
  const author = options.get("--author");
  if (options.has("--reset-author")) return (_, committer) => committer;
  if (author === undefined && date === undefined) return null;
  return (before) => {
    const [, name = "", time = ""] = /^(.*>) (.*)$/.exec(before) ?? [];
    return `${author ?? name} ${date ?? time}`;
  };
}

/** Returns the author that options name; returns a failure if it is wrong. */
function authorIn(options: ReadonlyMap<string, string>, known: Known | undefined): string | ExecResult {
  const author = options.get("--author") ?? known?.author ?? "";
  const isWhole = author === "" || /<.*>/.test(author);
  const refusal = `fatal: --author '${author}' is not 'Name <email>' and matches no existing author\n`;
  return isWhole ? author : fail(refusal, 128);
}

/** Reads the arguments of a commit; returns a failure if they are wrong. */
export async function readCommitCall(
  repository: WorkTree,
  given: GitCommand,
): Promise<CommitCall | ExecResult> {
  const { messages, others, paths } = splitArguments(given.args);
  const { options, args } = takeOptions(others, ownOptions);
  const date = options.get("--date");
  const time = date === undefined ? undefined : readDate(date);
  if (time === null) return fail(`fatal: invalid date format: ${date}; write it as 2026-01-31T10:00:00Z\n`);
  const reused = options.get("-C") ?? options.get("--reuse-message");
  const known = reused === undefined ? undefined : await readCommit(repository, given.context, reused);
  const found = known === null ? null : await composeMessages(repository, given, options, messages);
  if (found === null || known === null) return fail("fatal: could not lookup commit\n", 128);
  const author = authorIn(options, known);
  if (typeof author !== "string") return author;
  const env = environmentOf(given.context.env, author, time);
  const spoken = (known === undefined ? found : [known.message]).flatMap((message) => ["-m", message]);
  return {
    command: { ...given, args: [...args, ...spoken], context: { ...given.context, env } },
    paths,
    isDry: options.has("--dry-run"),
    isAlso: options.has("-i"),
    authorOf: args.includes("--amend") ? authorChangeOf(options, time) : null,
  };
}

/** Replaces the author of the commit of HEAD; returns the hash of the new commit. */
export async function replaceAuthor(
  { objectStore, refStore }: WorkTree,
  head: string,
  authorOf: AuthorChange,
): Promise<string> {
  const text = decode((await objectStore.read(head)).content);
  const line = (who: string): string => new RegExp(`^${who} (.*)$`, "m").exec(text)?.[1] ?? "";
  const author = authorOf(line("author"), line("committer"));
  const content = new TextEncoder().encode(text.replace(/^author .*$/m, () => `author ${author}`));
  const hash = await objectStore.write("commit", content);
  let name = "HEAD";
  for (let ref = await refStore.readRef(name); ref?.type === "symbolic"; ref = await refStore.readRef(name))
    name = ref.target;
  await refStore.writeRef(name, hash);
  return hash;
}
