import * as z from "zod";
import type { Scope, Principal } from "./rpc.ts";
import type { ConfiguredBounds } from "../agent/budgets/limits.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type { MigrationTarget } from "../agent/run/migrate.ts";
import type { Ask } from "../agent/state/ask.ts";
import type { OnDependencyFailure } from "../agent/state/board.ts";
import type { ChildRecord, CallerConstraints } from "../agent/state/child.ts";
import type { EntryStore, LedgerRow, PastPlace, PastView, RunRecord } from "../agent/state/records.ts";
import type { OnBusy } from "../agent/state/events.ts";
import type { Input } from "../agent/state/thread.ts";
import type { ClientTool, Session } from "../agent/state/session.ts";
import { answersKeptMs } from "../agent/transaction/entries.ts";
import type { Draft, StoredAnswer } from "../agent/transaction/draft.ts";
import { headAfter } from "../agent/transaction/draft.ts";
import type { ContentPart, Json, Message } from "../chat/message.ts";
import type { Usage } from "../model/completer.ts";
import { describeIssue } from "../schema.ts";
import type { PastChat } from "./context-view.ts";
import type { LoggedEvent } from "./event-lines.ts";
import { fieldProblems, findReservedField } from "./mistakes.ts";
import type { ForkSource } from "./operations/fork.ts";
import type { PageStart, PagedRow } from "./paging.ts";
import type { Problem } from "./problems.ts";
import { refuse, refuseField } from "./problems.ts";

/** Defines what an operation of a session is: everything that HTTP, sockets and the session know of it. */

interface OperationRow<Name extends string, Params extends z.ZodObject> {
  readonly name: Name;
  /** One sentence that says what the operation does. */
  readonly summary: string;
  /** Scopes of which a caller needs one. */
  readonly scopes: readonly [Scope, ...Scope[]];
  /** HTTP path, with `:name` for each parameter in it. The key of a write holds for its whole path. */
  readonly path: `/v1/sessions${string}`;
  /** Schema of the values of path, query and body together. */
  readonly params: Params;
  /** Whether the path is served without `/v1`, too. */
  readonly alias?: true;
  /** Whether the operation answers with the session, so that the answer has its `ETag`. */
  readonly isTagged?: true;
  /** Whether the caller is sent on to the session's workspace, which is ready before the answer is sent. */
  readonly entersWorkspace?: true;
}

interface ReadRow<Name extends string, Params extends z.ZodObject> extends OperationRow<Name, Params> {
  readonly run: (context: ReadContext, params: z.output<Params>) => CommandAnswer;
}

interface WriteRow<Name extends string, Params extends z.ZodObject> extends OperationRow<Name, Params> {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** Whether the long bodies of inputs are allowed. */
  readonly takesContent?: true;
  /** Returns whether unchecked parameters ask for what may begin a run, for which the tenant must have room. */
  readonly mayStartRun?: (params: Readonly<Record<string, unknown>>) => boolean;
  /**
   * What `If-Match` names: the session's head, the version of its input, or the bytes of a file, which the sandbox
   * compares; absent: the operation takes none.
   */
  readonly matches?: "session" | "input" | "file";
  /** Whether the operation begins the session that it is performed on, which its route names. */
  readonly creates?: true;
  /** Command of the WebSocket; `body` names the field of its frame that holds the body, if it has one. */
  readonly frame?: { readonly body: string | null };
  readonly run: (context: WriteContext, params: z.output<Params>) => CommandAnswer;
}

/** Operation that only reads. */
export interface ReadOperation<
  Name extends string = string,
  Params extends z.ZodObject = z.ZodObject,
> extends OperationRow<Name, Params> {
  readonly kind: "read";
  readonly method: "GET";
  /** Checks the parameters, then runs. */
  readonly run: (context: ReadContext, params: unknown) => CommandAnswer;
}

/** Operation that changes the session in one commit. */
export interface WriteOperation<
  Name extends string = string,
  Params extends z.ZodObject = z.ZodObject,
> extends Omit<WriteRow<Name, Params>, "run"> {
  readonly kind: "write";
  /** Checks the parameters, then runs. */
  readonly run: (context: WriteContext, params: unknown) => CommandAnswer;
}

export type Operation = ReadOperation | WriteOperation;

export const defineRead = <Name extends string, Params extends z.ZodObject>(
  row: ReadRow<Name, Params>,
): ReadOperation<Name, Params> => ({
  ...row,
  kind: "read",
  method: "GET",
  run: (context, params) => row.run(context, parseParams(row.params, params)),
});

export const defineWrite = <Name extends string, Params extends z.ZodObject>(
  row: WriteRow<Name, Params>,
): WriteOperation<Name, Params> => ({
  ...row,
  kind: "write",
  run: (context, params) => row.run(context, parseParams(row.params, params)),
});

/** Returns whether an operation needs a session that exists. */
export const needsSession = (operation: Operation): boolean =>
  operation.kind === "read" || operation.creates !== true;

/** Lists the path parameters other than the session. */
export const pathParametersOf = ({ path }: Operation): readonly string[] =>
  [...path.matchAll(/:(\w+)/g)].flatMap(([, name = ""]) => (name === "session" ? [] : [name]));

/** Returns whether the body may be absent, as all parameters may. */
export const isBodyOptional = ({ method, params }: Operation): boolean =>
  method === "DELETE" || params.safeParse({}).success;

/** Reads rows of a session that are not part of its live state. Unknown ids answer null. */
export interface Archive {
  /** Returns the stored answer of a keyed command. */
  readonly answer: (key: string) => StoredAnswer | null;
  readonly input: (id: string) => Input | null;
  /** Lists inputs, the newest first. */
  readonly inputs: (from: PageStart) => readonly PagedRow[];
  readonly ask: (id: string) => Ask | null;
  /** Lists asks in the order in which they were opened. */
  readonly asks: (status: Ask["status"] | null, from: PageStart) => readonly PagedRow[];
  readonly run: (id: string) => RunRecord | null;
  /** Lists runs that have ended, the newest first. */
  readonly runs: (from: PageStart) => readonly PagedRow[];
  /** Returns a called thread, even one that has ended. */
  readonly child: (id: string) => ChildRecord | null;
  /** Lists called threads, live or not, in the order in which they began; their places are positive. */
  readonly children: (from: PageStart) => readonly PagedRow[];
  /** Lists messages, the newest first. */
  readonly messages: (query: {
    thread: string;
    before: number | null;
    limit: number;
    retired: boolean;
  }) => readonly { readonly pos: number; readonly json: () => string }[];
  /** Yields events with `after < seq`, in order, read on demand. */
  readonly events: (after: number) => Iterable<LoggedEvent>;
  /** Lists the calls of a turn that were sent, in order, with their places in the ledger. */
  readonly seen: (run: string, turn: number) => readonly { readonly n: number; readonly row: LedgerRow }[];
  /** Returns a thread's newest answered call before a place in the ledger. */
  readonly answered: (thread: string, before: number) => LedgerRow | null;
  /** Returns the chat as it was after an edit, up to a message. */
  readonly chatThen: (thread: string, edit: number, pos: number) => PastChat;
  /** Returns a thread's chat at the turn boundary before an event or after a message; null for an unknown message. */
  readonly pastView: (thread: string, at: PastPlace) => PastView | null;
  /** Returns the constraints that the caller set for a run's agent, or null if no other agent called it. */
  readonly callerConstraints: (run: string) => CallerConstraints | null;
  /** Returns stored bytes as base64. */
  readonly media: (blob: string) => string;
  /** Returns the message that was the last to show stored bytes, as it was written; null if none shows them. */
  readonly attachment: (blob: string) => Message | null;
  /** Lists entries of a store by key; the values are serialised. */
  readonly entries: (
    store: EntryStore,
  ) => readonly { readonly key: string; readonly revision: number; readonly json: string }[];
  readonly usage: () => readonly {
    agent: string;
    model: string;
    provider: string;
    calls: number;
    usage: Usage;
    cost: number | null;
    estimated: boolean;
  }[];
}

/** What the deployment says about sessions; the engine implements it. */
export interface SessionRules {
  readonly onBusy: OnBusy;
  readonly interactive: boolean;
  readonly entryAgent: string;
  readonly agentNames: readonly string[];
  readonly revision: string;
  /** Returns the bounds on a session of this agent besides its caller's. */
  readonly boundsOf: (agent: string) => ConfiguredBounds;
  /** Returns why a model may not be chosen for this session; null if it may. */
  readonly modelProblem: (model: string, agent: string) => Problem | null;
  /** Returns why an agent cannot run in this deployment, as when a secret is missing. */
  readonly agentProblem: (agent: string) => Problem | null;
  /** Returns why the session's model cannot take what an input holds. */
  readonly mediaProblem: (
    parts: readonly ContentPart[],
    agent: string,
    model: string | null,
  ) => Problem | null;
  /** Returns why client tools cannot be added to the agent's own. */
  readonly clientToolProblem: (tools: readonly ClientTool[], agent: string) => Problem | null;
  /** Returns why sessions have no workspace here; null if they have one. */
  readonly workspaceProblem: () => Problem | null;
  /** Returns why a tool ceiling makes no sense. */
  readonly ceilingProblem: (ceiling: readonly string[], client: readonly ClientTool[]) => Problem | null;
  /** Returns why a JSON Schema cannot be used. */
  readonly schemaProblem: (schema: Json) => string | null;
  readonly stores: {
    /** Toolboxes that at least one agent lists. */
    readonly listed: ReadonlySet<string>;
    readonly notes: "session" | "agent" | "tenant";
    readonly onDependencyFailure: OnDependencyFailure;
  };
}

export interface CommandAnswer {
  readonly status: 200 | 201 | 202 | 204;
  /** The serialised body. */
  readonly json: string;
}

export interface ReadContext {
  readonly state: Session;
  readonly archive: Archive;
  readonly rules: SessionRules;
  readonly principal: Principal;
  readonly now: number;
  /** Returns the open streamed items with their text so far. */
  readonly items: () => Json;
  /** Returns an agent with a model override and, if another agent calls it, with the caller's constraints. */
  readonly agentOf: (
    agent: string,
    override: string | null,
    callerConstraints: CallerConstraints | null,
  ) => Agent;
}

export interface WriteContext {
  readonly draft: Draft;
  readonly archive: Archive;
  readonly principal: Principal;
  readonly rules: SessionRules;
  readonly ifMatch: string | null;
  /** Whether the tenant has as many runs under way as it may have, so that this command must begin none. */
  readonly full: boolean;
  /** Source of a fork; null unless the command begins one. */
  readonly forkSource: ForkSource | null;
  /** Target of a migration; null unless the command migrates the session. */
  readonly migrationTarget: MigrationTarget | null;
  /** Returns the bytes that the session holds. */
  readonly stored: () => number;
  /** Removes the session with everything that it holds; nothing that the draft changed is stored then. */
  readonly remove: () => void;
}

/** Returns parameters that fit their schema, or refuses with a 400 that names every field that does not. */
export const parseParams = <S extends z.ZodType>(schema: S, params: unknown): z.output<S> => {
  const result = schema.safeParse(params, { error: describeIssue });
  const errors = result.success
    ? [findReservedField(params) ?? []].flat()
    : fieldProblems(result.error, schema, params);
  if (result.success && errors.length === 0) return result.data;
  const first = errors[0];
  return refuse(
    "invalid_request",
    first === undefined ? "the request is invalid" : `${first.pointer || "/"}: ${first.message}`,
    { errors },
  );
};

/** Answers with a value that is serialised already. */
export const jsonAnswer = (json: string): CommandAnswer => ({ status: 200, json });

export const joinRows = (rows: readonly string[]): string => `[${rows.join(",")}]`;

export const okAnswer = (value: object): CommandAnswer => jsonAnswer(JSON.stringify(value));

/** Answers with what an operation created. */
export const createdAnswer = (value: object): CommandAnswer => ({ status: 201, json: JSON.stringify(value) });

/** Answers an accepted command with the `seq` of the newest event after it. */
export const acceptedAnswer = (draft: Draft, value: object, status: 200 | 202 = 200): CommandAnswer => ({
  status,
  json: JSON.stringify({ ...value, seq: headAfter(draft) }),
});

/** Refuses an answer to an ask. */
export const refuseAnswer = (pointer: string, message: string): never =>
  refuseField("answer_invalid", pointer, message);

/** Refuses a change of something that has changed since the caller read it. */
export const requireUnchanged = (
  ifMatch: string | null,
  what: "session" | "input",
  version: number,
): void => {
  const named = ifMatch?.split(",").map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, "$1"));
  if (named !== undefined && !named.includes("*") && !named.includes(String(version)))
    refuse("precondition_failed", `the ${what} changed since it was read; read it again`);
};

/** Returns the answer that a key has already been given; null if there is none, or if it is too old to count. */
export const findKeptAnswer = ({ answer }: Archive, key: string, now: number): StoredAnswer | null => {
  const known = answer(key);
  return known === null || known.at < now - answersKeptMs ? null : known;
};

/** Refuses a key that was used with another body; a stored answer without a fingerprint is for any body. */
export const requireSameBody = (known: StoredAnswer, fingerprint: string): void => {
  if (known.fingerprint !== fingerprint && known.fingerprint !== "")
    refuse("idempotency_key_reused", "this Idempotency-Key was used with another body; use a new key");
};

/** Refuses a command that would begin a run beyond what the tenant may have under way. */
export const requireRunAdmission = ({ full }: WriteContext): void => {
  if (!full) return;
  refuse(
    "rate_limited",
    "the tenant has as many runs under way as limits.runs.per_tenant allows; send it again when one has ended",
    { retryAfterMs: 5_000 },
  );
};

/** Bytes beyond which a session takes no more inputs and files. */
const mostStored = 2 ** 30;

/** Refuses what a full session cannot hold. */
export const requireStorage = ({ stored }: WriteContext): void => {
  if (stored() < mostStored) return;
  refuse("storage_error", "this session holds 1 GiB, its limit; begin a new one");
};

/** Accepts text without lone surrogates and without control characters that JSON allows but people do not mean. */
export const wellFormedText = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode");
