import * as z from "zod";
import type { ContentPart, Json, ResultStatus } from "../chat/message.ts";
import type { FileChange, Sandbox } from "../sandbox/contract.ts";
import type { Act, CallAct } from "./acts.ts";
import { reachProblem } from "./reach.ts";
import type { DeclaredReach, ToolReach } from "./reach.ts";
import type { StoreChange, Stores } from "./stores.ts";
import type { SessionRequest, StartChildren } from "./session-request.ts";

/** What may happen to a call that a crash interrupted. */
export type Safety = "read" | "idempotent" | "reattach" | "unsafe";
export type WorkspaceUse = "none" | "read" | "write";

/** The result of a call. `details` (≤ 64 KiB) goes to the event, not to the model. */
export interface ToolOutput {
  readonly content: string | readonly ContentPart[];
  readonly isError?: boolean;
  readonly details?: Json;
  readonly changes?: readonly FileChange[];
  /** Absent: `error` if `isError`, else `ok`; `unknown` for an outcome that was lost. */
  readonly status?: ResultStatus;
  /** Emitted as `status_update`. */
  readonly statusText?: string;
  /**
   * Changes of the shared stores, stored with the outcome, all or none; a refused one makes the call an error.
   * With empty `content` the result says what they came to, as JSON. An error changes nothing.
   */
  readonly stores?: readonly StoreChange[];
  /** A command of the sandbox that goes on behind the call, until `until` (milliseconds since the epoch) at the latest; it ends with its run, if that is cancelled. */
  readonly background?: { readonly exec: string; readonly until: number };
  /** A command in the background that is over, by its id. */
  readonly ended?: string;
}

/** A question to a person. */
export interface QuestionSpec {
  readonly text: string;
  readonly options: readonly string[];
  readonly header?: string;
  readonly multi_select: boolean;
  readonly max_selections?: number;
  readonly strict: boolean;
}

/** What a parked call waits for. `time` re-runs the call at `until`. */
export type Park =
  | { readonly on: "ask"; readonly question: QuestionSpec }
  /** Starts other agents and waits for them: what they come to is the result. */
  | ({ readonly on: "thread" } & StartChildren)
  | { readonly on: "time" | "exec"; readonly until: number }
  /** Runs again at `until`, or when the task changes; `memo` becomes the call's memory. */
  | { readonly on: "task"; readonly task: string; readonly until: number; readonly memo: Json };

export interface Parked {
  readonly parked: Park;
}
export const parkCallOn = (park: Park): Parked => ({ parked: park });

/** Seconds a command may take, and the most that a call may ask for. */
export interface CommandTimeout {
  readonly default: number;
  readonly max: number;
}

/** All that a tool sees of the world. `key` is the same for every attempt of a call. */
export interface ToolContext extends ToolReach {
  readonly callId: string;
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch; a pause moves it. */
  readonly deadline: number;
  readonly now: () => number;
  /** Waits for what is not ready yet, without that being time of the call: 2 minutes in all. It ends with the call. */
  readonly pause: (ms: number) => Promise<void>;
  readonly agent: string;
  readonly thread: string;
  readonly session: string;
  readonly sandbox: Sandbox;
  /** Globs that bound every write; absent = unbounded. */
  readonly writablePaths?: readonly string[];
  readonly commandTimeout: CommandTimeout;
  /** Folder of the workspace that commands start in. */
  readonly workingDir: string;
  /** What the threads of the session share; changed by an output's `stores`. */
  readonly stores: Stores;
  /** Stored text of this session, null if the id is unknown. */
  readonly recall: (id: string) => string | null;
  /**
   * Small JSON that survives a crash with the call: what a reattaching tool needs to know of its first start. The `exec` of
   * an object names the call's command in the sandbox, which ends if the run is cancelled, whatever became of the tool.
   */
  readonly memo: { readonly get: () => Json; readonly set: (value: Json) => void };
  /** What the model of the calling agent takes beside text. */
  readonly sees: { readonly images: boolean; readonly documents: boolean };
  /**
   * Keeps bytes for an image or document part of the result, whose `blob` is the id that it gives; they are stored with
   * the result. At most 5 MiB, 20 MiB a call.
   */
  readonly keep: (bytes: Uint8Array) => string;
  /** Streams a piece of output to watchers; never stored. */
  readonly show: (text: string) => void;
}

/** A tool as written: `run` gets arguments that passed `params`. */
export interface ToolDefinition<P extends z.ZodObject = z.ZodObject> extends DeclaredReach {
  readonly name: string;
  readonly description: string;
  readonly params: P;
  /** Other spellings of parameters that models use: spelling → parameter. Accepted, not declared. */
  readonly aliases?: Readonly<Record<string, string>>;
  readonly safety?: Safety | ((args: z.output<P>) => Safety);
  readonly workspace?: WorkspaceUse;
  readonly cache?: boolean;
  readonly terminal?: boolean;
  readonly pinned?: boolean;
  /** Calling it again and again is its use: loops of it are judged by their outcomes. */
  readonly poll?: boolean;
  /** Fields of its JSON output that change by themselves, like durations: detectors of loops leave them out. */
  readonly volatile?: readonly string[];
  /** It is another name of this tool: accepted at dispatch, not told to models; the rules of both hold. */
  readonly aliasOf?: string;
  /** In extensions: it takes the place of the built-in tool of its name. */
  readonly replaces?: boolean;
  /** Milliseconds; absent = 60 000. */
  readonly timeout?: number | ((args: z.output<P>, command: CommandTimeout) => number);
  /** Characters of output; absent = 32 000. */
  readonly limit?: number;
  /** What a permission pattern is matched against; absent = the subjects of its acts, else the tool's name. */
  readonly subject?: (args: z.output<P>) => readonly string[];
  /** What the call does, each path, argv, address or agent of it: rules on an act bind it by this. */
  readonly acts?: (args: z.output<P>) => readonly CallAct[];
  /** The acts that `acts` may name, first the one that the tool is for. Absent: what `workspace` and `hosts` say. */
  readonly does?: readonly Act[];
  /** Whether its subjects are paths that it acts on with all that lies below them: `deny` and `ask` hold for that, too. */
  readonly subtree?: boolean | ((args: z.output<P>) => boolean);
  /** Instead of `run`: what the call asks of its session. */
  readonly request?: (args: z.output<P>) => SessionRequest;
  readonly run?: (
    args: z.output<P>,
    context: ToolContext,
  ) => Promise<ToolOutput | Parked> | ToolOutput | Parked;
}

/** A tool with its argument type forgotten, as toolboxes and dispatch hold it. */
export interface Tool extends Omit<
  ToolDefinition,
  "safety" | "timeout" | "subject" | "acts" | "subtree" | "request" | "run"
> {
  readonly schema: Json;
  readonly safety: (args: unknown) => Safety;
  readonly timeout: (args: unknown, command: CommandTimeout) => number;
  readonly subject: (args: unknown) => readonly string[];
  /** Null: the tool does not say what it does. */
  readonly acts: ((args: unknown) => readonly CallAct[]) | null;
  readonly subtree: (args: unknown) => boolean;
  /** Null: the tool is run. */
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

/** The JSON Schema 2020-12 of a tool's parameters, as models are told it. */
function schemaOf(params: z.ZodObject): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(params, { target: "draft-2020-12", io: "input" });
  return schema as Json;
}

function checkDescriptions(name: string, { shape }: z.ZodObject): void {
  for (const [field, type] of Object.entries(shape)) {
    if (!(type as z.ZodType).meta()?.description) {
      throw new Error(`tool ${name}: the parameter ${field} has no description`);
    }
  }
}

const subjectsOf = (acts: readonly CallAct[] = [], name: string): readonly string[] =>
  acts.length === 0 ? [name] : [...new Set(acts.map(({ subject }) => subject))];

/** In the place of `run` where the session does what a call asks. */
const refuseToRun = (): never => {
  throw new Error("the session does what this tool asks; it is not run");
};

/** Makes a tool. Arguments reach its functions only after `params` accepted them; defaults and names are checked here. */
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
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name)) throw new Error(`"${name}" is no tool name`);
  if (description.length === 0 || description.length > 1024) {
    throw new Error(`tool ${name}: a description has 1 to 1024 characters`);
  }
  const problem = reachProblem(definition);
  if (problem !== null) throw new Error(`tool ${name}: ${problem}`);
  if ((run === undefined) === (request === undefined))
    throw new Error(`tool ${name}: give either run or request`);
  checkDescriptions(name, params);
  const typed = (args: unknown): z.output<P> => args as z.output<P>;
  let schema: Json | undefined;
  return {
    ...rest,
    name,
    description,
    params,
    limit: definition.limit ?? defaultLimit,
    // Made for who asks: those of all tools took a tenth of a Worker's start.
    get schema() {
      return (schema ??= schemaOf(params));
    },
    safety: (args) => (typeof safety === "function" ? safety(typed(args)) : (safety ?? "unsafe")),
    timeout: (args, command) =>
      typeof timeout === "function" ? timeout(typed(args), command) : (timeout ?? defaultTimeout),
    subject: (args) => subject?.(typed(args)) ?? subjectsOf(acts?.(typed(args)), name),
    acts: acts === undefined ? null : (args) => acts(typed(args)),
    subtree: (args) => (typeof subtree === "function" ? subtree(typed(args)) : subtree),
    request: request === undefined ? null : (args) => request(typed(args)),
    run: async (args, context) => (run ?? refuseToRun)(typed(args), context),
  };
}
