import { capBody } from "./body.ts";
import type { EgressRules } from "./url.ts";
import { checkUrl } from "./url.ts";

export type EgressCode =
  | "egress_denied"
  | "too_many_redirects"
  | "too_large"
  | "timeout"
  | "unavailable"
  | "unreachable";

/** Error of a request that was not sent, or whose answer was not read. The message holds no query, header or body. */
export class EgressError extends Error {
  readonly code: EgressCode;
  constructor(code: EgressCode, message: string, options?: ErrorOptions) {
    super(`${code}: ${message}`, options);
    this.name = "EgressError";
    this.code = code;
  }
}

/** Target of a redirect; a method that changed to GET has no body. */
interface RedirectTarget {
  readonly url: string;
  readonly method: string;
}

/** Redirect instead of an answer: the egress permits its target, and the caller decides about it. */
export class RedirectError extends EgressError {
  readonly target: RedirectTarget;
  constructor(target: RedirectTarget) {
    super("too_many_redirects", "the answer is a redirect.");
    this.target = target;
  }
}

interface EgressInit {
  readonly method?: string;
  /** Headers of the request; a `Headers` object may be changed. */
  readonly headers?: HeadersInit;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly signal?: AbortSignal;
  /**
   * `follow` takes at most five redirects and checks each; `refuse` returns the 3xx answer as it is; `raise` rejects
   * with `RedirectError`, for callers that decide about each.
   */
  readonly redirects: "follow" | "refuse" | "raise";
  /** Whether a redirect is refused that would turn the request into a GET without its body. */
  readonly keepMethod?: boolean;
  /** Largest body after inflation; null for a caller that counts itself. */
  readonly maxBytes: number | null;
  /** Values of configured secrets in this request: they are sent to the first origin only. */
  readonly secrets?: readonly string[];
  /** Whether only hosts of `egress.allow` may be called. */
  readonly allowList?: boolean;
  /** Only origins allowed, at every hop; absent: any that the rules allow. */
  readonly origins?: readonly string[];
  /**
   * Page that makes the request: like a redirect from it, the request may not lead from a public page to a private
   * target.
   */
  readonly from?: string;
}

/** Sends a request; the only way to do so. Rejects with `EgressError`, an abort's reason or the network's error. */
export type Egress = (address: string | URL, init: EgressInit) => Promise<Response>;

/**
 * Returns whether the platform refused to send a request, since its object sent as many as an event may: 50 on the
 * free plan. The next event, such as an alarm, may send again.
 */
export const isRequestLimit = (error: unknown): boolean =>
  error instanceof Error && /^too many (?:subrequests|api requests)/i.test(error.message);

/** Explains a failed connection; the platform's own words differ each time, so that equal calls would look new. */
export const toConnectionError = (error: unknown, address: string, signal?: AbortSignal): unknown => {
  if (signal?.aborted === true || error instanceof EgressError) return error;
  if (isRequestLimit(error))
    return new EgressError("unavailable", "the platform permits no more requests for now; try again");
  const host = URL.parse(address)?.host ?? "the host";
  const reason = `the connection to ${host} failed; check the address, or try later`;
  return new EgressError("unreachable", reason, { cause: error });
};

export interface EgressOptions extends EgressRules {
  readonly fetch?: typeof fetch;
}

export const maxRedirects = 5;

const droppedHeaders = ["authorization", "proxy-authorization", "cookie", "x-api-key"];

const bodyHeaders = ["content-type", "content-length", "content-encoding", "content-language"];

interface Hop {
  readonly url: URL;
  /** Whether the operator permits this private address. */
  readonly isPrivate: boolean;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

const createDenial = (reason: string): EgressError => new EgressError("egress_denied", `${reason}.`);

const holdsSecret = (value: unknown, secrets: readonly string[]): boolean =>
  typeof value === "string" && secrets.some((secret) => secret !== "" && value.includes(secret));

/** Removes headers that must not reach another origin: credentials, and any with a configured secret. */
const stripSecrets = (headers: Headers, secrets: readonly string[]): Headers => {
  const kept = new Headers(headers);
  for (const name of droppedHeaders) kept.delete(name);
  for (const [name, value] of headers) if (holdsSecret(value, secrets)) kept.delete(name);
  return kept;
};

/** Returns whether a redirect turns the request into a GET without body: 303, and 301 or 302 after POST. */
const becomesGet = (status: number, method: string): boolean =>
  (status === 303 && method !== "HEAD") || ((status === 301 || status === 302) && method === "POST");

const requireOrigin = ({ origin, host }: URL, { origins }: EgressInit): void => {
  if (origins?.includes(origin) === false) throw createDenial(`${host} is not among the hosts of this tool`);
};

const isPrivateTarget = (address: string, rules: EgressRules): boolean => {
  const check = checkUrl(address, rules);
  return check.ok && check.isPrivate;
};

/** Returns the target of a redirect if the rules permit it. */
const targetOf = (hop: Hop, response: Response, rules: EgressRules, init: EgressInit) => {
  const target = URL.parse(response.headers.get("location") ?? "", hop.url.href);
  if (target === null) throw createDenial("the redirect's address is not a valid URL");
  if (hop.url.protocol === "https:" && target.protocol === "http:")
    throw createDenial("a redirect from https to http was refused");
  const noPrivate = target.origin !== hop.url.origin && !hop.isPrivate;
  const check = checkUrl(target, rules, { allowList: init.allowList === true, noPrivate });
  if (!check.ok) throw createDenial(`a redirect was refused: ${check.reason}`);
  requireOrigin(check.url, init);
  return { url: check.url, isPrivate: check.isPrivate };
};

const nextHop = (hop: Hop, response: Response, rules: EgressRules, init: EgressInit): Hop => {
  const target = targetOf(hop, response, rules, init);
  const sameOrigin = target.url.origin === hop.url.origin;
  const secrets = init.secrets ?? [];
  if (!sameOrigin && holdsSecret(hop.body, secrets))
    throw createDenial("a redirect would carry a secret in the body to another origin");
  const headers = sameOrigin ? new Headers(hop.headers) : stripSecrets(hop.headers, secrets);
  if (!becomesGet(response.status, hop.method)) return { ...hop, ...target, headers };
  if (init.keepMethod === true) {
    const { origin, pathname } = target.url;
    throw createDenial(`${response.status} leads to ${origin}${pathname}, where only a GET would arrive`);
  }
  for (const name of bodyHeaders) headers.delete(name);
  return { ...target, method: "GET", headers, body: undefined };
};

const isRedirect = (response: Response): boolean =>
  [301, 302, 303, 307, 308].includes(response.status) && response.headers.has("location");

/** Returns the answer with its body limited, if it has one and a limit is set. */
const capResponse = (response: Response, maxBytes: number | null): Response => {
  if (maxBytes === null || response.body === null) return response;
  const { status, statusText, headers } = response;
  const tooLarge = () => new EgressError("too_large", `the answer is longer than ${maxBytes} bytes.`);
  return new Response(capBody(response.body, maxBytes, tooLarge), { status, statusText, headers });
};

/** Creates the egress: `rules` are from the team's config and the operator's variables, `fetch` is the platform's. */
export const createEgress = (options: EgressOptions): Egress => {
  const send = options.fetch ?? ((input: RequestInfo | URL, init?: RequestInit) => fetch(input, init));
  const request = async (hop: Hop, signal: AbortSignal | undefined): Promise<Response> => {
    const { method, headers, body } = hop;
    return send(hop.url.href, {
      method,
      headers,
      redirect: "manual",
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    });
  };
  return async (address, init) => {
    const noPrivate = init.from !== undefined && !isPrivateTarget(init.from, options);
    const check = checkUrl(address, options, { allowList: init.allowList === true, noPrivate });
    if (!check.ok) throw createDenial(check.reason);
    requireOrigin(check.url, init);
    const headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
    headers.set("x-limpet-hop", "1");
    const { signal } = init;
    const { url, isPrivate } = check;
    let hop: Hop = { url, isPrivate, method: init.method ?? "GET", headers, body: init.body };
    for (let followed = 0; ; followed++) {
      const response = await request(hop, signal);
      if (init.redirects === "refuse" || !isRedirect(response)) return capResponse(response, init.maxBytes);
      await response.body?.cancel();
      if (followed === maxRedirects)
        throw new EgressError("too_many_redirects", `more than ${maxRedirects} redirects.`);
      const next = nextHop(hop, response, options, init);
      if (init.redirects === "raise") throw new RedirectError({ url: next.url.href, method: next.method });
      hop = next;
    }
  };
};
