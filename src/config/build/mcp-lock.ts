import * as z from "zod";
import { parseJson } from "../../chat/json.ts";
import type { Team } from "../team.ts";
import type { FolderReport, TeamFiles } from "./files-map.ts";

/** Reads and writes the lock of a team's MCP servers: the hashes of the approved tools. */

export const lockFile = "mcp.lock.json";

const lockSchema = z.strictObject({
  version: z.literal(1),
  servers: z.record(z.string(), z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/))),
});

type McpLock = Team["mcp_lock"];

const mendHint = "create it again with: npx limpet build <team> --lock-mcp";

/** Reads the lock of a team folder; one that cannot be read is an error, since it would approve nothing. */
export const readLock = (report: FolderReport, files: TeamFiles): McpLock => {
  const text = files.get(lockFile);
  if (text === undefined) return {};
  const read = lockSchema.safeParse(parseJson(String(text)));
  if (read.success) return read.data.servers;
  const issue = read.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
  report.addFile("invalid_value", lockFile, `this is not a lock of MCP servers${where}`, mendHint);
  return {};
};

/** Formats a lock with servers and tools sorted by name, so that a change is a small difference. */
export const lockText = (servers: McpLock): string => {
  const sorted = Object.entries(servers)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, tools]) => [
      name,
      Object.fromEntries(Object.entries(tools).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    ]);
  return `${JSON.stringify({ version: 1, servers: Object.fromEntries(sorted) }, null, 2)}\n`;
};
