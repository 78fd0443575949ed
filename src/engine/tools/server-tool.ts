import * as z from "zod";
import type { McpServer } from "../../config/team.ts";
import type { ServerTool } from "../../agent/state/session.ts";
import { fieldsOf, parseJson } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import type { McpCall, McpCallReport, McpClient, McpEndpoint } from "../../toolboxes/mcp/port.ts";
import type { Parked, Safety, Tool, ToolContext, ToolOutput } from "../../tools/define-tool.ts";
import { parkCallOn } from "../../tools/define-tool.ts";
import { errorMessageOf, errorText, toolError } from "../../tools/errors.ts";
import type { AuthorizeServer } from "../../tools/egress/server-authorization.ts";
import type { Sealer } from "../secrets/seal.ts";
import { findMisfits } from "../../tools/schema/json-schema.ts";
import type { NextQuestion, ServerWait } from "./server-question.ts";
import { continueQuestions, startQuestions, waitSchema } from "./server-question.ts";

/** Makes a tool of what an MCP server offers. */

const outputLimit = 32_000;

const safetyOf = ({ trust }: McpServer, { hints }: ServerTool): Safety => {
  if (!trust) return "unsafe";
  if (hints.readOnly) return "read";
  return hints.idempotent ? "idempotent" : "unsafe";
};

/** Removes parameters that are null, as models write what they omit, unless their schema permits null. */
const withoutNulls = (schema: Json, args: JsonObject): JsonObject => {
  const { properties, required } = fieldsOf(schema);
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const isKept = ([name, value]: readonly [string, Json]): boolean =>
    value !== null ||
    isRequired(name) ||
    findMisfits(fieldsOf(properties)[name] ?? {}, value, schema).length === 0;
  return Object.fromEntries(Object.entries(args).filter(isKept));
};

const paramsOf = (schema: Json): z.ZodObject =>
  z.looseObject({}).superRefine((value, context) => {
    for (const { path, rule } of findMisfits(schema, withoutNulls(schema, value as JsonObject)))
      context.addIssue({ code: "custom", path: [...path], message: rule });
  });

const unknownText = (why: string): string =>
  `unknown: ${why}, so the call may or may not have taken effect. Find out before you call it again.`;

const unreachable = (server: string, reason: string): ToolOutput => ({
  ...toolError("unavailable", `the MCP server ${server} cannot be used now: ${reason}; go on without it`),
});

const refusedQuestion = toolError(
  "unsupported",
  "the server asks for something that people here may not be asked for, or never comes to a result",
);

/** Milliseconds before the first repetition of a call whose server asks for time; the next ones wait twice as long. */
const firstPauseMs = 500;

/** Number of times that a call asks somebody to sign in: once, and for wider scopes. */
const mostLogins = 3;

const loginSchema = z.object({
  asked: z.object({ login: z.object({ count: z.number(), wait: waitSchema.nullable() }) }),
  answer: z.string().nullable(),
});

/** Progress of a call: the answers that its server waits for, and how often somebody was asked to sign in for it. */
interface CallProgress {
  readonly wait: ServerWait | null;
  readonly logins: number;
}

const askForLogin = (server: string, url: string, { wait, logins }: CallProgress): ToolOutput | Parked => {
  if (logins >= mostLogins) return unreachable(server, "it refuses the tokens after several logins");
  const memo = { login: { count: logins + 1, wait } } as unknown as Json;
  return parkCallOn({ on: "answer", subject: { authorization: { server, url, login: true } }, memo });
};

const declinedOutput = (server: string): ToolOutput =>
  toolError("denied", `nobody signed in at the MCP server ${server}; go on without it`);

/** Asks a person, or gives up. */
const carryOut = (next: Exclude<NextQuestion, { readonly do: "call" }>): ToolOutput | Parked =>
  next.do === "ask" ? parkCallOn(next.park) : refusedQuestion;

type Asking = Extract<McpCallReport["end"], { readonly kind: "question" }>;

/** Asks a person what a server wants to know, or lets the call wait if the server asks for time alone. */
const answerAsking = (
  server: string,
  asking: Asking,
  wait: ServerWait | null,
  { memo, now }: ToolContext,
): ToolOutput | Parked => {
  const rounds = wait === null ? 0 : wait.rounds + 1;
  const next = startQuestions(server, { ...asking, rounds });
  if (next.do !== "call") return carryOut(next);
  memo.set({ wait: { ...next.wait } });
  return parkCallOn({ on: "time", until: now() + firstPauseMs * 2 ** rounds });
};

/** Returns the output of a call that its server ended, with what it reports about the server. */
const outputOf = (
  { name }: McpServer,
  listChanged: boolean,
  end: Exclude<McpCallReport["end"], Asking>,
  progress: CallProgress,
): ToolOutput | Parked => {
  const server = { listChanged, failure: null };
  if (end.kind === "login") return askForLogin(name, end.url, progress);
  if (end.kind === "output") return { ...end.output, server };
  const failed = { ...server, failure: end.reason };
  if (end.kind === "unreachable") return { ...unreachable(name, end.reason), server: failed };
  const why = end.kind === "foreign" ? end.reason : "the connection broke before the answer arrived";
  return { content: unknownText(why), isError: true, status: "unknown", server: failed };
};

const withheldText = (name: string): string =>
  errorText(
    "quarantined",
    `${name} has changed since its server's tools were approved; go on without it until an administrator approves it`,
  );

/** Caller's part of a request to a server. */
interface CallReach {
  readonly authorize: AuthorizeServer;
  readonly keep: McpEndpoint["keep"];
}

/** Stands in for an unknown server, whose tools need no token. */
const unknownServer: CallReach & { readonly connection: Json; readonly waits: (isWaiting: boolean) => void } =
  {
    connection: null,
    authorize: async () => ({ kind: "token", token: null }),
    keep: null,
    waits: () => undefined,
  };

/**
 * Reports which requests wait for the beginning of their answer; 202 says that it comes on another stream. Where we
 * answer the server, it has spoken.
 */
const reportWaits = (endpoint: McpEndpoint, waits: (isWaiting: boolean) => void): McpEndpoint => ({
  ...endpoint,
  send: async (address, init) => {
    const { body } = init;
    const { id, method } = fieldsOf(typeof body === "string" ? (parseJson(body) ?? null) : null);
    if (id !== undefined) waits(method !== undefined);
    const response = await endpoint.send(address, init);
    if (id !== undefined && method !== undefined) waits(response.status === 202);
    return response;
  },
});

/** Names the call to which a server's state belongs. */
const stateBoundOf = ({ session, key }: ToolContext): string =>
  JSON.stringify(["state of a call", session, key]);

/**
 * Seals a server's own state, which goes back as it came: from what is stored, secrets are taken out. Without a key, as
 * in development, it is not sealed, and a state that holds a secret does not fit any more.
 */
const sealState = async (
  sealer: Sealer | null,
  context: ToolContext,
  state: string | null,
): Promise<string | null> =>
  sealer === null || state === null ? state : sealer.seal(JSON.stringify(state), stateBoundOf(context));

/** Returns the answers for a server with its own state; null if the state cannot be opened. */
const readAnswers = async (
  sealer: Sealer | null,
  context: ToolContext,
  { answers: responses, state }: ServerWait,
): Promise<NonNullable<McpCall["answers"]> | null> => {
  if (sealer === null || state === null) return { responses, state };
  const opened = await sealer.open(state, stateBoundOf(context));
  return opened === null ? null : { responses, state: JSON.parse(opened) as string };
};

const lostState = toolError(
  "failed",
  "the deployment's key has changed since the server asked, so that it cannot be answered; call again",
);

interface ServerCall {
  readonly client: McpClient;
  readonly endpoint: McpEndpoint;
  readonly connection: Json;
  readonly tool: ServerTool;
  readonly args: unknown;
  readonly answers: McpCall["answers"] | undefined;
  readonly context: McpCall["context"];
}

/** Sends a call; repeats one that may be repeated if its answer was lost. */
const send = async (safety: Safety, call: ServerCall): Promise<McpCallReport> => {
  const { client, endpoint, connection, tool, args, answers, context } = call;
  const given = {
    tool: tool.remote,
    schema: tool.schema,
    args: withoutNulls(tool.schema, args as JsonObject),
    context,
  };
  const request = answers === undefined ? given : { ...given, answers };
  let newest = connection;
  const keep: McpEndpoint["keep"] = (opened, over) => {
    newest = opened;
    endpoint.keep?.(opened, over);
  };
  const first = await client.call({ ...endpoint, keep }, connection, request);
  // A call that was cancelled says nothing about its server.
  if (first.end.kind === "lost" || first.end.kind === "unreachable") context.signal.throwIfAborted();
  if (safety === "unsafe") return first;
  const last = first.end.kind === "lost" ? await client.call(endpoint, newest, request) : first;
  const { end } = last;
  const isUndecided = end.kind === "lost" || end.kind === "foreign";
  const listChanged = first.listChanged || last.listChanged;
  return { listChanged, end: isUndecided ? { kind: "unreachable", reason: end.reason } : end };
};

/** Returns the output if a server is in a pause after a failure; null if it may be called. */
const pauseOf = (server: McpServer, { server: link, now }: ToolContext): ToolOutput | null => {
  const wait = (link?.retryAt ?? 0) - now();
  if (wait <= 0) return null;
  return unreachable(server.name, `it did not answer and is asked again in ${Math.ceil(wait / 1_000)} s`);
};

/** Parts by which a tool reaches its server. */
interface ServerAccess {
  readonly client: McpClient | null;
  readonly sealer: Sealer | null;
  readonly endpointOf: (reach: CallReach) => Promise<McpEndpoint>;
}

type ServerCaller = (
  args: unknown,
  context: ToolContext,
  progress: CallProgress,
) => Promise<ToolOutput | Parked>;

/** Creates the function that makes one call of a tool and reports what it ended in. */
const createServerCaller =
  (server: McpServer, tool: ServerTool, { client, sealer, endpointOf }: ServerAccess): ServerCaller =>
  async (args, context, progress) => {
    const { connection, waits, ...reach } = context.server ?? unknownServer;
    if (client === null) return unreachable(server.name, "this deployment contains no MCP client");
    const endpoint = await endpointOf(reach).catch(errorMessageOf);
    if (typeof endpoint === "string") return unreachable(server.name, endpoint);
    const { wait } = progress;
    const answers = wait === null ? undefined : await readAnswers(sealer, context, wait);
    if (answers === null) return lostState;
    const { redact } = endpoint;
    const { signal, keep, sees } = context;
    const show = (text: string): void => {
      waits(false);
      context.show(redact(text));
    };
    const shown = { signal, keep, sees, show };
    const call = {
      client,
      endpoint: reportWaits(endpoint, waits),
      connection,
      tool,
      args,
      answers,
      context: shown,
    };
    const report = await send(safetyOf(server, tool), call);
    const { end, listChanged } = redact(report);
    if (end.kind !== "question") return outputOf(server, listChanged, end, progress);
    const given = report.end.kind === "question" ? report.end.state : null;
    const state = await sealState(sealer, context, given);
    const next = answerAsking(server.name, { ...end, state }, wait, context);
    return { ...next, server: { listChanged, failure: null } };
  };

/**
 * Creates the tool that calls a server's. Its arguments are checked against the server's schema before they are
 * sent.
 */
export const createServerTool = (server: McpServer, tool: ServerTool, access: ServerAccess): Tool => {
  const { name, description, schema, quarantined } = tool;
  const safety = safetyOf(server, tool);
  const callServer = createServerCaller(server, tool, access);
  const run = async (args: unknown, context: ToolContext): Promise<ToolOutput | Parked> => {
    const memo = context.memo.get();
    const login = loginSchema.safeParse(memo).data;
    if (login !== undefined) {
      const { count, wait } = login.asked.login;
      if (login.answer !== "approve") return declinedOutput(server.name);
      return callServer(args, context, { wait, logins: count });
    }
    const next = continueQuestions(server.name, memo);
    // What somebody has answered is sent even in a pause, since it would be lost.
    if (next === null)
      return pauseOf(server, context) ?? callServer(args, context, { wait: null, logins: 0 });
    if (next.do !== "call") return carryOut(next);
    return callServer(args, context, { wait: next.wait, logins: 0 });
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
    ...(quarantined !== undefined ? { withheld: withheldText(name) } : {}),
  };
};
