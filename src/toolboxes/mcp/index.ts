import { authorize, finishLogin } from "./authorize.ts";
import { callTool } from "./call.ts";
import { sessionOf } from "./connect.ts";
import { endSession, listTools } from "./list.ts";
import type { McpClient } from "./port.ts";

/** Speaks to MCP servers. Only the Worker of a team that has some contains this. */
export const mcp: McpClient = {
  list: listTools,
  call: callTool,
  sessionOf,
  end: endSession,
  authorize,
  finishLogin,
};
