import { addressKind } from "./address.ts";

/** Hosts that may be reached. `allow` and `deny` list exact hosts, or `*.example.org` for every subdomain. */
export interface EgressRules {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly ports: readonly number[];
  readonly allow_http: boolean;
  /** Exact `host:port` of the operator's variable LIMPET_PRIVATE_EGRESS; exempt from scheme, port and address rules. */
  readonly privateAllow: readonly string[];
  /** Hosts of this deployment, which are never called. */
  readonly ownHosts?: { readonly has: (host: string) => boolean };
}

type UrlCheck =
  | { readonly ok: true; readonly url: URL; readonly isPrivate: boolean }
  | { readonly ok: false; readonly reason: string };

const closedNames = new Set(["localhost", "local", "internal", "home.arpa"]);

/** Names at which clouds serve the credentials of their machines; most others end in `.internal`. */
const metadataNames = new Set([
  "metadata.goog",
  "metadata.tencentyun.com",
  "metadata.packet.net",
  "metadata.platformequinix.com",
]);

const closedSuffixes = [...closedNames].map((name) => `.${name}`);

const labelPattern = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Returns whether a host matches a list of exact names and `*.` patterns. */
export const matchesHost = (patterns: readonly string[], host: string): boolean =>
  patterns.some((pattern) => {
    const wanted = pattern.toLowerCase().replace(/\.$/, "");
    return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) : host === wanted;
  });

const refuseUrl = (reason: string): UrlCheck => ({ ok: false, reason });

const checkHost = (host: string): string | null => {
  const kind = addressKind(host);
  if (kind === "closed") return `${host} is not a public address`;
  if (kind === "public") return null;
  const labels = host.split(".");
  if (host.length > 253 || !labels.every((part) => labelPattern.test(part)))
    return "the host is not a valid name";
  const isClosed =
    labels.length < 2 ||
    closedNames.has(host) ||
    metadataNames.has(host) ||
    closedSuffixes.some((suffix) => host.endsWith(suffix));
  if (isClosed) return `${host} is not a public host`;
  return null;
};

const defaultPort = (protocol: string): string => (protocol === "https:" ? "443" : "80");

const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, "");

const portOf = ({ port, protocol }: URL): string => (port === "" ? defaultPort(protocol) : port);

/** Codes of characters that mean the same with and without percent-encoding. */
const unreserved = /^%(2D|2E|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE])$/i;

/** Normalises the equivalent spellings of a path: percent-encodings, and slashes in a row. */
export const normalizePath = (path: string): string =>
  path
    .replace(/\/{2,}/g, "/")
    .replace(/%[\da-f]{2}/gi, (code) =>
      unreserved.test(code) ? decodeURIComponent(code) : code.toUpperCase(),
    );

/** Returns an address as permission rules match it: `scheme://host:port/path`, in one of its equivalent spellings. */
export const addressSubject = (address: string): string => {
  const url = new URL(address);
  return `${url.protocol}//${hostOf(url)}:${portOf(url)}${normalizePath(url.pathname)}`;
};

/** Returns the fault of a URL's form, regardless of the rules. */
const checkForm = (url: URL): string | null => {
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return `the scheme ${url.protocol.slice(0, 20)} is not https`;
  return url.username === "" && url.password === "" ? null : "the URL holds a user name or password";
};

/** Returns the `host:port` of an address that only the operator can open; null for one that needs no opening. */
export const privatePlaceOf = (address: string): string | null => {
  const url = URL.parse(address);
  return url === null || checkHost(hostOf(url)) === null ? null : `${hostOf(url)}:${portOf(url)}`;
};

const checkPublic = (url: URL, host: string, port: string, rules: EgressRules): string | null => {
  const problem = checkHost(host);
  if (problem !== null)
    return `${problem}; only the operator can permit it: add ${host}:${port} to LIMPET_PRIVATE_EGRESS (on this machine in .dev.vars or .dev.vars.<team>)`;
  if (url.protocol === "http:" && !rules.allow_http)
    return "plain http is off (egress.allow_http: true permits it)";
  if (!rules.ports.includes(Number(port))) return `port ${port} is not in egress.ports`;
  if (rules.ownHosts?.has(host) === true) return `${host} is this deployment itself`;
  return null;
};

interface CheckOptions {
  /** Whether only hosts of `egress.allow` may be called. */
  readonly allowList?: boolean;
  /** Whether the operator's private targets are excluded. */
  readonly noPrivate?: boolean;
}

const checkLists = (host: string, rules: EgressRules, options: CheckOptions): string | null => {
  if (matchesHost(rules.deny, host)) return `${host} is in egress.deny`;
  const outside = options.allowList === true && !matchesHost(rules.allow, host);
  return outside ? `${host} is not in egress.allow` : null;
};

/**
 * Checks an address before a request is sent and returns the URL to call: host lower-cased, IDNA, without trailing
 * dot. `reason` names the fault and never quotes the query or userinfo.
 */
export const checkUrl = (address: string | URL, rules: EgressRules, options: CheckOptions = {}): UrlCheck => {
  const url = URL.parse(String(address));
  if (url === null) return refuseUrl("the address is not a valid URL");
  const host = hostOf(url);
  if (host !== url.hostname) url.hostname = host;
  const port = portOf(url);
  const isPrivate = options.noPrivate !== true && rules.privateAllow.includes(`${host}:${port}`);
  const problem =
    checkForm(url) ??
    (isPrivate ? null : checkPublic(url, host, port, rules)) ??
    checkLists(host, rules, options);
  return problem === null ? { ok: true, url, isPrivate } : refuseUrl(problem);
};
