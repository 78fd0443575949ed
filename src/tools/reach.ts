import type { BrowserReach } from "./egress/browser-page.ts";
import type { TimeLimits } from "../sandbox/time-limit.ts";
import type { Egress } from "./egress/egress.ts";
import { toConnectionError } from "./egress/egress.ts";

/** Defines a tool's reach outside its session: only the hosts and the references to secrets that it declares. */

/** Reference to a secret: it prints as `[secret:NAME]`, and only the egress resolves it. */
export interface Secret {
  readonly secret: string;
  readonly toString: () => string;
  readonly toJSON: () => string;
}

/** Text that contains references, like `["Bearer ", context.secret("API_KEY")]`. */
export type SealedText = string | Secret | readonly (string | Secret)[];

export interface ReachRequest {
  /** HTTP method, GET by default. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, SealedText>>;
  readonly body?: SealedText | Uint8Array<ArrayBuffer>;
  /**
   * `follow` (default): at most five, each to a declared host; secrets stay at the first origin. `refuse` returns
   * the 3xx answer, `raise` rejects with a `RedirectError` with the target.
   */
  readonly redirects?: "follow" | "refuse" | "raise";
  /** Largest body after inflation, 1 MiB by default; null for a tool that counts itself. */
  readonly maxBytes?: number | null;
  /** Aborts the request, as the end of the call does. */
  readonly signal?: AbortSignal;
  /** Milliseconds from connect to the end of the body, which is read before the call ends. */
  readonly timeout?: number;
  /** Address of the page that makes the request: a public page may not reach a private target. */
  readonly from?: string;
}

export interface ToolReach {
  /** Returns a secret that the tool declares in `secrets`; throws for any other. */
  readonly secret: (name: string) => Secret;
  /**
   * Sends a request to one of the tool's `hosts` through the deployment's egress; otherwise, and where the
   * connection fails, rejects with an `EgressError`.
   */
  readonly egress: (address: SealedText | URL, request?: ReachRequest) => Promise<Response>;
  /** Browsers that the deployment binds; only the browser toolbox has them. */
  readonly browser: BrowserReach;
}

/** Secrets and hosts that a tool declares. */
export interface DeclaredReach {
  readonly secrets?: readonly string[];
  readonly hosts?: readonly string[];
}

/** Stands for any host that the egress allows. */
const anyHost = "*";
const secretName = /^(?!LIMPET_)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const isOrigin = (text: string): boolean => /^https?:/.test(text) && URL.parse(text)?.origin === text;

/** Explains in a sentence what is wrong with a tool's `secrets` and `hosts`; returns null if nothing is. */
export const reachProblem = ({ secrets = [], hosts = [] }: DeclaredReach): string | null => {
  const name = secrets.find((each) => !secretName.test(each));
  if (name !== undefined) return `"${name}" is not a name of a secret`;
  const host = hosts.find((each) => each !== anyHost && !isOrigin(each));
  if (host !== undefined) return `"${host}" is not an origin; write hosts like https://api.example.com`;
  if (secrets.length > 0 && (hosts.length === 0 || hosts.includes(anyHost)))
    return "list in hosts the origins that its secrets may be sent to";
  return null;
};

const createReference = (name: string): Secret => {
  const printed = `[secret:${name}]`;
  return { secret: name, toString: () => printed, toJSON: () => printed };
};

const refuseUndeclared = (name: string): never => {
  throw new Error(`this tool does not declare the secret ${name}; add it to its secrets`);
};

/** Browsers of a tool that has none. */
export const noBrowser: BrowserReach = {
  request: () => Promise.reject(new Error("this tool has no browser")),
  searchUrl: null,
};

/** Reach of a tool that declares nothing. */
export const noReach: ToolReach = {
  secret: refuseUndeclared,
  egress: () =>
    Promise.reject(new Error("this tool declares no hosts; add the origins that it calls to its hosts")),
  browser: noBrowser,
};

const standardBytes = 1_048_576;

const isList = (text: SealedText | URL | Uint8Array): text is readonly (string | Secret)[] =>
  Array.isArray(text);

interface ReachSources {
  readonly egress: Egress;
  /** Aborts the requests. */
  readonly signal: AbortSignal;
  /** Limits a request, until the tool's run ends. */
  readonly limit: TimeLimits["start"];
  readonly browser?: BrowserReach;
}

/** Creates the reach of one run of a tool. `values` are its secrets by name. */
export const createReach = (
  { hosts = [] }: DeclaredReach,
  values: ReadonlyMap<string, string>,
  { egress, signal, limit, browser = noBrowser }: ReachSources,
): ToolReach => {
  const references = new Map([...values.keys()].map((name) => [name, createReference(name)]));
  const piece = (part: string | Secret): string =>
    typeof part !== "string" && references.get(part.secret) === part
      ? (values.get(part.secret) ?? "")
      : String(part);
  const opened = (text: SealedText | URL): string => {
    if (text instanceof URL) return text.href;
    return isList(text) ? text.map(piece).join("") : piece(text);
  };
  return {
    secret: (name) => references.get(name) ?? refuseUndeclared(name),
    egress: async (
      address,
      { method, headers = {}, body, redirects = "follow", maxBytes = standardBytes, timeout, ...more } = {},
    ) => {
      const ends = more.signal === undefined ? signal : AbortSignal.any([signal, more.signal]);
      const until = timeout === undefined ? ends : limit(timeout, ends);
      const target = opened(address);
      const answer = await egress(target, {
        ...(method === undefined ? {} : { method }),
        headers: Object.entries(headers).map(([name, value]): [string, string] => [name, opened(value)]),
        ...(body === undefined ? {} : { body: body instanceof Uint8Array ? body : opened(body) }),
        redirects,
        maxBytes,
        ...more,
        signal: until,
        secrets: [...values.values()],
        ...(hosts.includes(anyHost) ? {} : { origins: hosts }),
      }).catch((error: unknown) => {
        throw toConnectionError(error, target, until);
      });
      // A fetched response holds its address, which may contain a secret; a new one does not.
      return new Response(answer.body, answer);
    },
    browser,
  };
};
