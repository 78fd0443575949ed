import { sha256Hex } from "../../sandbox/sha256.ts";

/** Names the tools of MCP servers as models see them. */

const longestName = 64;

/**
 * Returns the name of a server's tool: `server__tool`. Characters that names may not hold become `_`; a long name,
 * and one with letters of other alphabets, ends with a hash, since others would look the same.
 */
export const serverToolName = (server: string, tool: string): string => {
  const name = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  if (name.length <= longestName && !/\P{ASCII}/u.test(tool)) return name;
  return `${name.slice(0, longestName - 9)}_${sha256Hex(`${server}__${tool}`).slice(0, 8)}`;
};
