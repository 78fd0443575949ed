import { page, parseJson } from "./plain.ts";
import type { ProblemBody } from "./transcript.ts";

/** This file makes requests: it adds the credential, reads problems, and repeats what was not answered. */

/** Says where the server is and who asks. */
export interface ClientOptions {
  /** The address of the deployment, such as `https://agents.example.com`. */
  readonly url: string;
  /** An API key or a browser token; none is needed by a server on this machine that was started with `npm start`. */
  readonly token?: string;
  /** Gets a token for the first request, and a new one whenever the server refuses the last one. */
  readonly getToken?: () => string | Promise<string>;
  readonly fetch?: typeof globalThis.fetch;
  readonly WebSocket?: typeof globalThis.WebSocket;
}

/** A request that the server refused or that did not reach it; `problem` says why and what to do. */
export class LimpetError extends Error {
  readonly problem: ProblemBody;
  constructor(problem: ProblemBody) {
    super(problem.detail);
    this.name = "LimpetError";
    this.problem = problem;
  }
}

/** Builds a problem that the client itself has found. */
export const clientProblem = (
  code: string,
  detail: string,
  rest: Partial<ProblemBody> = {},
): ProblemBody => ({
  type: `urn:limpet:problem:${code}`,
  title: code.replaceAll("_", " "),
  status: 0,
  detail,
  code,
  retryable: true,
  ...rest,
});

export interface ClientRequest {
  readonly method: string;
  /** It begins with `/v1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface Http {
  readonly url: URL;
  /** Gets the token; null if there is none. */
  readonly token: () => Promise<string | null>;
  /** Forgets a token that was refused; returns whether another one can be had. */
  readonly renewToken: () => boolean;
  /** Makes a request; a refusal is thrown as a `LimpetError`, after one try with a new token. */
  readonly fetch: (request: ClientRequest) => Promise<Response>;
  /** The same, with the answer read as JSON. */
  readonly json: (request: ClientRequest) => Promise<unknown>;
}

/** Writes a parameter as it stands in a path or a query. */
export const parameterText = (value: unknown): string =>
  typeof value === "string" ? value : Array.isArray(value) ? value.join(",") : JSON.stringify(value);

const addQuery = (search: URLSearchParams, query: ClientRequest["query"] = {}): void => {
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "object" && !Array.isArray(value))
      for (const [key, inner] of Object.entries(value)) search.set(`${name}[${key}]`, parameterText(inner));
    else search.set(name, parameterText(value));
  }
};

const isProblem = (value: unknown): value is ProblemBody => {
  const { code, detail } = (value ?? {}) as Partial<ProblemBody>;
  return code !== undefined && detail !== undefined;
};

/** An answer is awaited for so many milliseconds; a token may need a person. */
export const answerWithin = 20_000;
const tokenWithin = 120_000;

/** Runs work and gives it up after a time limit, even if the work ignores its signal. */
export const inTime = async <T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  outer?: AbortSignal,
  ms = answerWithin,
): Promise<T> => {
  const limit = new AbortController();
  let timer;
  try {
    return await Promise.race([
      work(AbortSignal.any([limit.signal, outer ?? limit.signal])),
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(new LimpetError(clientProblem("server_silent", "no answer in time")));
          limit.abort();
        }, ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
};

const unreachable = (detail: string): LimpetError => new LimpetError(clientProblem("unreachable", detail));

/** A browser does not tell a server that is away from one that does not allow the page. */
const foreignWords = (url: URL): string => {
  const { origin } = page.location ?? url;
  return origin === url.origin ? "" : `, and does it allow ${origin}`;
};

/** Reads an answer as JSON. One that breaks off was not received, and another than a Limpet's may come from a gateway before it. */
const readBody = async <T>(response: Response, isOurs: (body: unknown) => body is T): Promise<T> => {
  const { ok, status } = response;
  const text = await response.text().catch(() => {
    throw unreachable("the connection broke off");
  });
  const body = parseJson(text);
  if (isOurs(body)) return body;
  const detail = `no Limpet answered ${status}, but a gateway or another server`;
  throw new LimpetError(
    clientProblem("unreadable_answer", detail, { status, retryable: ok || status >= 502 }),
  );
};

const optionNames: readonly string[] = [
  "url",
  "token",
  "getToken",
  "fetch",
  "WebSocket",
] satisfies readonly (keyof ClientOptions)[];

/** Refuses an unknown option, which may have been meant as the token. */
const requireKnownOptions = (options: ClientOptions): void => {
  for (const name of Object.keys(options))
    if (!optionNames.includes(name))
      throw new TypeError(`createClient has no option ${name}, but ${optionNames.join(", ")}`);
};

/** Reads the address of the deployment; a path in it is kept, but for the `/v1` with which all paths of the API begin. */
const readUrl = (url: string): URL => {
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw new TypeError(`url: ${url} is no address like https://agents.example.com`);
  return new URL(url.replace(/(\/v1)?\/?$/, "/"));
};

export const createHttp = (options: ClientOptions): Http => {
  requireKnownOptions(options);
  const { token: given, getToken } = options;
  const send = options.fetch ?? globalThis.fetch.bind(globalThis);
  const url = readUrl(options.url);
  let known: Promise<string> | null = given === undefined ? null : Promise.resolve(given);
  const token = async (): Promise<string | null> => {
    if (known === null && getToken !== undefined) {
      known = inTime(() => getToken(), undefined, tokenWithin);
      known.catch(renewToken);
    }
    return known;
  };
  const renewToken = (): boolean => {
    if (getToken !== undefined) known = null;
    return getToken !== undefined;
  };
  const attempt = async ({
    method,
    path,
    query,
    body,
    headers,
    signal,
  }: ClientRequest): Promise<Response> => {
    const target = new URL(path.slice(1), url);
    addQuery(target.searchParams, query);
    const bearer = await token();
    // Texts, files, forms and bytes are sent as they are.
    const isRaw = Object.prototype.toString.call(body) !== "[object Object]";
    try {
      return await send(target.href, {
        method,
        headers: {
          ...(bearer === null ? {} : { Authorization: `Bearer ${bearer}` }),
          ...(isRaw ? {} : { "Content-Type": "application/json" }),
          ...headers,
        },
        body: isRaw ? ((body ?? null) as BodyInit | null) : JSON.stringify(body),
        signal: signal ?? null,
      });
    } catch (fault) {
      if (signal?.aborted === true) throw fault;
      throw unreachable(`${url.origin} cannot be reached; is a server running there${foreignWords(url)}?`);
    }
  };
  const fetch = async (request: ClientRequest): Promise<Response> => {
    const first = await attempt(request);
    const response = first.status === 401 && renewToken() ? await attempt(request) : first;
    if (response.ok) return response;
    throw new LimpetError(await readBody(response, isProblem));
  };
  const json = async (request: ClientRequest): Promise<unknown> => {
    const response = await fetch(request);
    return readBody(response, (body): body is unknown => body !== null || response.status === 204);
  };
  return { url, token, renewToken, fetch, json };
};
