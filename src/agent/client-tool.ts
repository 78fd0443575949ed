import type { Json } from "../chat/message.ts";
import type { Safety } from "../tools/define-tool.ts";

/** A tool of a session whose calls its client answers (TB-38). */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly params: Json;
  readonly safety: Safety;
}
