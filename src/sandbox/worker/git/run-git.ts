import { workspaceRoot } from "../../paths.ts";
import { startTimeLimit } from "../../time-limit.ts";
import { fail } from "../errors.ts";
import type { Disk } from "../files/files.ts";
import { requireEntry } from "../files/locate.ts";
import { createOutputLog } from "../shell/output-log.ts";
import { runShell } from "../shell/shell.ts";
import { joinBytes } from "../files/bytes.ts";

/** Workspace as a request to git sees it. */
export interface Repository {
  readonly disk: Disk;
  readonly env: Readonly<Record<string, string>>;
  /** Thread that sent the request. */
  readonly actor: string;
  /** Returns whether rules close a path to the request. */
  readonly isClosed: Disk["isClosed"];
}

interface GitRun {
  readonly args: readonly string[];
  /** Folder of the workspace. */
  readonly directory: string;
  readonly writablePaths?: readonly string[] | undefined;
}

/** Milliseconds for git, fewer than a client waits for an answer. */
const longest = 50_000;

/** Refusals of git with the patterns of their texts. */
const refusals = [
  [/not a git repository/, "workspace_read_not_found"],
  [/EACCES|permission denied/i, "path_not_writable"],
] as const;

/** Runs git as the shell does, and returns its output; a failure of git is a refusal with git's message. */
export async function runGit(
  { disk, env, actor }: Repository,
  { args, directory, writablePaths }: GitRun,
): Promise<string> {
  if (requireEntry(disk, directory).entry.type !== "directory")
    fail("conflict", `${directory} is a file, not a folder`);
  const log = createOutputLog(Math.floor(disk.limits().output / 2));
  const timeoutMs = Math.min(longest, disk.limits().wall);
  const { signal, stop } = startTimeLimit(timeoutMs);
  const { exitCode, limited } = await runShell(disk, {
    argv: ["git", ...args],
    cwd: directory,
    env,
    stdin: "",
    writer: { name: `git ${args[0]} of ${actor}`, writablePaths, guarded: false },
    timeoutMs,
    signal,
    emit: log.append,
  }).finally(stop);
  const outputOf = (stream: "stdout" | "stderr"): string =>
    new TextDecoder().decode(
      joinBytes(
        log
          .after(0)
          .filter((event) => event.stream === stream)
          .map(({ data }) => data),
      ),
    );
  if (limited || signal.aborted) fail("limit", `git ${args[0]} takes too long in this repository`);
  if (exitCode === 0) return outputOf("stdout");
  const message = (outputOf("stderr") || outputOf("stdout")).trim();
  const [, code = "conflict"] = refusals.find(([pattern]) => pattern.test(message)) ?? [];
  const where = code === "workspace_read_not_found" ? `; the folder is ${workspaceRoot}/${directory}` : "";
  return fail(code, message.replace(/^fatal: /, "") + where);
}
