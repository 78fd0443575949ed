import {
  SandboxError,
  includesAct,
  type ChangeArguments,
  type ChangeOperation,
  type ChangeOutcome,
  type FileAct,
  type Sandbox,
  type SandboxErrorCode,
  type WriteOptions,
} from "../sandbox/contract.ts";
import { awaitCapacity } from "../sandbox/capacity.ts";
import { escapeGlob } from "../sandbox/glob.ts";
import { pathFrom, workspacePath } from "../sandbox/paths.ts";
import { leavesOut } from "../sandbox/writable.ts";
import type { CallAct } from "../tools/acts.ts";
import type { ToolContext, ToolOutput } from "../tools/define-tool.ts";
import { toolError, type ToolErrorCode } from "../tools/errors.ts";

/** Calls the sandbox for tools: refusals become error results, changes carry the call's key. */

const codes: Readonly<Record<SandboxErrorCode, ToolErrorCode>> = {
  invalid_request: "invalid_arguments",
  path_outside: "not_permitted",
  path_not_writable: "not_permitted",
  workspace_read_not_found: "not_found",
  exec_unknown: "not_found",
  conflict: "conflict",
  exists: "exists",
  exec_id_reused: "conflict",
  precondition: "conflict",
  key_reused: "conflict",
  payload_too_large: "too_large",
  range: "invalid_arguments",
  not_unique: "not_unique",
  no_match: "no_match",
  limit: "limit",
  unsupported: "unsupported",
  exec_transport_error: "unavailable",
  capacity_exceeded: "unavailable",
};

/**
 * Runs a sandbox call for the calling thread; a refusal becomes an error result with its sentence. If the sandbox
 * has no capacity, it has done nothing, so the call is repeated.
 */
export async function callSandbox(
  context: ToolContext,
  run: (sandbox: Sandbox) => Promise<ToolOutput>,
): Promise<ToolOutput> {
  try {
    return await awaitCapacity(context, () => run(context.sandbox.as(context.thread)));
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return toolError(codes[error.code], error.message);
  }
}

/** Repeats a keyed request whose answer was lost; because of the key it happens only once. */
async function repeatKeyed<Answer>(request: () => Promise<Answer>): Promise<Answer> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof SandboxError) || error.code !== "exec_transport_error") throw error;
    return request();
  }
}

/** Describes the result of a change: its sentence, and its events. */
export async function describeChange(
  context: ToolContext,
  request: (sandbox: Sandbox, options: WriteOptions) => Promise<ChangeOutcome>,
  sentence: (outcome: ChangeOutcome) => string,
): Promise<ToolOutput> {
  const { key, signal, writablePaths } = context;
  return callSandbox(context, async (sandbox) => {
    const outcome = await repeatKeyed(() => request(sandbox, { key, signal, writablePaths }));
    return { content: sentence(outcome), changes: outcome.changes };
  });
}

/** Runs one of the sandbox's changing operations for a call. */
export const changeWorkspace = <O extends ChangeOperation>(
  context: ToolContext,
  op: O,
  args: ChangeArguments[O],
  sentence: (outcome: ChangeOutcome) => string,
): Promise<ToolOutput> =>
  describeChange(context, (sandbox, options) => sandbox.change(op, args, options), sentence);

/**
 * Returns a line about the paths that rules exclude from a list or search of a folder; empty if they are in other
 * folders.
 */
export function describeLeftOut({ closed, directory }: Sandbox, folder: string): string {
  const root = escapeGlob(workspacePath(pathFrom(directory, folder)));
  const unread = closed
    .filter((path) => typeof path === "string" || includesAct(path.act, "read"))
    .map((path) => (typeof path === "string" ? path : path.match))
    .filter((match) => !leavesOut([`${root}/**`.replace(/^\.\//, "")], match));
  return unread.length === 0
    ? ""
    : `\n[Left out, since permission rules close it to this call: ${unread.join(", ")}]`;
}

/** Returns an act on each of these paths for permission rules. */
export const onPaths = (act: FileAct, ...paths: readonly string[]): CallAct[] =>
  paths.map((path) => ({ act, subject: subjectPath(path) }));

/**
 * Returns a path without detours. An absolute one stays; others are relative to the agent's folder, which rules
 * add.
 */
function subjectPath(raw: string): string {
  if (raw.startsWith("/")) return raw;
  try {
    return workspacePath(raw);
  } catch {
    return raw;
  }
}
