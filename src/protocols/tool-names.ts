import type { ToolSpec } from "../model/completer.ts";

/** Digests a string to 32 bits as 8 hex digits (FNV-1a), for spread only: it is not cryptographic. */
export const hash8 = (text: string): string => {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
};

const allowed = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Returns a tool's name for both protocols: other characters become `_`; a changed or long name ends in `_` and its
 * hash.
 */
export const wireName = (name: string): string =>
  allowed.test(name) ? name : `${name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 55)}_${hash8(name)}`;

const allowedId = /^[A-Za-z0-9_-]{1,40}$/;

/** Returns a call's id for both protocols; an id that they refuse is replaced by a hash. */
export const wireId = (id: string): string =>
  allowedId.test(id) ? id : `call_${hash8(id)}${hash8(`${id}\n`)}`;

/** Returns a call's id for Mistral: nine letters and digits, of the server itself or of a hash. */
export const shortId = (id: string): string =>
  /^[A-Za-z0-9]{9}$/.test(id) ? id : `${hash8(id)}${hash8(`${id}\n`)}`.slice(0, 9);

const namesCache = new WeakMap<readonly ToolSpec[], ReadonlyMap<string, string>>();

/** Maps wire names back to declared tools, once per list; names that need no mapping are left out. */
export const toolNamesByWire = (tools: readonly ToolSpec[]): ReadonlyMap<string, string> => {
  const known = namesCache.get(tools);
  if (known !== undefined) return known;
  const names = new Map(
    tools.filter(({ name }) => !allowed.test(name)).map(({ name }) => [wireName(name), name]),
  );
  namesCache.set(tools, names);
  return names;
};
