import type { Host } from "../src/driver/host.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Sandbox } from "../src/sandbox/contract.ts";

/** Returns the session's sandbox; its existence is stored before its first call, because a delete must find it. */
export const sandboxOf = (
  engine: Engine,
  { read, update }: Pick<Host, "read" | "update">,
): Host["sandbox"] => {
  let sandbox: Sandbox | null = null;
  return () => {
    if (!read().sandboxed)
      update((draft) => {
        draft.state.sandboxed = true;
      });
    return (sandbox ??= engine.sandbox(read()));
  };
};
