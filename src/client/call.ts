import type { OperationAnswers } from "./operations/answers.ts";
import type { Http } from "./http.ts";
import { inTime, parameterText } from "./http.ts";
import type { OperationParams } from "./operations/params.ts";
import { newCommandId } from "./retry.ts";
import { routes } from "./operations/routes.ts";

/** This file calls an operation by its name. */

export type ClientOperationName = keyof typeof routes;

/** The parameters of an operation. */
export type ParamsOf<N extends ClientOperationName> = OperationParams[N];

/** The answer of an operation. */
export type AnswerOf<N extends ClientOperationName> = OperationAnswers[N];

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The same key makes a repeated command do nothing twice. */
  readonly key?: string;
  /** The ETag or version that was read, without quotes, where the operation takes one: it is refused if that has changed. */
  readonly ifMatch?: string | number;
}

/** Calls operations by their names; parameters may be left out where none has to be given. */
export type CallOperation = <N extends ClientOperationName>(
  operation: N,
  ...given: Partial<ParamsOf<N>> extends ParamsOf<N> | Partial<Record<string, never>>
    ? [params?: ParamsOf<N>, options?: CallOptions]
    : [params: ParamsOf<N>, options?: CallOptions]
) => Promise<AnswerOf<N>>;

/** Fills in the path and returns the parameters that do not stand in it. */
const fillPath = (pattern: string, params: object): readonly [string, Readonly<Record<string, unknown>>] => {
  const rest = new Map<string, unknown>(Object.entries(params));
  const path = pattern.replace(/:(\w+)/g, (_, name: string) => {
    const value = rest.get(name);
    if (value === undefined) throw new TypeError(`${name}: ${pattern} needs it`);
    rest.delete(name);
    return encodeURIComponent(parameterText(value));
  });
  return [path, Object.fromEntries(rest)];
};

/** Builds the request of an operation. */
const requestOf = (operation: ClientOperationName, params: object, options: CallOptions) => {
  if (!Object.hasOwn(routes, operation)) throw new TypeError(`there is no operation ${operation}`);
  const [method = "", pattern = ""] = routes[operation].split(" ");
  const [path, rest] = fillPath(pattern, params);
  const { key = newCommandId(), ifMatch } = options;
  return {
    method,
    path,
    headers: {
      ...(method === "GET" ? {} : { "Idempotency-Key": key }),
      ...(ifMatch === undefined ? {} : { "If-Match": `"${ifMatch}"` }),
    },
    ...(method === "GET" || method === "DELETE" ? { query: rest } : { body: rest }),
  };
};

/** An operation is answered within so many milliseconds, beside those that its run is waited for. */
export const answeredWithin = 60_000;

/** A request has one more millisecond for each so many characters or bytes that it sends. */
export const slowestUpload = 20;

/** Calls an operation with parameters of any type, within so many milliseconds. */
export type CallWithin = <N extends ClientOperationName>(
  operation: N,
  params?: object,
  options?: CallOptions,
  within?: number,
) => Promise<AnswerOf<N>>;

/** Creates the function that calls operations. */
export const createCall =
  (http: Http): CallWithin =>
  async <N extends ClientOperationName>(
    operation: N,
    params: { readonly wait?: number } = {},
    options: CallOptions = {},
    within = answeredWithin,
  ) => {
    const request = requestOf(operation, params, options);
    const { wait = 0 } = params;
    const ms = within + 1_000 * wait + JSON.stringify(params).length / slowestUpload;
    return (await inTime((signal) => http.json({ ...request, signal }), options.signal, ms)) as AnswerOf<N>;
  };
