import type { Json } from "../chat/message.ts";

/** This file has what the platform lacks, or lacks on Node 20. */

interface Page {
  readonly location?: { readonly origin: string };
  addEventListener?(type: string, listener: () => void, options: { readonly signal: AbortSignal }): void;
}

/** The page that the client runs in; elsewhere it has no address, and on Node no events. */
export const page: Page = globalThis;

/** The fields of an object whose values are defined. */
type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns an object without the fields whose values are undefined. */
export const pickDefined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;

/** Parses a text as JSON; null if it is none. */
export const parseJson = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
};

/** A promise, and what resolves it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

/** Creates a promise that its owner resolves. */
export const createDeferred = <T = void>(): Deferred<T> => {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((end) => {
    resolve = end;
  });
  return { promise, resolve };
};
