import type { BrowserReach } from "./egress/browser-page.ts";
import type { TimeLimits } from "../sandbox/time-limit.ts";
import type { Egress } from "./egress/egress.ts";

/** A tool reaches outside its session only through references to secrets and the hosts that it declares. */

/** A reference to a secret: it prints as `[secret:NAME]`, and only the egress resolves it. */
export interface Secret {
  readonly secret: string;
  readonly toString: () => string;
  readonly toJSON: () => string;
}

/** A text that contains references, like `["Bearer ", context.secret("API_KEY")]`. */
export type SealedText = string | Secret | readonly (string | Secret)[];

export interface ReachRequest {
  /** The HTTP method, GET by default. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, SealedText>>;
  readonly body?: SealedText | Uint8Array<ArrayBuffer>;
  /**
   * `follow` (default): at most five, each to a declared host; secrets stay at the first origin. `refuse` returns the
   * 3xx answer, `raise` rejects with a `RedirectError` that says where it leads.
   */
  readonly redirects?: "follow" | "refuse" | "raise";
  /** The largest body after inflation, 1 MiB by default; null for a tool that counts itself. */
  readonly maxBytes?: number | null;
  /** Ends the request; the end of the call ends it, too. */
  readonly signal?: AbortSignal;
  /** Milliseconds from connect to the end of the body, which is read before the call ends. */
  readonly timeout?: number;
  /** The address of the page that makes the request, which opens no private target to a public page. */
  readonly from?: string;
}

export interface ToolReach {
  /** A secret that the tool declares in `secrets`; throws for any other. */
  readonly secret: (name: string) => Secret;
  /** Sends a request to one of the tool's `hosts` through the deployment's egress; else rejects (`EgressError`). */
  readonly egress: (address: SealedText | URL, request?: ReachRequest) => Promise<Response>;
  /** The browsers that the deployment binds; only the browser toolbox has them. */
  readonly browser: BrowserReach;
}

/** The secrets and hosts that a tool declares. */
export interface DeclaredReach {
  readonly secrets?: readonly string[];
  readonly hosts?: readonly string[];
}

/** Stands for any host that the egress allows. */
const anyHost = "*";
const secretName = /^(?!LIMPET_)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const isOrigin = (text: string): boolean => /^https?:/.test(text) && URL.parse(text)?.origin === text;

/** Says in a sentence what is wrong with a tool's `secrets` and `hosts`; null if nothing is. */
export const reachProblem = ({ secrets = [], hosts = [] }: DeclaredReach): string | null => {
  const name = secrets.find((each) => !secretName.test(each));
  if (name !== undefined) return `"${name}" is no name of a secret`;
  const host = hosts.find((each) => each !== anyHost && !isOrigin(each));
  if (host !== undefined) return `"${host}" is no origin; write hosts like https://api.example.com`;
  if (secrets.length > 0 && (hosts.length === 0 || hosts.includes(anyHost)))
    return "name in hosts the origins that its secrets may be sent to";
  return null;
};

const createReference = (name: string): Secret => {
  const printed = `[secret:${name}]`;
  return { secret: name, toString: () => printed, toJSON: () => printed };
};

const refuseUndeclared = (name: string): never => {
  throw new Error(`this tool does not declare the secret ${name}; add it to its secrets`);
};

/** The browsers of a tool that has none. */
export const noBrowser: BrowserReach = {
  request: () => Promise.reject(new Error("this tool has no browser")),
  searchUrl: null,
};

/** The reach of a tool that declares nothing. */
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
  /** Ends the requests. */
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
      const answer = await egress(opened(address), {
        ...(method === undefined ? {} : { method }),
        headers: Object.entries(headers).map(([name, value]): [string, string] => [name, opened(value)]),
        ...(body === undefined ? {} : { body: body instanceof Uint8Array ? body : opened(body) }),
        redirects,
        maxBytes,
        ...more,
        signal: timeout === undefined ? ends : limit(timeout, ends),
        secrets: [...values.values()],
        ...(hosts.includes(anyHost) ? {} : { origins: hosts }),
      });
      // A fetched response holds its address, which may contain a secret; a new one does not.
      return new Response(answer.body, answer);
    },
    browser,
  };
};
