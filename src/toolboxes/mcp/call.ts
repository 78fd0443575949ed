import {
  INVALID_PARAMS,
  isInputRequiredResult,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/client";
import type { CallToolResult, Tool } from "@modelcontextprotocol/client";
import { fieldsOf, isShallow, parseJson } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { KeepConnection, ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { AuthorizationError } from "./authorized-send.ts";
import type { OpenClient } from "./connect.ts";
import { LostAnswer, resume, sessionOf } from "./connect.ts";
import { outputOf } from "./content.ts";
import { ForeignAnswer } from "./foreign-answer.ts";
import { isAuthFailure, reasonOf, statusOf } from "./failure.ts";
import type { McpCall, McpCallEnd, McpCallReport, McpClient, McpEndpoint } from "./port.ts";
import type { McpWire } from "./wire.ts";
import { createWire } from "./wire.ts";

/** Calls a tool of a server and reports how the call ended. */

/** Milliseconds of a call; the driver ends it earlier at its own deadline. */
const longestMs = 660_000;

const showProgress = (
  { show }: McpCall["context"],
  {
    progress,
    total,
    message,
  }: { progress: number; total?: number | undefined; message?: string | undefined },
): void => {
  const share = total === undefined ? String(progress) : `${progress}/${total}`;
  show(`${message ?? share}\n`);
};

/** Returns the answers to a server's questions, with the server's own state unread. */
const answersOf = ({ answers }: McpCall): object => {
  if (answers === undefined) return {};
  const { responses, state } = answers;
  return { inputResponses: responses, ...(state === null ? {} : { requestState: state }) };
};

const requestTool = ({ client, lost }: OpenClient, call: McpCall): Promise<CallToolResult> => {
  const { tool: name, schema, args, context } = call;
  const definition = { name, inputSchema: schema } as unknown as Tool;
  const answer = client.callTool(
    { name, arguments: args as Record<string, unknown>, ...answersOf(call) },
    {
      signal: context.signal,
      timeout: longestMs,
      onprogress: (progress) => showProgress(context, progress),
      toolDefinition: definition,
      allowInputRequired: true,
    },
  );
  return Promise.race([answer, lost]);
};

/** Returns whether an HTTP error may be about the protocol: it holds one of its messages, or speaks of it. */
const isAboutProtocol = (error: unknown): boolean => {
  const text = error instanceof SdkHttpError ? error.data["text"] : undefined;
  if (typeof text !== "string") return false;
  return fieldsOf(parseJson(text) ?? null)["error"] !== undefined || /session|version|initiali/i.test(text);
};

/** Says that the server did not accept a call for its connection; `isOver` if it no longer knows the session. */
interface StaleEnd {
  readonly kind: "stale";
  readonly isOver: boolean;
}

/**
 * Returns the end of a call whose server does not know the session, or no longer the revision, by the status of its
 * answer; null for others. An error under status 200 is the tool's: it may speak of a session of its own.
 */
const staleEndOf = ({ isResumed }: OpenClient, connection: Json, error: unknown): StaleEnd | null => {
  if (!isResumed) return null;
  const status = statusOf(error);
  const isRefused = status === 400 && (sessionOf(connection) !== null || isAboutProtocol(error));
  const isStale = status === 404 || isRefused || error instanceof UnsupportedProtocolVersionError;
  return isStale ? { kind: "stale", isOver: status === 404 } : null;
};

const refusedOutput = (error: ProtocolError): ToolOutput => {
  const code = error.code === INVALID_PARAMS ? "invalid_arguments" : "failed";
  return toolError(code, error.message);
};

/** Returns whether a network error means that nothing was sent. */
const isUnsent = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code } = error as { readonly code?: unknown };
  return (
    ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "egress_denied", "unavailable"].includes(String(code)) ||
    isUnsent(error.cause)
  );
};

/** Statuses of an edge that did not reach the server behind it, so that nothing was carried out. */
const edgeStatuses: ReadonlySet<number> = new Set([521, 523, 525, 526, 530]);

const isUnreached = (error: unknown): boolean => edgeStatuses.has(statusOf(error) ?? 0) || isUnsent(error);

/** Codes of the library for an answer that is not valid. */
const unreadableCodes: readonly string[] = [SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType];

/** Returns whether an answer is not valid, or too deep to be read. */
const isUnreadable = (error: unknown): boolean =>
  error instanceof RangeError || (error instanceof SdkError && unreadableCodes.includes(error.code));

const doneText = "the call was made, so call again only if it may be done twice";

/** Returns the output for an answer that is not a result; null if there was no answer. */
const answeredOutput = (error: unknown, wire: McpWire): ToolOutput | null => {
  if (wire.excess() !== null)
    return toolError("too_large", `the answer is longer than 1 MiB and was not read; ${doneText}, for less`);
  if (isUnreadable(error)) return toolError("failed", `the server's answer cannot be read; ${doneText}`);
  if (error instanceof ProtocolError) return refusedOutput(error);
  const status = statusOf(error);
  // A server that forbids one tool may still offer the others.
  if (status === null || status >= 500 || status === 401) return null;
  return toolError("failed", `the server refused this call: it answered ${status}`);
};

/** Returns the end of a call that could not be sent. */
const refusedEnd = (refusal: Error, { redact }: McpEndpoint): McpCallEnd =>
  refusal instanceof AuthorizationError && refusal.login !== null
    ? { kind: "login", url: refusal.login }
    : { kind: "unreachable", reason: reasonOf(refusal, redact) };

const failedEnd = (error: unknown, wire: McpWire, endpoint: McpEndpoint): McpCallEnd => {
  // If its answer was cut off, the server accepted the call, even if it then refused to send the rest.
  const refusal = error instanceof LostAnswer ? null : wire.refusal();
  if (refusal !== null) return refusedEnd(refusal, endpoint);
  if (error instanceof ForeignAnswer) return { kind: "foreign", reason: reasonOf(error, endpoint.redact) };
  const output = answeredOutput(error, wire);
  if (output !== null) return { kind: "output", output };
  const isUnreachable = isAuthFailure(error) || isUnreached(error);
  return { kind: isUnreachable ? "unreachable" : "lost", reason: reasonOf(error, endpoint.redact) };
};

const endOf = (result: CallToolResult, { context }: McpCall): McpCallEnd => {
  if (!isInputRequiredResult(result)) return { kind: "output", output: outputOf(result, context) };
  const { inputRequests = {}, requestState = null } = result;
  const requests = inputRequests as unknown as Json;
  if (!isShallow(requests)) throw new RangeError("the questions are too deep");
  return { kind: "question", requests, state: requestState };
};

const callOnce = async (
  endpoint: McpEndpoint,
  open: OpenClient,
  wire: McpWire,
  connection: Json,
  call: McpCall,
): Promise<McpCallEnd | StaleEnd> => {
  try {
    return endOf(await requestTool(open, call), call);
  } catch (error) {
    return staleEndOf(open, connection, error) ?? failedEnd(error, wire, endpoint);
  }
};

const openFor = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  connection: Json,
  { context: { signal } }: McpCall,
): Promise<OpenClient | McpCallEnd> => {
  try {
    return await resume(endpoint, wire, connection, signal);
  } catch (error) {
    return refusedEnd(wire.refusal() ?? (error as Error), endpoint);
  }
};

interface Attempt extends Omit<McpCallReport, "end"> {
  readonly end: McpCallEnd | StaleEnd;
}

/** Calls with a client from `connection`, or after a handshake if that is null. */
const attempt = async (endpoint: McpEndpoint, connection: Json, call: McpCall): Promise<Attempt> => {
  const wire = createWire(endpoint);
  const open = await openFor(endpoint, wire, connection, call);
  if ("kind" in open) return { end: open, listChanged: false };
  let listChanged = false;
  open.client.setNotificationHandler("notifications/tools/list_changed", () => {
    listChanged = true;
  });
  try {
    const end = await callOnce(endpoint, open, wire, connection, call);
    return { end, listChanged };
  } finally {
    void open.close().catch(() => undefined);
  }
};

const reportOf = ({ end, listChanged }: Attempt): McpCallReport =>
  end.kind === "stale"
    ? { end: { kind: "unreachable", reason: "the server does not keep a session" }, listChanged }
    : { end, listChanged };

/** Calls a tool; begins a new session once if the session is over, since the server did not accept the call. */
export const callTool: McpClient["call"] = async (endpoint, connection, call) => {
  const first = await attempt(endpoint, connection, call);
  if (first.end.kind !== "stale") return reportOf(first);
  const over = first.end.isOver ? connection : null;
  const keep: KeepConnection = (opened) => endpoint.keep?.(opened, over);
  return reportOf(await attempt({ ...endpoint, keep }, null, call));
};
