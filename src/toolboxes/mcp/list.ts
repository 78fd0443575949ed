import type { Client } from "@modelcontextprotocol/client";
import type { OpenClient } from "./connect.ts";
import { connect, resume, sessionOf } from "./connect.ts";
import { failureOf } from "./failure.ts";
import { readListedTool } from "./listed-tool.ts";
import type { ListedTool, McpClient, McpEndpoint, McpListing, SendRequest } from "./port.ts";
import { createWire } from "./wire.ts";

/** This file lists the tools of a server, all pages of them. */

const mostTools = 128;

const mostPages = 64;

const endMs = 5_000;

type ReadTool = ReturnType<typeof readListedTool>;

/** Reads page by page, so that of a page only what is offered stays in memory. */
const readPages = async (
  client: Client,
  { redact }: McpEndpoint,
  isOffered: (name: string) => boolean,
  signal: AbortSignal,
): Promise<readonly ReadTool[]> => {
  const tools: ReadTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages && tools.length <= mostTools; page++) {
    const found = await client.listTools(cursor === undefined ? {} : { cursor }, { signal });
    const wanted = found.tools.filter(({ name }) => isOffered(name)).slice(0, mostTools + 1 - tools.length);
    tools.push(...wanted.map((tool) => readListedTool(tool, redact)));
    if (found.nextCursor === undefined || found.nextCursor === cursor) break;
    cursor = found.nextCursor;
  }
  return tools;
};

const listingOf = (found: readonly ReadTool[], open: OpenClient): McpListing => {
  const tools: ListedTool[] = [];
  const omitted: string[] = [];
  for (const read of found.slice(0, mostTools)) {
    if (typeof read === "string") omitted.push(read);
    else tools.push(read);
  }
  if (found.length > mostTools)
    omitted.push(`a server's first ${mostTools} tools are offered, and it has more`);
  return { tools, omitted, connection: open.connection() };
};

/** Ends the session that a server keeps for a connection, if it keeps one; it gives up after 5 s. */
export const endSession: McpClient["end"] = async (endpoint, connection, asked) => {
  if (sessionOf(connection) === null) return;
  const signal = AbortSignal.any([asked, AbortSignal.timeout(endMs)]);
  // The library aborts this request only when the client is closed.
  const send: SendRequest = (address, init) => endpoint.send(address, { ...init, signal });
  const open = await resume(endpoint, createWire({ ...endpoint, send }), connection, signal);
  try {
    await open.end();
  } finally {
    await open.close();
  }
};

/** Lists by a client of its own, since only a handshake tells what the server can do by now; its session takes over. */
export const listTools: McpClient["list"] = async (endpoint, connection, isOffered, signal) => {
  const wire = createWire(endpoint);
  void endSession(endpoint, connection, signal).catch(() => undefined);
  let open: OpenClient | null = null;
  try {
    open = await connect(endpoint, wire, signal);
    return listingOf(await readPages(open.client, endpoint, isOffered, signal), open);
  } catch (error) {
    throw failureOf(wire.refusal() ?? error, endpoint.redact);
  } finally {
    await open?.close();
  }
};
