import type { ToolOutput } from "../tools/define-tool.ts";

/** Results of `cache: true` tools in this isolate (SE-20); emptied whenever the workspace may have changed. */
export interface ToolCache {
  get(key: string): ToolOutput | undefined;
  put(key: string, output: ToolOutput, epoch: number): void;
  /** Counts the changes: a result read before one is not stored after it. */
  readonly epoch: () => number;
  clear(): void;
}

export const createToolCache = (): ToolCache => {
  const entries = new Map<string, ToolOutput>();
  let changes = 0;
  return {
    get: (key) => entries.get(key),
    put: (key, output, epoch) => {
      if (epoch === changes) entries.set(key, output);
    },
    epoch: () => changes,
    clear: () => {
      changes += 1;
      entries.clear();
    },
  };
};
