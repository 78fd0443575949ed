/** Says what failed in one JSON line (RE-12): no content, no stack. */
export const logFailure = (msg: string, error: unknown): void =>
  console.error(
    JSON.stringify({ level: "error", msg, error: error instanceof Error ? error.message : "unknown" }),
  );
