import { systemTimers } from "../../../src/model/deadlines.ts";
import { describeModel } from "../../../src/model/catalogue.ts";
import { collect } from "../../../src/model/collect.ts";
import type { Completion } from "../../../src/model/completer.ts";
import { ModelError } from "../../../src/model/error.ts";
import { anthropicMessages } from "../../../src/protocols/anthropic/messages.ts";
import { createFaults, readReply } from "../../../src/protocols/attempt.ts";
import { openAiChat } from "../../../src/protocols/openai/chat.ts";
import { profiles } from "../../../src/providers/index.ts";
import { configOf, models, requestOf } from "../fake-provider-client.ts";
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
  const config = configOf(recording.kind, { compat: recording.compat ?? {} });
  const profile = profiles.find(({ kind }) => kind === config.kind);
  if (profile === undefined) throw new Error(config.kind);
  const { capabilities, max_output: maxOutput } = describeModel(config.kind, config.model);
  const target = { provider: config.name, capabilities, maxOutput, traits: profile.traits(config) };
  const request = requestOf(recording.kind);
  const origin = { provider: config.name, model: models[recording.kind] };
  const faults = createFaults(origin, new Headers(), () => 0);
  const protocol = profile.protocol === "anthropic-messages" ? anthropicMessages : openAiChat;
  return async (chunks: readonly Uint8Array[]): Promise<Outcome> => {
    const decoder = protocol.decoder(request, target, faults);
    const batches = readReply(bodyOf(chunks), decoder, faults, { read: () => {}, timers: systemTimers });
    try {
      const completion = await collect(batches, {
        request,
        provider: config.name,
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
