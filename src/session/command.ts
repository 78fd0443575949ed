import * as z from "zod";
import type { Agent } from "../agent/definition/agent.ts";
import type { Ask } from "../agent/state/ask.ts";
import type { OnDependencyFailure } from "../agent/state/board.ts";
import type { ChildRecord, CallerConstraints } from "../agent/state/child.ts";
import type { EntryStore } from "../agent/state/entries.ts";
import type { OnBusy } from "../agent/state/events.ts";
import type { Input } from "../agent/state/input.ts";
import type { LedgerRow, RunRecord } from "../agent/state/records.ts";
import type { ClientTool, Session } from "../agent/state/session.ts";
import type { Draft, StoredAnswer } from "../agent/transaction/draft.ts";
import { headAfter } from "../agent/transaction/draft.ts";
import type { ContentPart, Json } from "../chat/message.ts";
import type { Usage } from "../model/completer.ts";
import type { PastChat } from "./context-view.ts";
import { fieldProblems, findReservedField } from "./fields.ts";
import type { PageStart, PagedRow } from "./paging.ts";
import type { Problem } from "./problems.ts";
import { refuse, refuseField } from "./problems.ts";
import type { Principal } from "./rpc.ts";

/** Rows of a session that are not part of its live state. All reads; unknown ids answer null. */
export interface Archive {
  /** The kept answer of a keyed command. */
  readonly answer: (key: string) => StoredAnswer | null;
  readonly input: (id: string) => Input | null;
  /** The newest first. */
  readonly inputs: (from: PageStart) => readonly PagedRow[];
  readonly ask: (id: string) => Ask | null;
  /** In the order in which they were put. */
  readonly asks: (status: Ask["status"] | null, from: PageStart) => readonly PagedRow[];
  readonly run: (id: string) => RunRecord | null;
  /** Those that have ended, the newest first. */
  readonly runs: (from: PageStart) => readonly PagedRow[];
  /** A called thread, also one that has ended. */
  readonly child: (id: string) => ChildRecord | null;
  /** The newest first: placed by the negative time of their start. */
  readonly children: (from: PageStart) => readonly PagedRow[];
  /** The newest first. */
  readonly messages: (query: {
    thread: string;
    before: number | null;
    limit: number;
    retired: boolean;
  }) => readonly { readonly pos: number; readonly json: () => string }[];
  /** Serialised events with `after < seq`, in order, read as they are asked for. */
  readonly events: (query: { after: number; limit: number }) => Iterable<string>;
  /** Calls of a turn that left, with their places in the ledger, in order. */
  readonly seen: (run: string, turn: number) => readonly { readonly n: number; readonly row: LedgerRow }[];
  /** A thread's newest answered call before a place in the ledger. */
  readonly answered: (thread: string, before: number) => LedgerRow | null;
  /** The chat as it was after an edit, up to a message. */
  readonly chatThen: (thread: string, edit: number, pos: number) => PastChat;
  /** How the called agent of a run stood; null: it was `main`'s. */
  readonly standing: (run: string) => CallerConstraints | null;
  /** Base64 of stored bytes. */
  readonly media: (blob: string) => string;
  /** Entries of a store, by key; values serialised. */
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

/** What the deployment says about sessions; the engine knows it. */
export interface SessionRules {
  readonly onBusy: OnBusy;
  readonly interactive: boolean;
  readonly entryAgent: string;
  readonly agentNames: readonly string[];
  readonly revision: string;
  /** Why a model may not be chosen for this session; null if it may. */
  readonly modelProblem: (model: string, agent: string) => Problem | null;
  /** Why an agent cannot run in this deployment: a secret is missing. */
  readonly agentProblem: (agent: string) => Problem | null;
  /** Why the session's model cannot take what an input holds. */
  readonly mediaProblem: (
    parts: readonly ContentPart[],
    agent: string,
    model: string | null,
  ) => Problem | null;
  /** Why client tools cannot be taken beside the agent's own. */
  readonly clientToolProblem: (tools: readonly ClientTool[], agent: string) => Problem | null;
  /** Why a ceiling of tools cannot be meant. */
  readonly ceilingProblem: (ceiling: readonly string[], client: readonly ClientTool[]) => Problem | null;
  /** Why a JSON Schema cannot be used. */
  readonly schemaProblem: (schema: Json) => string | null;
  readonly stores: {
    /** Toolboxes that some agent lists. */
    readonly listed: ReadonlySet<string>;
    readonly notes: "session" | "agent" | "tenant";
    readonly onDependencyFailure: OnDependencyFailure;
  };
}

export interface CommandAnswer {
  readonly status: 200 | 201 | 202 | 204;
  /** A serialised string is sent as it is. */
  readonly value: Json | { readonly json: string };
}

export interface ReadContext {
  readonly state: Session;
  readonly archive: Archive;
  readonly rules: SessionRules;
  readonly principal: Principal;
  readonly now: number;
  /** An agent with a model override, and as it stands if it is called. */
  readonly agentOf: (agent: string, override: string | null, standing: CallerConstraints | null) => Agent;
}

export interface WriteContext {
  readonly draft: Draft;
  readonly archive: Archive;
  readonly principal: Principal;
  readonly rules: SessionRules;
  readonly ifMatch: string | null;
  /** The tenant has as many runs under way as it may have: this command begins none. */
  readonly full: boolean;
  /** Bytes that the session holds. */
  readonly stored: () => number;
}

/** A command changes the session in one commit; a query only reads. Each checks its own parameters. */
export type CommandHandler =
  | { readonly kind: "read"; readonly run: (context: ReadContext, params: unknown) => CommandAnswer }
  | { readonly kind: "write"; readonly run: (context: WriteContext, params: unknown) => CommandAnswer };

/** Parameters that fit their schema, or 400 naming every field that does not. */
export const parseParams = <S extends z.ZodType>(schema: S, params: unknown): z.output<S> => {
  const result = schema.safeParse(params);
  const errors = result.success ? [findReservedField(params) ?? []].flat() : fieldProblems(result.error);
  if (result.success && errors.length === 0) return result.data;
  const first = errors[0];
  return refuse(
    "invalid_request",
    first === undefined ? "the request is invalid" : `${first.pointer || "/"}: ${first.message}`,
    { errors },
  );
};

export const defineRead = <S extends z.ZodType>(
  schema: S,
  run: (context: ReadContext, params: z.output<S>) => CommandAnswer,
): CommandHandler => ({
  kind: "read",
  run: (context, params) => run(context, parseParams(schema, params)),
});

export const defineWrite = <S extends z.ZodType>(
  schema: S,
  run: (context: WriteContext, params: z.output<S>) => CommandAnswer,
): CommandHandler => ({
  kind: "write",
  run: (context, params) => run(context, parseParams(schema, params)),
});

/** Rows a list may be asked for; numbers may come as text, since they stand in queries. */
export const limitSchema = (most: number, standard: number): z.ZodType<number> =>
  z.coerce.number().int().min(1).max(most).default(standard);

/** An answer that is serialised already. */
export const jsonAnswer = (text: string): CommandAnswer => ({ status: 200, value: { json: text } });

export const joinRows = (rows: readonly string[]): string => `[${rows.join(",")}]`;

export const okAnswer = (value: Json): CommandAnswer => ({ status: 200, value });

/** Serialised rows as they are listed. */
export const rowsAnswer = (serialised: readonly string[]): CommandAnswer =>
  jsonAnswer(`{"data":${joinRows(serialised)}}`);

/** The answer of an accepted command: with the `seq` of the newest event after it. */
export const acceptedAnswer = (draft: Draft, value: object, status: 200 | 202 = 200): CommandAnswer => ({
  status,
  value: { ...(value as Readonly<Record<string, Json>>), seq: headAfter(draft) },
});

/** Refuses an answer to an ask. */
export const refuseAnswer = (pointer: string, message: string): never =>
  refuseField("answer_invalid", pointer, message);

/** Refuses a change of what is not as it was read any more. */
export const requireUnchanged = ({ ifMatch }: WriteContext, what: string, version: number): void => {
  if (ifMatch !== null && ifMatch.replaceAll('"', "") !== String(version))
    refuse("precondition_failed", `the ${what} changed since it was read; read it again`);
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

/** Text without lone surrogates or control characters that JSON carries but people do not mean. */
export const wellFormedText = (max: number): z.ZodString =>
  z
    .string()
    .max(max)
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode");
