import { authorize, finishLogin } from "./authorize.ts";
import { callTool } from "./call.ts";
import { sessionOf } from "./connect.ts";
import { endSession, listTools } from "./list.ts";
import type { McpClient } from "./port.ts";

/** Client of MCP servers. Only the Worker of a team that has MCP servers contains it. */
export const mcp: McpClient = {
  list: listTools,
  call: callTool,
  sessionOf,
  end: endSession,
  authorize,
  finishLogin,
};
