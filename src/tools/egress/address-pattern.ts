import { normalizePath } from "./url.ts";

/** Normalises patterns of addresses to the form in which addresses are matched: `scheme://host:port/path`. */

const isWild = (text: string): boolean => /[*?[\\]/.test(text);

const writeName = (name: string): string =>
  isWild(name) ? name.toLowerCase() : (URL.parse(`https://${name}/`)?.hostname ?? name);

/** Normalises a host, part by part if it has a wildcard; the brackets of an IPv6 address are not a character set. */
const writeHost = (host: string): string => {
  if (host.startsWith("[")) return writeName(host.replace(/[[\]]/g, String.raw`\$&`));
  const name = host.replace(/\.$/, "");
  return isWild(name) ? name.split(".").map(writeName).join(".") : writeName(name);
};

const writePath = (path: string): string =>
  normalizePath(path.replace(/[^\x21-\x7e]+/g, (text) => encodeURIComponent(text.toWellFormed())));

/** Normalises a pattern that begins with `**`, which may contain a scheme's end and a host before its path. */
const writeOpenPattern = (pattern: string): string => {
  const [, start = "", rest = ""] = /^(\*\*[^/]*:\/\/)?([^]*)$/.exec(pattern) ?? [];
  return start + writePath(rest);
};

/** Returns a pattern in the spelling in which it can match an address; unchanged if it can match as it is. */
export const writeAddressPattern = (pattern: string): string => {
  if (pattern.startsWith("**")) return writeOpenPattern(pattern);
  const [, scheme = "", authority = "", path = "/**"] =
    /^(?:([^/]*):\/\/)?([^/]*)(\/[^]*)?$/.exec(pattern) ?? [];
  const [, host = "", port = ""] = /^([^]*?)(:[\d*]+)?$/.exec(authority) ?? [];
  const known = isWild(scheme) || scheme === "http" ? scheme : "https";
  return `${known}://${writeHost(host)}${port}${writePath(path)}`;
};
