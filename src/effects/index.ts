import { compact } from "./compact.ts";
import { loopDetect } from "./loop-detect.ts";
import { observationMask } from "./observation-mask.ts";
import { offload } from "./offload.ts";
import { progress } from "./progress.ts";
import { reflection } from "./reflection.ts";
import { slidingWindow } from "./sliding-window.ts";
import { stallDetect } from "./stall-detect.ts";
import { timeBudget } from "./time-budget.ts";
import { tokenBudget } from "./token-budget.ts";
import { toolScope } from "./tool-scope.ts";
import { trimToolResults } from "./trim-tool-results.ts";

/** Built-in effects in the order of the documentation; those that shrink the request run in this order. */
export const effects = [
  toolScope,
  observationMask,
  slidingWindow,
  compact,
  trimToolResults,
  loopDetect,
  reflection,
  progress,
  tokenBudget,
  timeBudget,
  offload,
  stallDetect,
] as const;
