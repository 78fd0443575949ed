import type { Message } from "../../src/chat/message.ts";
import { collect } from "../../src/model/collect.ts";
import type { CollectOptions } from "../../src/model/collect.ts";
import type { Completion, ItemDelta, ModelEvent } from "../../src/model/completer.ts";
import { ModelError } from "../../src/model/error.ts";
import type { ModelFailure } from "../../src/model/error.ts";
import { message, request } from "../support/requests.ts";

export { request } from "../support/requests.ts";

export const userMessage = (text: string, more: Partial<Message> = {}): Message =>
  message("user", text, more);

async function* batchesOf(
  ...batches: readonly (readonly ModelEvent[])[]
): AsyncGenerator<readonly ModelEvent[]> {
  yield* batches;
}

export const start: ModelEvent = { type: "start", model: "model-1-20261101", requestId: "req_1" };
export const text = (text: string, item = 0): ModelEvent => ({ type: "text", item, text });
export const call = (item: number, name: string, id?: string): ModelEvent => ({
  type: "call",
  item,
  name,
  ...(id !== undefined && { id }),
});
export const input = (item: number, json: string): ModelEvent => ({ type: "call_input", item, json });
export const end = (reason: Extract<ModelEvent, { type: "finish" }>["reason"] = "stop"): ModelEvent => ({
  type: "finish",
  reason,
  raw: reason,
});
export const usage: ModelEvent = { type: "usage", raw: { input_tokens: 100, output_tokens: 20 } };

export const options = (more: Partial<CollectOptions> = {}): CollectOptions => ({
  request: request(),
  provider: "default",
  price: () => null,
  startedAt: 0,
  now: () => 5,
  ...more,
});

/** Collects one batch per argument. */
export const collected = (
  batches: readonly (readonly ModelEvent[])[],
  more: Partial<CollectOptions> = {},
): Promise<Completion> => collect(batchesOf(...batches), options(more));

/** The failure of a promise that must reject with a `ModelError`. */
export const failureOf = async (work: Promise<unknown>): Promise<ModelFailure> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof ModelError) return error.failure;
    throw error;
  }
  throw new Error("expected a ModelError");
};

/** Text of each item as the deltas tell it; throws if an offset does not continue it. */
export const replay = (deltas: readonly ItemDelta[]): string[] => {
  const items: string[] = [];
  for (const { index, off, data } of deltas) {
    const known = items[index] ?? "";
    if (off !== known.length) throw new Error(`delta of item ${index} at ${off}, expected ${known.length}`);
    items[index] = known + data;
  }
  return items;
};
