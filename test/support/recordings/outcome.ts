import { systemTimers } from "../../../src/model/deadlines.ts";
import { collect } from "../../../src/model/collect.ts";
import type { Completion } from "../../../src/model/completer.ts";
import { ModelError } from "../../../src/model/error.ts";
import { createFaults, readReply } from "../../../src/protocols/attempt.ts";
import { models, requestOf, wireOf } from "../fake-provider-client.ts";
import type { Recording } from "./recording.ts";

/** A body of fixed chunks, without the cost of a real stream. */
const bodyOf = (chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> => {
  let at = 0;
  const read = () => {
    const value = chunks[at++];
    return Promise.resolve(value === undefined ? { done: true, value } : { done: false, value });
  };
  const reader = {
    read,
    cancel: () => Promise.resolve(),
    closed: Promise.resolve(undefined),
    releaseLock: () => {},
  };
  return { getReader: () => reader } as unknown as ReadableStream<Uint8Array>;
};

/** What an attempt came to; what is no `ModelError` is thrown. */
type Outcome = { readonly completion: Completion } | { readonly code: string };

/** Reads bytes as an attempt at the recording's provider would. */
export const readAs = (recording: Recording) => {
  const { protocol, target } = wireOf(recording.kind, { compat: recording.compat ?? {} });
  const request = requestOf(recording.kind);
  const origin = { provider: target.provider, model: models[recording.kind] };
  const faults = createFaults(origin, new Headers(), () => 0);
  return async (chunks: readonly Uint8Array[]): Promise<Outcome> => {
    const decoder = protocol.decoder(request, target, faults);
    const batches = readReply(bodyOf(chunks), decoder, faults, { read: () => {}, timers: systemTimers }, {});
    try {
      const completion = await collect(batches, {
        request,
        provider: target.provider,
        price: () => null,
        startedAt: 0,
        now: () => 0,
      });
      return { completion };
    } catch (error) {
      if (error instanceof ModelError) return { code: error.failure.code };
      throw error;
    }
  };
};
