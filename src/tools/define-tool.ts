import * as z from "zod";
import type { ContentPart, Json, ResultStatus } from "../chat/message.ts";
import type { FileChange, Sandbox } from "../sandbox/contract.ts";
import type { Act, CallAct } from "./acts.ts";
import type { SessionPage } from "./egress/browser-page.ts";
import { reachProblem } from "./reach.ts";
import type { DeclaredReach, ToolReach } from "./reach.ts";
import type { AuthorizeServer } from "./egress/server-authorization.ts";
import type { StoreChange, Stores } from "./stores.ts";
import type { SessionRequest, StartChildren } from "./session-request.ts";
import { findUnknownKey } from "./suggest.ts";

/** How a call may be repeated after a crash interrupted it. */
export type Safety = "read" | "idempotent" | "reattach" | "unsafe";
export type WorkspaceUse = "none" | "read" | "write";

/** Result of a call. `details` (≤ 64 KiB) goes to the event, not to the model. */
export interface ToolOutput {
  readonly content: string | readonly ContentPart[];
  readonly isError?: boolean;
  /** Exit code of a command that ended by itself. */
  readonly exitCode?: number;
  readonly details?: Json;
  readonly changes?: readonly FileChange[];
  /** Status of the result; by default `error` if `isError`, else `ok`; `unknown` means that the outcome was lost. */
  readonly status?: ResultStatus;
  /** Text that is emitted as `status_update`. */
  readonly statusText?: string;
  /**
   * Changes of the shared stores, stored with the outcome, all or none; a refused change makes the call an error.
   * With empty `content` the result is the outcome of the changes as JSON. An error changes nothing.
   */
  readonly stores?: readonly StoreChange[];
  /** Sandbox command that outlives the call, at most until `until` (epoch ms); it ends if its run is cancelled. */
  readonly background?: { readonly exec: string; readonly until: number };
  /** Id of a background command that has ended. */
  readonly ended?: string;
  /** What to store about the MCP server of the tool; absent for other tools. */
  readonly server?: ServerReport;
}

/**
 * Stores a new connection to an MCP server, from which the next clients are created without a handshake. `over` is one
 * whose session the server has ended, or null.
 */
export type KeepConnection = (connection: Json, over: Json) => void;

/** Findings of a call about its MCP server. */
export interface ServerReport {
  /** Whether the server reported that its list of tools has changed. */
  readonly listChanged: boolean;
  /** Reason why the server could not be used; null if it could. */
  readonly failure: string | null;
}

/** Question to a person. */
export interface QuestionSpec {
  readonly text: string;
  readonly options: readonly string[];
  readonly header?: string;
  readonly multi_select: boolean;
  readonly max_selections?: number;
  readonly strict: boolean;
}

/** Address of an MCP server for a person to open; with `login` the ask ends by itself after the login. */
export interface AuthorizationSpec {
  readonly server: string;
  /** Address to open; absent if the ask is shown to somebody who may not decide about it. */
  readonly url?: string;
  readonly login?: boolean;
}

/** Subject of an ask on behalf of a tool: a question, or an address of the server to open. */
type AnswerSubject = { readonly question: QuestionSpec } | { readonly authorization: AuthorizationSpec };

/** Condition that a parked call waits for. `time` re-runs the call at `until`. */
export type Park =
  | { readonly on: "ask"; readonly question: QuestionSpec }
  /** Starts other agents and waits for them; their results are the result. */
  | ({ readonly on: "thread" } & StartChildren)
  /**
   * Asks, and runs again once there is an answer: the memo is then `{asked: memo, answer}`, with null for no
   * answer.
   */
  | { readonly on: "answer"; readonly subject: AnswerSubject; readonly memo: Json }
  | { readonly on: "time" | "exec"; readonly until: number }
  /**
   * Continues with other arguments, like those of a redirect, once they are permitted; `memo` becomes the call's
   * memo.
   */
  | { readonly on: "verdict"; readonly args: Json; readonly memo: Json }
  /** Runs again at `until`, or when the task changes; `memo` becomes the call's memo. */
  | { readonly on: "task"; readonly task: string; readonly until: number; readonly memo: Json };

export interface Parked {
  readonly parked: Park;
  /** What to store about the MCP server of the tool; absent for other tools. */
  readonly server?: ServerReport;
}
export const parkCallOn = (park: Park): Parked => ({ parked: park });

/** Default timeout of a command in seconds, and the highest that a call may ask for. */
export interface CommandTimeout {
  readonly default: number;
  readonly max: number;
}

/** Context of a tool's run. `key` is the same for every attempt of a call. */
export interface ToolContext extends ToolReach {
  readonly callId: string;
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** When the call times out, in milliseconds since the epoch; a pause moves it. */
  readonly deadline: number;
  readonly now: () => number;
  /** Waits for what is not ready yet, outside the call's timeout: 2 minutes in all. Rejects once the call is cancelled or over. */
  readonly pause: (ms: number) => Promise<void>;
  readonly agent: string;
  readonly thread: string;
  readonly session: string;
  readonly sandbox: Sandbox;
  /** Globs that limit every write; absent = no limit. */
  readonly writablePaths?: readonly string[];
  readonly commandTimeout: CommandTimeout;
  /** Folder of the workspace to which paths are relative, including those of `sandbox`. */
  readonly workingDir: string;
  /** Folder in which git starts, relative to `workingDir`. */
  readonly repository: string;
  /** Stores that the threads of the session share; an output's `stores` change them. */
  readonly stores: Stores;
  /** Returns the stored text with this id in this session, null if the id is unknown. */
  readonly recall: (id: string) => string | null;
  /**
   * Small JSON that survives a crash with the call: what a reattaching tool has to know about its first start. An
   * object's `exec` names the call's command in the sandbox, which ends if the run is cancelled, whatever the tool
   * does.
   */
  readonly memo: { readonly get: () => Json; readonly set: (value: Json) => void };
  /** Access to the tool's MCP server, and until when it must not be called; null for other tools. */
  readonly server: {
    readonly connection: Json;
    readonly retryAt: number;
    readonly authorize: AuthorizeServer;
    readonly keep: KeepConnection;
    /** Says whether a request waits for the beginning of its answer: if the call times out then, the server hangs. */
    readonly waits: (isWaiting: boolean) => void;
  } | null;
  /** Media that the model of the calling agent accepts. */
  readonly sees: { readonly images: boolean; readonly documents: boolean };
  /**
   * Stores bytes with the result for an image or document part, whose `blob` is the returned id. The limit is 5 MiB
   * each, 20 MiB a call.
   */
  readonly keep: (bytes: Uint8Array) => string;
  /** Streams a piece of output to watchers; it is never stored. */
  readonly show: (text: string) => void;
  /** Page of the session's browser. */
  readonly page: SessionPage;
  /** Returns the verdict on this call with other arguments, or with the browser's page at another address. */
  readonly judge: (changed: { readonly args?: Json; readonly page?: string }) => "allow" | "ask" | "deny";
}

/** Tool as its author defines it: `run` gets arguments that passed `params`. */
export interface ToolDefinition<P extends z.ZodObject = z.ZodObject> extends DeclaredReach {
  readonly name: string;
  readonly description: string;
  readonly params: P;
  /** Other spellings of parameters that models use: spelling → parameter. They are accepted but not declared. */
  readonly aliases?: Readonly<Record<string, string>>;
  readonly safety?: Safety | ((args: z.output<P>) => Safety);
  readonly workspace?: WorkspaceUse;
  readonly cache?: boolean;
  readonly terminal?: boolean;
  readonly pinned?: boolean;
  /** Whether repeated calls are normal: loops are then judged by their outcomes. */
  readonly poll?: boolean;
  /** Whether calls of the tool are progress; a run of other calls alone makes no progress. */
  readonly progress?: boolean;
  /** Fields of the JSON output that change by themselves, like durations: loop detectors ignore them. */
  readonly volatile?: readonly string[];
  /** Tool of which this is an alias: accepted at dispatch, not declared to models; the rules of both apply. */
  readonly aliasOf?: string;
  /** Whether the tool of an extension replaces the built-in tool of its name. */
  readonly replaces?: boolean;
  /** Timeout in milliseconds; absent = 60 000. */
  readonly timeout?: number | ((args: z.output<P>, command: CommandTimeout) => number);
  /** Characters of output that are kept; absent = 32 000. */
  readonly limit?: number;
  /** Returns what a permission pattern is matched against; absent = the subjects of its acts, else the tool's name. */
  readonly subject?: (args: z.output<P>) => readonly string[];
  /**
   * Returns the acts of a call on each path, argv, address or agent, by which rules on an act bind it. `page` is
   * the address that the session's browser shows.
   */
  readonly acts?: (args: z.output<P>, page: string | null) => readonly CallAct[];
  /** Acts that `acts` may name, the main one first; absent: those that `workspace` and `hosts` imply. */
  readonly does?: readonly Act[];
  /** Whether the tool acts on everything below its subject paths: `deny` and `ask` then apply to all of that, too. */
  readonly subtree?: boolean | ((args: z.output<P>) => boolean);
  /** Returns the call's request to its session; used instead of `run`. */
  readonly request?: (args: z.output<P>) => SessionRequest;
  readonly run?: (
    args: z.output<P>,
    context: ToolContext,
  ) => Promise<ToolOutput | Parked> | ToolOutput | Parked;
}

/** Tool without its argument type, as toolboxes and dispatch hold it. */
export interface Tool extends Omit<
  ToolDefinition,
  "safety" | "timeout" | "subject" | "acts" | "subtree" | "request" | "run"
> {
  readonly schema: Json;
  readonly safety: (args: unknown) => Safety;
  readonly timeout: (args: unknown, command: CommandTimeout) => number;
  readonly subject: (args: unknown, page?: string | null) => readonly string[];
  /** Returns the acts of a call; null if the tool does not declare them. */
  readonly acts: ((args: unknown, page?: string | null) => readonly CallAct[]) | null;
  readonly subtree: (args: unknown) => boolean;
  /** Error with which every call is refused; the tool is then not declared. */
  readonly withheld?: string;
  /** Returns the call's request to its session; null if the tool has a `run`. */
  readonly request: ((args: unknown) => SessionRequest) | null;
  readonly run: (args: unknown, context: ToolContext) => Promise<ToolOutput | Parked>;
}

export interface Toolbox {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly Tool[];
}

const defaultTimeout = 60_000;
const defaultLimit = 32_000;

/** Returns the JSON Schema 2020-12 of a tool's parameters, as it is declared to models. */
function schemaOf(params: z.ZodObject): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(params, { target: "draft-2020-12", io: "input" });
  return schema as Json;
}

function checkDescriptions(name: string, { shape }: z.ZodObject): void {
  for (const [field, type] of Object.entries(shape)) {
    if (!(type as z.ZodType).meta()?.description) {
      throw new Error(`tool ${name}: the parameter ${field} has no description; add .describe("…") to it`);
    }
  }
}

const subjectsOf = (acts: readonly CallAct[] = [], name: string): readonly string[] =>
  acts.length === 0 ? [name] : [...new Set(acts.map(({ subject }) => subject))];

/** Replaces `run` if the session carries out the calls. */
const refuseToRun = (): never => {
  throw new Error("the session carries out this tool's calls; the tool itself does not run");
};

const safeties: readonly unknown[] = ["read", "idempotent", "reattach", "unsafe"] satisfies Safety[];
const workspaceUses: readonly unknown[] = ["none", "read", "write"] satisfies WorkspaceUse[];

/** Returns the problem of a value that only types forbid, since a team's own tools may be unchecked by types. */
const wordProblem = ({
  safety,
  workspace,
}: {
  readonly safety?: unknown;
  readonly workspace?: unknown;
}): string | null => {
  if (safety !== undefined && typeof safety !== "function" && !safeties.includes(safety))
    return `there is no safety ${JSON.stringify(safety)}; write read, idempotent, reattach or unsafe`;
  if (workspace !== undefined && !workspaceUses.includes(workspace))
    return `there is no workspace use ${JSON.stringify(workspace)}; write none, read or write`;
  return null;
};

const toolKeys: readonly string[] = [
  ...(["name", "description", "params", "aliases", "safety", "workspace", "cache", "terminal"] as const),
  ...(["pinned", "poll", "progress", "volatile", "aliasOf", "replaces", "timeout", "limit"] as const),
  ...(["subject", "acts", "does", "subtree", "request", "run", "hosts", "secrets"] as const),
] satisfies (keyof ToolDefinition)[];

/** Definition of a tool that may not have been type-checked, like those of a team's extensions. */
interface LooseDefinition {
  readonly name?: unknown;
  readonly description?: unknown;
  readonly params?: unknown;
  readonly run?: unknown;
  readonly request?: unknown;
}

/** Throws if a key of a tool is unknown or missing, and names it. */
const checkKeys = (definition: LooseDefinition): void => {
  const { name, description, params, run, request } = definition;
  const who = typeof name === "string" ? `tool ${name}` : "a tool";
  const unknown = findUnknownKey(definition, toolKeys);
  if (unknown !== null) throw new Error(`${who}: ${unknown}`);
  const required = { name, description, params, run: run ?? request };
  const missing = Object.entries(required).find(([, value]) => value === undefined);
  if (missing !== undefined) throw new Error(`${who} has no ${missing[0]}`);
};

/** Defines a tool. Its functions only get arguments that `params` accepted; applies defaults and checks names. */
export function defineTool<P extends z.ZodObject>(definition: ToolDefinition<P>): Tool {
  const {
    name,
    description,
    params,
    safety,
    timeout,
    subject,
    acts,
    subtree = false,
    request,
    run,
    ...rest
  } = definition;
  checkKeys(definition);
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    throw new Error(
      `"${name}" is not a tool name: up to 64 letters, digits, _ and -, beginning with a letter`,
    );
  if (description.length === 0 || description.length > 1024) {
    throw new Error(`tool ${name}: a description has 1 to 1024 characters`);
  }
  const problem = reachProblem(definition) ?? wordProblem(definition);
  if (problem !== null) throw new Error(`tool ${name}: ${problem}`);
  if (run !== undefined && request !== undefined)
    throw new Error(`tool ${name}: define either run or request`);
  checkDescriptions(name, params);
  const typed = (args: unknown): z.output<P> => args as z.output<P>;
  let schema: Json | undefined;
  return {
    ...rest,
    name,
    description,
    params,
    limit: definition.limit ?? defaultLimit,
    // Computed on demand: computing the schemas of all tools took a tenth of a Worker's start.
    get schema() {
      return (schema ??= schemaOf(params));
    },
    safety: (args) => (typeof safety === "function" ? safety(typed(args)) : (safety ?? "unsafe")),
    timeout: (args, command) =>
      typeof timeout === "function" ? timeout(typed(args), command) : (timeout ?? defaultTimeout),
    subject: (args, page = null) => subject?.(typed(args)) ?? subjectsOf(acts?.(typed(args), page), name),
    acts: acts === undefined ? null : (args, page = null) => acts(typed(args), page),
    subtree: (args) => (typeof subtree === "function" ? subtree(typed(args)) : subtree),
    request: request === undefined ? null : (args) => request(typed(args)),
    run: async (args, context) => (run ?? refuseToRun)(typed(args), context),
  };
}

/** Overrides fields of a value. Its getters stay getters: a spread would compute values that may never be needed. */
export const withFields = <T extends object>(value: T, fields: Partial<T>): T => {
  const all = { ...Object.getOwnPropertyDescriptors(value), ...Object.getOwnPropertyDescriptors(fields) };
  return Object.defineProperties({}, all) as T;
};
