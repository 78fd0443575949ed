import type { FileContent } from "#shell";
import { Bash, getCommandNames, InMemoryFs, MountableFs } from "#shell";
import { workspaceRoot } from "../../paths.ts";
import { byteText } from "../byte-text.ts";
import type { Disk } from "../files/files.ts";
import type { Writer } from "../files/tree.ts";
import { meter, WorkLimit } from "../meter.ts";
import { bytesOf, contentFrom, createTurns, shellFiles } from "./files.ts";
import { createGitCommand } from "./git.ts";
import { absentPrograms } from "./absent-programs.ts";
import { addedNames, mendedCommands } from "./mended-commands.ts";
import { quoteWord } from "./quote-word.ts";
import { readShellArguments } from "./programs/shells.ts";
import { outputPaths, printAsYouGo } from "./statements.ts";

export type Stream = "stdout" | "stderr";

export interface ShellRun {
  readonly argv: readonly string[];
  /** Workspace path of an existing folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly writer: Writer;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly emit: (stream: Stream, bytes: Uint8Array) => void;
}

interface ShellOutcome {
  readonly exitCode: number;
  /** Whether one of the interpreter's limits ended the command. */
  readonly limited: boolean;
}

/** Bytes that files outside the workspace (`/tmp`) may take; they live as long as the command. */
const scratchBytes = 16 * 1024 * 1024;

/** Files that scripts expect outside the workspace: programs, which the shell itself provides, and the null device. */
const systemFiles = {
  "/dev/null": "",
  ...Object.fromEntries(
    ["/bin", "/usr/bin"].flatMap((folder) =>
      [...getCommandNames(), "git", ...addedNames]
        .filter((name) => !absentPrograms.has(name))
        .map((name) => [`${folder}/${name}`, { content: "", mode: 0o755 }] as const),
    ),
  ),
};

/** Files outside the workspace, with the two that collect a script's output. */
class ScratchFiles extends InMemoryFs {
  readonly #emit: ShellRun["emit"];
  readonly #turn: () => Promise<void>;

  constructor(emit: ShellRun["emit"], turn: () => Promise<void>) {
    super(systemFiles, { maxTotalBytes: scratchBytes });
    this.#emit = emit;
    this.#turn = turn;
  }

  override async exists(path: string): Promise<boolean> {
    await this.#turn();
    return super.exists(path);
  }

  async #checkFolder(path: string): Promise<void> {
    if (!(await super.exists(path.replace(/\/[^/]*$/, "") || "/")))
      throw new Error(`ENOENT: no such file or directory, open '${path}'`);
  }

  #collect(path: string, content: FileContent, options: Parameters<InMemoryFs["appendFile"]>[2]): boolean {
    if (path === "/dev/null") return true;
    const stream = path === outputPaths.stdout ? "stdout" : path === outputPaths.stderr ? "stderr" : null;
    if (stream === null) return false;
    const bytes = bytesOf(content, options);
    if (bytes.length > 0) this.#emit(stream, bytes);
    return true;
  }

  override async readFile(...[path, options]: Parameters<InMemoryFs["readFile"]>): Promise<string> {
    return contentFrom(await super.readFileBuffer(path), options);
  }

  override async appendFile(...args: Parameters<InMemoryFs["appendFile"]>): Promise<void> {
    if (this.#collect(...args)) return;
    await this.#checkFolder(args[0]);
    await super.appendFile(args[0], bytesOf(args[1], args[2]));
  }

  override async writeFile(...args: Parameters<InMemoryFs["writeFile"]>): Promise<void> {
    if (this.#collect(...args)) return;
    await this.#checkFolder(args[0]);
    await super.writeFile(args[0], bytesOf(args[1], args[2]));
  }
}

/** Returns the script of a command: that of `sh -c` runs unchanged, so that its statements print as they end. */
function scriptOf(argv: readonly string[]): string {
  const [program, ...args] = argv;
  if (program === "sh" || program === "bash") {
    const { settings, hasScript, rest } = readShellArguments(args);
    if (hasScript && rest.length === 1) return `${settings}${rest[0]}`;
  }
  return argv.map(quoteWord).join(" ");
}

/** Exit code of a command that a limit ended. */
const limitCode = 126;

const noise = /^bash: execution aborted\n/;

/** What the shell says of its own settings, which nobody can change here. */
const limitSetting = /, increase executionLimits\.\w+/g;

const limitMessage = /^bash: .*(executionLimits|exceeded)/m;

function emitRest(
  run: ShellRun,
  result: { stdout: string; stderr: string; stdoutKind?: "text" | "bytes" },
): void {
  const said = result.stderr.replace(limitSetting, "");
  const stderr = run.signal.aborted ? said.replace(noise, "") : said;
  const stdout = bytesOf(result.stdout, result.stdoutKind === "bytes" ? "latin1" : "utf8");
  if (stdout.length > 0) run.emit("stdout", stdout);
  if (stderr !== "") run.emit("stderr", byteText.encode(stderr));
}

/** Runs one command over the workspace; ends early when its signal is aborted. Never rejects. */
export async function runShell(disk: Disk, run: ShellRun): Promise<ShellOutcome> {
  meter.begin();
  const turn = createTurns();
  const scratch = new ScratchFiles(run.emit, turn);
  await scratch.mkdir("/tmp");
  const mounts = [{ mountPoint: workspaceRoot, filesystem: shellFiles(disk, run.writer, turn) }];
  const cwd = run.cwd === "." ? workspaceRoot : `${workspaceRoot}/${run.cwd}`;
  const fs = new MountableFs({ base: scratch, mounts });
  const bash = new Bash({
    fs,
    cwd,
    customCommands: [createGitCommand(disk.database), ...mendedCommands()],
    env: { PATH: "/usr/bin:/bin", HOME: workspaceRoot, LANG: "C.UTF-8", TZ: "UTC", ...run.env },
    executionLimitProfile: "hardened",
    executionLimits: {
      maxExecutionTimeMs: run.timeoutMs + 60_000,
      maxCommandCount: 100_000,
      maxLoopIterations: 100_000,
      maxWorkUnits: 1_000_000,
      maxAwkIterations: 1_000_000,
      maxSedIterations: 1_000_000,
      maxJqIterations: 1_000_000,
    },
  });
  bash.registerTransformPlugin(printAsYouGo());
  const options = { rawScript: true, stdin: run.stdin, signal: run.signal };
  try {
    const result = await meter.run(run.signal, () => bash.exec(scriptOf(run.argv), options));
    emitRest(run, result);
    return {
      exitCode: result.exitCode,
      limited: result.exitCode === limitCode && limitMessage.test(result.stderr),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : "failed";
    run.emit("stderr", byteText.encode(`bash: ${message}\n`));
    const limited = error instanceof WorkLimit;
    return { exitCode: limited ? limitCode : 1, limited };
  }
}
