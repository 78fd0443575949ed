import type { FoldFrame } from "./fold/index.ts";
import type { Deferred } from "./plain.ts";
import { createDeferred } from "./plain.ts";
import type { TranscriptInput } from "./transcript.ts";

/** This file keeps the inputs that are on their way, until the log has them or they are taken back. */

/** An input from the first try to send it on. */
export interface PendingInput {
  readonly input: TranscriptInput;
  /** It is aborted when the input is not to be tried again; a try under way goes on. */
  readonly stop: AbortController;
  /** Resolves when no try is under way any more. */
  readonly ended: Deferred<void>;
}

export interface PendingInputs {
  readonly add: (input: TranscriptInput) => PendingInput;
  /** No try follows: the log has the input up to this event; null if it did not get there, or nobody looks. */
  readonly settle: (pending: PendingInput, seq: number | null) => void;
  /** Takes an input out, if it is here; resolves when no try is under way. */
  readonly take: (id: string) => Promise<void>;
  /** An input whose acceptance has come is no longer on its way. */
  readonly see: (frames: readonly FoldFrame[]) => void;
  /** Lists what a transcript up to `seq` does not hold. */
  readonly list: (seq: number) => readonly TranscriptInput[];
}

export const createPendingInputs = (): PendingInputs => {
  /** With the event that an answer named; null before the answer. */
  const inputs = new Map<string, readonly [PendingInput, number | null]>();
  return {
    add: (input) => {
      const pending = { input, stop: new AbortController(), ended: createDeferred() };
      inputs.set(input.id, [pending, null]);
      return pending;
    },
    settle: (pending, seq) => {
      const { id } = pending.input;
      if (inputs.get(id)?.[0] === pending)
        if (seq === null) inputs.delete(id);
        else inputs.set(id, [pending, seq]);
      pending.ended.resolve();
    },
    take: async (id) => {
      const [pending] = inputs.get(id) ?? [];
      if (pending === undefined) return;
      inputs.delete(id);
      pending.stop.abort();
      await pending.ended.promise;
    },
    see: (frames) => {
      for (const frame of frames)
        if (frame.type === "event" && frame.event.type === "input_accepted")
          inputs.delete(frame.event.data.input);
    },
    list: (after) =>
      [...inputs.values()].flatMap(([{ input }, seq]) => (seq === null || seq > after ? [input] : [])),
  };
};
