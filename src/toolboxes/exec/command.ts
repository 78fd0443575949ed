import type { Json } from "../../chat/message.ts";
import { commandMargin, execIdOf, followCommand, locateCommand } from "../../sandbox/commands.ts";
import type { ExecRequest, Sandbox } from "../../sandbox/contract.ts";
import type { CommandTimeout, ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { callSandbox } from "../sandbox-call.ts";

/** Command as a tool call requests it. `timeout` is in seconds. */
export interface CommandCall {
  readonly argv: readonly string[];
  readonly cwd: string | undefined;
  readonly timeout: number | undefined;
  readonly stdin: string | undefined;
  readonly background: boolean;
  readonly okCodes: readonly number[];
}

const secondsOf = (timeout: number | undefined, bounds: CommandTimeout): number =>
  Math.min(timeout ?? bounds.default, bounds.max);

/** Returns the deadline of a call that runs a command. */
export const commandDeadline = (
  { timeout }: { readonly timeout?: number | undefined },
  bounds: CommandTimeout,
): number => secondsOf(timeout, bounds) * 1000 + commandMargin;

function requestOf(command: CommandCall, context: ToolContext): ExecRequest {
  const { cwd } = command;
  return {
    argv: command.argv,
    execId: execIdOf(context.key),
    timeoutMs: secondsOf(command.timeout, context.commandTimeout) * 1000,
    ...(cwd === undefined ? {} : { cwd }),
    stdin: command.stdin,
    writablePaths: context.writablePaths,
  };
}

/** Returns the sandbox instance that a call noted when it began, as a field of its memo or as the whole memo. */
const readNotedInstance = (memo: Json): string | null => {
  const noted = typeof memo === "object" && memo !== null && "instance" in memo ? memo["instance"] : memo;
  return typeof noted === "string" ? noted : null;
};

const unknownOutcome: ToolOutput = {
  ...toolError(
    "unknown",
    "the sandbox lost this command. Its outcome is unknown: check before repeating it.",
  ),
  status: "unknown",
};

/** Returns a line for a command that was ended before the time that its call asked for. */
const describeShorter = ({ timeout = 0 }: CommandCall, durationMs: number): string =>
  timeout * 1000 > durationMs
    ? `\n[No command gets ${timeout} s here: ${Math.round(durationMs / 1000)} s is the most.]`
    : "";

/** Follows a command to its end; an abort of the call ends the command. */
async function runForeground(
  sandbox: Sandbox,
  request: ExecRequest,
  { deadline, signal, show }: ToolContext,
  { known, command }: { readonly known: boolean; readonly command: CommandCall },
): Promise<ToolOutput> {
  const kill = (): void => {
    sandbox.kill(request.execId).catch(() => undefined);
  };
  signal.addEventListener("abort", kill, { once: true });
  try {
    const end = await followCommand(sandbox, { request, known, deadline, signal, show });
    if (end === null) return unknownOutcome;
    const { text, exitCode, reason, durationMs } = end;
    const details = { exit_code: exitCode, reason, duration_ms: durationMs };
    const note = reason === "timeout" ? describeShorter(command, durationMs) : "";
    if (reason !== "exited") return { content: text + note, isError: true, details };
    return { content: text, isError: !command.okCodes.includes(exitCode), exitCode, details };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

/** Runs the command of a call exactly once, whatever interrupts the call, and returns its whole outcome. */
export function runCommand(command: CommandCall, context: ToolContext): Promise<ToolOutput> {
  return callSandbox(context, async (sandbox) => {
    const { signal } = context;
    const request = requestOf(command, context);
    const { execId } = request;
    const noted = context.attempt === 1 ? null : readNotedInstance(context.memo.get());
    const found = noted === null ? "not_started" : await locateCommand(sandbox, { execId, noted }, signal);
    if (found === "unknown") return unknownOutcome;
    const known = found === "known";
    if (!known) context.memo.set({ instance: await sandbox.instance(), exec: execId });
    signal.throwIfAborted();
    if (!command.background) return runForeground(sandbox, request, context, { known, command });
    if (!known && !(await sandbox.start(request, signal))) return unknownOutcome;
    const granted = secondsOf(command.timeout, context.commandTimeout);
    const shorter = command.timeout === undefined || command.timeout <= granted ? {} : { timeout: granted };
    const until = context.now() + granted * 1000 + commandMargin;
    return {
      content: JSON.stringify({ exec_id: execId, ...shorter }),
      background: { exec: execId, until },
    };
  });
}
