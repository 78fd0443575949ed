import type { FoldFrame } from "./fold/index.ts";
import type { TranscriptInput } from "./transcript.ts";

/** This file keeps the inputs that are on their way, until the log has them. */

export interface PendingInputs {
  readonly add: (input: TranscriptInput) => void;
  /** The server has answered: the log has the input up to this event; null if it was refused. */
  readonly settle: (id: string, seq: number | null) => void;
  /** An input whose acceptance has come is no longer on its way. */
  readonly see: (frames: readonly FoldFrame[]) => void;
  /** Lists what a transcript up to `seq` does not hold. */
  readonly list: (seq: number) => readonly TranscriptInput[];
}

export const createPendingInputs = (): PendingInputs => {
  const inputs = new Map<string, { readonly input: TranscriptInput; readonly seq: number | null }>();
  return {
    add: (input) => void inputs.set(input.id, { input, seq: null }),
    settle: (id, seq) => {
      const known = inputs.get(id);
      if (seq === null) inputs.delete(id);
      else if (known !== undefined) inputs.set(id, { ...known, seq });
    },
    see: (frames) => {
      for (const frame of frames)
        if (frame.type === "event" && frame.event.type === "input_accepted")
          inputs.delete(frame.event.data.input);
    },
    list: (seq) =>
      [...inputs.values()].filter((each) => each.seq === null || each.seq > seq).map(({ input }) => input),
  };
};
