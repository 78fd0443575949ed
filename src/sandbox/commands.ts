import { SandboxError, type ExecEvent, type ExecReason, type ExecRequest, type Sandbox } from "./contract.ts";
import { base32, sha256 } from "./sha256.ts";

/** Runs a command exactly once, whatever interrupts its caller, and describes its outcome. */

/** Milliseconds that a caller gets beyond its command's timeout: to reattach, and to end the command. */
export const commandMargin = 30_000;

/** Returns the id under which the command of a caller with this key is started at most once. */
export const execIdOf = (key: string): string => base32(sha256(`exec:${key}`)).slice(0, 26);

/** Determines whether an interrupted command is known to the sandbox, never arrived there, or is lost. */
export async function locateCommand(
  sandbox: Sandbox,
  { execId, noted }: { readonly execId: string; readonly noted: string },
  signal: AbortSignal,
): Promise<"known" | "not_started" | "unknown"> {
  try {
    for await (const _ of sandbox.attach(execId, 0, Date.now() + commandMargin, signal)) break;
    return "known";
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== "exec_unknown") throw error;
    return (await sandbox.instance()) === noted ? "not_started" : "unknown";
  }
}

/** Collects a command's output as text and shows it as it arrives. */
async function collectOutput(events: AsyncIterable<ExecEvent>, show: (text: string) => void) {
  const streams = {
    stdout: { text: "", decoder: new TextDecoder() },
    stderr: { text: "", decoder: new TextDecoder() },
  };
  let exit: Extract<ExecEvent, { type: "exit" }> | null = null;
  for await (const event of events) {
    if (event.type === "exit") exit = event;
    if (event.type !== "stdout" && event.type !== "stderr") continue;
    const stream = streams[event.type];
    const text = stream.decoder.decode(event.data, { stream: true });
    stream.text += text;
    if (text !== "") show(text);
  }
  const rest = (stream: { text: string; decoder: TextDecoder }): string =>
    stream.text + stream.decoder.decode();
  return { stdout: rest(streams.stdout), stderr: rest(streams.stderr), exit };
}

const sentences = {
  timeout: (ms: number) => `timeout: the command was ended after ${Math.round(ms / 1000)} s.`,
  killed: () => "cancelled: the command was ended.",
  limit: () =>
    "limit: the command reached a limit of the sandbox. Do less in one call: parts of the files, awk in place of a loop.",
} as const;

/** Formats the output with `[stderr]` and `[exit N]`. */
function outputText(output: { readonly stdout: string; readonly stderr: string }, exitCode: number): string {
  const parts = [
    output.stdout,
    output.stderr === "" ? "" : `[stderr]\n${output.stderr}`,
    `[exit ${exitCode}]`,
  ];
  return parts
    .filter((part) => part !== "")
    .map((part) => part.replace(/\n$/, ""))
    .join("\n");
}

/** Outcome of a command. `text` is its output, after a sentence if it did not end by itself. */
export interface CommandResult {
  readonly text: string;
  readonly exitCode: number;
  readonly reason: Exclude<ExecReason, "lost">;
  readonly durationMs: number;
}

/** Command to be followed to its end. */
export interface CommandRun {
  readonly request: ExecRequest;
  /** Whether the sandbox already has the command. */
  readonly known: boolean;
  /** Until when the caller waits, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Ends the waiting, not the command. */
  readonly signal: AbortSignal;
  readonly show: (text: string) => void;
}

/** Starts a command or finds it again, and follows it to its end; returns null if its outcome cannot be known. */
export async function followCommand(
  sandbox: Sandbox,
  { request, known, deadline, signal, show }: CommandRun,
): Promise<CommandResult | null> {
  const { execId, timeoutMs = 0 } = request;
  const until = Math.min(deadline, Date.now() + timeoutMs + commandMargin / 3);
  const events = known ? sandbox.attach(execId, 0, until, signal) : sandbox.exec(request, signal);
  const { exit, ...output } = await collectOutput(events, show);
  if (exit === null || exit.reason === "lost") return null;
  const { exitCode, reason, durationMs } = exit;
  const text = outputText(output, exitCode);
  const described = reason === "exited" ? text : `${sentences[reason](durationMs)}\n${text}`;
  return { text: described, exitCode, reason, durationMs };
}
