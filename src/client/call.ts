import type { Ask } from "../agent/state/ask.ts";
import type { ReportedMessage, StoredEvent } from "../agent/state/events.ts";
import type { Input } from "../agent/state/input.ts";
import type { RunRecord } from "../agent/state/records.ts";
import type { Json } from "../chat/message.ts";
import type { Http } from "./http.ts";
import { parameterText } from "./http.ts";
import type { OperationParams } from "./params.ts";
import { newCommandId } from "./retry.ts";
import { routes } from "./routes.ts";
import type { TranscriptSession, TranscriptUsage } from "./transcript.ts";

/** This file calls an operation by its name. */

export type ClientOperationName = keyof typeof routes;

/** The parameters of an operation. */
export type ParamsOf<N extends ClientOperationName> = OperationParams[N];

/** A page of a list; a cursor of null ends it. */
export interface AnswerPage<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly prev_cursor: string | null;
}

/** A session as it is read. */
export interface SessionAnswer extends TranscriptSession {
  readonly usage: TranscriptUsage;
  readonly head_seq: number;
}

/** A session as lists have it. */
export type ListedSessionAnswer = Pick<
  SessionAnswer,
  | "id"
  | "ref"
  | "agent"
  | "title"
  | "metadata"
  | "status"
  | "revision"
  | "head_seq"
  | "created_at"
  | "updated_at"
  | "usage"
>;

/** What became of an input. */
export interface InputReceipt {
  readonly input: string;
  readonly status: Input["status"];
  readonly run: string | null;
  /** Later reads show at least the events up to this one. */
  readonly seq: number;
}

/** The usage of a session since it was cleared, in all, and by agent and model. */
export interface UsageAnswer {
  readonly cumulative: Omit<TranscriptUsage, "calls">;
  readonly calls: number;
  readonly lifetime: TranscriptUsage;
  readonly by: readonly { readonly [field: string]: Json }[];
  readonly status: TranscriptSession["status"];
}

/** An API key without its secret. */
export interface KeyAnswer {
  readonly id: string;
  readonly name: string | null;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly created_at: number;
  readonly expires_at: number | null;
}

interface KnownAnswers {
  readonly create: SessionAnswer;
  readonly get: SessionAnswer;
  readonly patch: SessionAnswer;
  readonly clear: SessionAnswer;
  readonly fork: SessionAnswer;
  readonly list_sessions: AnswerPage<ListedSessionAnswer>;
  readonly messages: { readonly data: readonly ReportedMessage[]; readonly next_before: number | null };
  readonly events: {
    readonly data: readonly StoredEvent[];
    readonly next_after: number;
    readonly head_seq: number;
  };
  readonly inputs: AnswerPage<Input>;
  readonly input: Input;
  readonly runs: AnswerPage<RunRecord>;
  readonly run: RunRecord;
  readonly asks: AnswerPage<Ask>;
  readonly list_asks: AnswerPage<Ask & { readonly session: string }>;
  readonly answer: Ask & { readonly seq: number };
  readonly send: InputReceipt;
  readonly withdraw: { readonly input: string; readonly status: "withdrawn"; readonly seq: number };
  readonly cancel: { readonly run: string | null; readonly seq: number };
  readonly usage: UsageAnswer;
  /** `key` is the secret; null if the key was shown before. */
  readonly create_key: KeyAnswer & { readonly key: string | null };
  readonly list_keys: AnswerPage<KeyAnswer>;
}

/** The answer of an operation. */
export type AnswerOf<N extends ClientOperationName> = N extends keyof KnownAnswers
  ? KnownAnswers[N]
  : { readonly [field: string]: Json };

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The same key makes a repeated command do nothing twice. */
  readonly key?: string;
  /** The ETag or version that was read, without quotes: the command is refused if it has changed. */
  readonly ifMatch?: string | number;
}

/** Calls operations by their names. */
export type CallOperation = <N extends ClientOperationName>(
  operation: N,
  params: ParamsOf<N>,
  options?: CallOptions,
) => Promise<AnswerOf<N>>;

/** Fills in the path and returns the parameters that do not stand in it. */
const fillPath = (pattern: string, params: object): readonly [string, Readonly<Record<string, unknown>>] => {
  const rest = new Map<string, unknown>(Object.entries(params));
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => {
    const value = rest.get(name);
    if (value === undefined) throw new TypeError(`${name}: ${pattern} needs it`);
    rest.delete(name);
    return parameterText(value).split("/").map(encodeURIComponent).join("/");
  });
  return [path, Object.fromEntries(rest)];
};

/** Builds the request of an operation. */
export const requestOf = (operation: ClientOperationName, params: object, options: CallOptions = {}) => {
  const [method = "", pattern = ""] = routes[operation].split(" ");
  const [path, rest] = fillPath(pattern, params);
  const { signal, key = newCommandId(), ifMatch } = options;
  return {
    method,
    path,
    signal,
    headers: {
      ...(method === "GET" ? {} : { "Idempotency-Key": key }),
      ...(ifMatch === undefined ? {} : { "If-Match": `"${ifMatch}"` }),
    },
    ...(method === "GET"
      ? { query: rest }
      : method === "DELETE" && Object.keys(rest).length === 0
        ? {}
        : { body: rest }),
  };
};

/** Creates the function that calls operations. */
export const createCall =
  (http: Http): CallOperation =>
  async <N extends ClientOperationName>(operation: N, params: ParamsOf<N>, options?: CallOptions) =>
    (await http.json(requestOf(operation, params, options))) as AnswerOf<N>;
