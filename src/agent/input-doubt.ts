import type { Completion } from "../model/completer.ts";
import { inputSeemsTruncated } from "../model/usage.ts";
import { changeCounters, emit, runOf } from "./draft.ts";
import type { Draft } from "./draft.ts";

/** Says once per run that the server seems to have cut the input silently (MO-35). `estimate` is the size of the request as it was sent, in tokens. */
export const inputDoubted = (
  draft: Draft,
  threadId: string,
  { usage, model }: Completion,
  estimate: number,
): void => {
  const run = runOf(draft, threadId);
  if (run.counters.inputDoubted === true) return;
  if (!inputSeemsTruncated(usage, estimate)) return;
  const seen = usage.input + usage.cacheRead + usage.cacheWrite;
  const message = `${model} reports ${seen} input tokens where about ${estimate} were sent; the server may have cut the input`;
  emit(draft, threadId, "error", { code: "input_truncated_suspected", message, retryable: false });
  changeCounters(draft, threadId, { inputDoubted: true });
};
