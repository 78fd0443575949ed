import type { Host } from "../src/driver/host.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Sandbox } from "../src/sandbox/contract.ts";

/** The session's sandbox; that there is one is stored before it is asked for anything, since it goes with the session. */
export const sandboxOf = (
  engine: Engine,
  { read, update }: Pick<Host, "read" | "update">,
): Host["sandbox"] => {
  let sandbox: Sandbox | null = null;
  return () => {
    if (!read().sandboxed)
      update((draft) => {
        draft.state = { ...draft.state, sandboxed: true };
      });
    return (sandbox ??= engine.sandbox(read()));
  };
};
