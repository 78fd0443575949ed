import * as z from "zod";
import type { McpServer } from "../../config/team.ts";
import type { ServerTool } from "../../agent/state/session.ts";
import type { Json } from "../../chat/message.ts";
import type { McpCall, McpCallReport, McpClient, McpEndpoint } from "../../toolboxes/mcp/port.ts";
import type { Parked, Safety, Tool, ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { parkCallOn } from "../../tools/define-tool.ts";
import { errorMessageOf, errorText, toolError } from "../../tools/errors.ts";
import { schemaMisfits } from "../../tools/schema/json-schema.ts";
import type { NextQuestion, ServerWait } from "./server-question.ts";
import { continueQuestions, startQuestions } from "./server-question.ts";

/** This file makes a tool of what an MCP server offers. */

const outputLimit = 32_000;

const safetyOf = ({ trust }: McpServer, { hints }: ServerTool): Safety => {
  if (!trust) return "unsafe";
  if (hints.readOnly) return "read";
  return hints.idempotent ? "idempotent" : "unsafe";
};

const paramsOf = (schema: Json): z.ZodObject =>
  z.looseObject({}).superRefine((value, context) => {
    for (const message of schemaMisfits(schema, value as Json, "arguments"))
      context.addIssue({ code: "custom", message });
  });

const unknownText =
  "unknown: the connection broke before the answer came, so nobody knows whether this was done. Find out before you call it again.";

const unreachable = (server: string, reason: string): ToolOutput => ({
  ...toolError("unavailable", `the MCP server ${server} cannot be used now: ${reason}; go on without it`),
});

const refusedQuestion = toolError(
  "unsupported",
  "the server asks for something that nobody here may be asked, or the answers never fitted",
);

/** Asks a person, or gives up; null if there is nothing left to ask. */
const carryOut = (next: NextQuestion): ToolOutput | Parked | null => {
  if (next.do === "ask") return parkCallOn(next.park);
  return next.do === "refuse" ? refusedQuestion : null;
};

/** Returns the output of a call with what it says about the server. */
const outputOf = (
  { name }: McpServer,
  { end, connection, listChanged }: McpCallReport,
  rounds: number,
): ToolOutput | Parked => {
  const server = { connection, listChanged, failure: null };
  if (end.kind === "question") return carryOut(startQuestions(name, { ...end, rounds })) ?? refusedQuestion;
  if (end.kind === "output") return { ...end.output, server };
  const failed = { ...server, failure: end.reason };
  if (end.kind === "unreachable") return { ...unreachable(name, end.reason), server: failed };
  return { content: unknownText, isError: true, status: "unknown", server: failed };
};

const withheldText = (name: string): string =>
  errorText(
    "quarantined",
    `${name} is not what was approved of its server; go on without it until an administrator approves it`,
  );

interface ServerCall {
  readonly client: McpClient;
  readonly endpoint: McpEndpoint;
  readonly connection: Json;
  readonly tool: ServerTool;
  readonly args: unknown;
  readonly answers: McpCall["answers"] | undefined;
  readonly context: ToolContext;
}

/** Calls once; a call that may be repeated is sent again if its answer was lost. */
const send = async (safety: Safety, call: ServerCall): Promise<McpCallReport> => {
  const { client, endpoint, connection, tool, args, answers, context } = call;
  const given = { tool: tool.remote, schema: tool.schema, args, context };
  const request = answers === undefined ? given : { ...given, answers };
  const first = await client.call(endpoint, connection, request);
  if (first.end.kind !== "lost" || safety === "unsafe") return first;
  const second = await client.call(endpoint, null, request);
  if (second.end.kind !== "lost") return second;
  return { ...second, end: { kind: "unreachable", reason: second.end.reason } };
};

/** Says why a server is not asked now; null if it is. */
const pauseOf = (server: McpServer, { server: link, now }: ToolContext): ToolOutput | null => {
  const wait = (link?.retryAt ?? 0) - now();
  if (wait <= 0) return null;
  return unreachable(server.name, `it did not answer and is asked again in ${Math.ceil(wait / 1_000)} s`);
};

/** Makes the tool that calls a server's. Its arguments are checked against the server's schema before they leave. */
export const createServerTool = (
  server: McpServer,
  tool: ServerTool,
  client: McpClient | null,
  endpointOf: () => Promise<McpEndpoint>,
): Tool => {
  const { name, description, schema, quarantined } = tool;
  const safety = safetyOf(server, tool);
  const callServer = async (
    args: unknown,
    context: ToolContext,
    wait: ServerWait | null,
  ): Promise<ToolOutput | Parked> => {
    const pause = pauseOf(server, context);
    if (pause !== null) return pause;
    if (client === null) return unreachable(server.name, "this deployment contains no MCP client");
    let endpoint: McpEndpoint;
    try {
      endpoint = await endpointOf();
    } catch (error) {
      return unreachable(server.name, errorMessageOf(error));
    }
    const answers = wait === null ? undefined : { responses: wait.answers, state: wait.state };
    const { connection = null } = context.server ?? {};
    const report = await send(safety, { client, endpoint, connection, tool, args, answers, context });
    return outputOf(server, report, wait === null ? 0 : wait.rounds + 1);
  };
  const run = async (args: unknown, context: ToolContext): Promise<ToolOutput | Parked> => {
    const next = continueQuestions(server.name, context.memo.get());
    const asked = next === null ? null : carryOut(next);
    return asked ?? callServer(args, context, next?.do === "call" ? next.wait : null);
  };
  return {
    name,
    description,
    params: paramsOf(schema),
    schema,
    workspace: "none",
    limit: outputLimit,
    safety: () => safety,
    timeout: () => server.timeout,
    subject: () => [name],
    acts: null,
    subtree: () => false,
    request: null,
    run,
    ...(quarantined === true ? { withheld: withheldText(name) } : {}),
  };
};
