import type { Host } from "../src/driver/host.ts";
import { placeInitialFiles } from "../src/driver/workspace-files.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { Sandbox } from "../src/sandbox/contract.ts";

/** Returns the session's sandbox; its existence is stored before its first call, because a delete must find it. */
export const sandboxOf = (engine: Engine, host: Pick<Host, "read" | "update" | "media">): Host["sandbox"] => {
  const { read, update } = host;
  let sandbox: Sandbox | null = null;
  return () => {
    if (!read().sandboxed)
      update((draft) => {
        draft.state.sandboxed = true;
      });
    return (sandbox ??= engine.sandbox(read(), (bare) => placeInitialFiles(host, bare)));
  };
};
