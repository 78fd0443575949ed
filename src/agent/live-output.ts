import type { ToolContext } from "../tools/define-tool.ts";
import type { Call } from "./call.ts";
import type { Host } from "./host.ts";

/**
 * Shows a tool's output that is still coming, until `live` says that it ended. Known secrets are taken out: a tail that
 * may begin one waits for what follows (RE-15).
 */
export const liveOutput = (
  host: Host,
  thread: string,
  call: Call,
  live: { readonly ended: boolean },
): ToolContext["show"] => {
  const told = host.redactor.stream();
  const item = call.call.id;
  const attempt = call.attempts;
  let shown = "";
  return (piece) => {
    const data = live.ended ? "" : told(piece);
    if (data === "") return;
    const off = shown.length;
    shown += data;
    host.itemGrew({ id: item, thread, kind: "tool_output", attempt, text: shown });
    host.show([{ type: "delta", kind: "tool_output_delta", thread, item, attempt, off, data }]);
  };
};
