import type { Json } from "../../chat/message.ts";
import { SandboxError, type ExecEvent, type ExecRequest, type Sandbox } from "../../sandbox/contract.ts";
import { base32, sha256 } from "../../sandbox/sha256.ts";
import type { CommandTimeout, ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { callSandbox } from "../sandbox-call.ts";

/** A command as a tool call requests it. `timeout` is in seconds. */
export interface CommandCall {
  readonly argv: readonly string[];
  readonly cwd: string | undefined;
  readonly timeout: number | undefined;
  readonly stdin: string | undefined;
  readonly background: boolean;
  readonly okCodes: readonly number[];
}

type ExitEvent = Extract<ExecEvent, { type: "exit" }>;

/** Milliseconds that a tool call gets beyond its command's timeout: to reattach, and to end it. */
const commandMargin = 30_000;

const secondsOf = (timeout: number | undefined, bounds: CommandTimeout): number =>
  Math.min(timeout ?? bounds.default, bounds.max);

/** The deadline of a call that runs a command. */
export const commandDeadline = (
  { timeout }: { readonly timeout?: number | undefined },
  bounds: CommandTimeout,
): number => secondsOf(timeout, bounds) * 1000 + commandMargin;

/** The id under which a call's command is started at most once. */
export const execIdOf = (key: string): string => base32(sha256(`exec:${key}`)).slice(0, 26);

function requestOf(command: CommandCall, context: ToolContext): ExecRequest {
  const cwd = command.cwd ?? context.workingDir;
  return {
    argv: command.argv,
    execId: execIdOf(context.key),
    timeoutMs: secondsOf(command.timeout, context.commandTimeout) * 1000,
    ...(cwd === "." ? {} : { cwd }),
    stdin: command.stdin,
    writablePaths: context.writablePaths,
  };
}

/** The sandbox instance that a call noted when it began, as a field of its memo or as the whole memo. */
const readNotedInstance = (memo: Json): string | null => {
  const noted = typeof memo === "object" && memo !== null && "instance" in memo ? memo["instance"] : memo;
  return typeof noted === "string" ? noted : null;
};

/** Finds out whether an interrupted call's command is known to the sandbox, never arrived, or is lost. */
async function locateCommand(
  sandbox: Sandbox,
  context: ToolContext,
): Promise<"known" | "not_started" | "unknown"> {
  const noted = readNotedInstance(context.memo.get());
  if (context.attempt === 1 || noted === null) return "not_started";
  const deadline = Date.now() + commandMargin;
  try {
    for await (const _ of sandbox.attach(execIdOf(context.key), 0, deadline, context.signal)) break;
    return "known";
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== "exec_unknown") throw error;
    return (await sandbox.instance()) === noted ? "not_started" : "unknown";
  }
}

const unknownOutcome: ToolOutput = {
  ...toolError(
    "unknown",
    "the sandbox lost this command. Its outcome is unknown: check before repeating it.",
  ),
  status: "unknown",
};

/** Collects a command's output as text and shows it as it comes. */
async function collectOutput(
  events: AsyncIterable<ExecEvent>,
  show: (text: string) => void,
): Promise<{ stdout: string; stderr: string; exit: ExitEvent | null }> {
  const streams = {
    stdout: { text: "", decoder: new TextDecoder() },
    stderr: { text: "", decoder: new TextDecoder() },
  };
  let exit: ExitEvent | null = null;
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
  limit: () => "limit: the command met a limit of the sandbox.",
} as const;

/** Output, `[stderr]` and `[exit N]`, after a sentence where the command did not end by itself. */
function resultText(output: { readonly stdout: string; readonly stderr: string }, exitCode: number): string {
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

function outputOfExit(
  output: { readonly stdout: string; readonly stderr: string },
  exit: ExitEvent | null,
  okCodes: readonly number[],
): ToolOutput {
  if (exit === null || exit.reason === "lost") return unknownOutcome;
  const text = resultText(output, exit.exitCode);
  const { exitCode } = exit;
  const details = { exit_code: exitCode, reason: exit.reason, duration_ms: exit.durationMs };
  if (exit.reason === "exited")
    return { content: text, isError: !okCodes.includes(exitCode), exitCode, details };
  return { content: `${sentences[exit.reason](exit.durationMs)}\n${text}`, isError: true, details };
}

/** The events of the call's command, newly started or found again. */
function eventsOf(
  sandbox: Sandbox,
  request: ExecRequest,
  context: ToolContext,
  known: boolean,
): AsyncIterable<ExecEvent> {
  const deadline = Math.min(context.deadline, Date.now() + (request.timeoutMs ?? 0) + commandMargin / 3);
  return known
    ? sandbox.attach(request.execId, 0, deadline, context.signal)
    : sandbox.exec(request, context.signal);
}

async function runForeground(
  sandbox: Sandbox,
  request: ExecRequest,
  context: ToolContext,
  run: { known: boolean; okCodes: readonly number[] },
) {
  const end = (): void => {
    sandbox.kill(request.execId).catch(() => undefined);
  };
  context.signal.addEventListener("abort", end, { once: true });
  try {
    const { exit, ...output } = await collectOutput(
      eventsOf(sandbox, request, context, run.known),
      context.show,
    );
    return outputOfExit(output, exit, run.okCodes);
  } finally {
    context.signal.removeEventListener("abort", end);
  }
}

/** Runs the command of a call exactly once, whatever interrupts the call, and gives its whole outcome. */
export function runCommand(command: CommandCall, context: ToolContext): Promise<ToolOutput> {
  return callSandbox(context, async (sandbox) => {
    const found = await locateCommand(sandbox, context);
    if (found === "unknown") return unknownOutcome;
    const request = requestOf(command, context);
    const known = found === "known";
    const exec = request.execId;
    if (!known) context.memo.set({ instance: await sandbox.instance(), exec });
    context.signal.throwIfAborted();
    if (!command.background)
      return runForeground(sandbox, request, context, { known, okCodes: command.okCodes });
    if (!known) await sandbox.start(request, context.signal);
    const until = context.now() + (request.timeoutMs ?? 0) + commandMargin;
    return { content: JSON.stringify({ exec_id: exec }), background: { exec, until } };
  });
}
