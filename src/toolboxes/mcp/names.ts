import { sha256Hex } from "../../sandbox/sha256.ts";

/** This file names the tools of MCP servers as models see them. */

const longestName = 64;

/** Returns the name of a server's tool: `server__tool`; what names may not hold is `_`, and a long one ends with a hash. */
export const serverToolName = (server: string, tool: string): string => {
  const name = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  if (name.length <= longestName) return name;
  return `${name.slice(0, longestName - 9)}_${sha256Hex(`${server}__${tool}`).slice(0, 8)}`;
};
