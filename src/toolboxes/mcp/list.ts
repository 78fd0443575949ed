import { limitTime } from "../../sandbox/time-limit.ts";
import type { OpenClient } from "./connect.ts";
import { connect, resume, sessionOf } from "./connect.ts";
import { failureOf } from "./failure.ts";
import { readListedTool } from "./listed-tool.ts";
import type { ListedTool, McpClient, McpEndpoint, McpListing, SendRequest } from "./port.ts";
import { nameOf, requestPages } from "./tool-pages.ts";
import { createWire } from "./wire.ts";

/** This file lists the tools of a server. */

const mostTools = 128;

/** A list of one tool a page may still offer all that it may. */
const mostPages = 256;

/** So many tools that cannot be used are named. */
const mostNamed = 128;

const endMs = 5_000;

interface FoundTools {
  readonly tools: ListedTool[];
  /** Says of tools that cannot be offered why. */
  readonly unusable: string[];
  unusableCount: number;
  hasMorePages: boolean;
}

const addTool = (found: FoundTools, read: ListedTool | string): void => {
  if (typeof read !== "string") {
    found.tools.push(read);
    return;
  }
  found.unusableCount += 1;
  if (found.unusable.length < mostNamed) found.unusable.push(read);
};

/** Reads page by page, so that of a page only what is offered stays in memory. */
const readPages = async (
  { client }: OpenClient,
  { redact }: McpEndpoint,
  isOffered: (name: string) => boolean,
  signal: AbortSignal,
): Promise<FoundTools> => {
  const reading = { redact, namesHeaders: client.getProtocolEra() === "modern" };
  const found: FoundTools = { tools: [], unusable: [], unusableCount: 0, hasMorePages: false };
  let pages = 0;
  for await (const { tools, isLast } of requestPages(client, signal)) {
    const offered = tools.filter((tool) => isOffered(nameOf(tool)));
    for (const tool of offered)
      if (found.tools.length <= mostTools) addTool(found, readListedTool(tool, reading));
    pages += 1;
    found.hasMorePages = pages === mostPages && !isLast;
    if (found.tools.length > mostTools || found.hasMorePages) break;
  }
  return found;
};

const listingOf = (
  { tools, unusable, unusableCount, hasMorePages }: FoundTools,
  open: OpenClient,
): McpListing => {
  const omitted: string[] = [];
  // These come first, since the status is cut.
  if (tools.length > mostTools)
    omitted.push(`a server's first ${mostTools} tools are offered, and it has more`);
  if (hasMorePages) omitted.push(`the first ${mostPages} pages of its list are read, and it has more`);
  if (unusableCount > mostNamed) omitted.push(`${unusableCount} of its tools cannot be used`);
  return {
    tools: tools.slice(0, mostTools),
    omitted: [...omitted, ...unusable],
    connection: open.connection(),
  };
};

/** Ends the session that a server keeps for a connection, if it keeps one; it gives up after 5 s. */
export const endSession: McpClient["end"] = async (endpoint, connection, asked) => {
  if (sessionOf(connection) === null) return;
  await limitTime(endMs, asked, async (signal) => {
    // The library aborts this request only when the client is closed.
    const send: SendRequest = (address, init) => endpoint.send(address, { ...init, signal });
    const open = await resume(endpoint, createWire({ ...endpoint, send }), connection, signal);
    try {
      await open.end();
    } finally {
      await open.close();
    }
  });
};

/** Lists by a client of its own, since only a handshake tells what the server can do by now; its session takes over. */
export const listTools: McpClient["list"] = async (endpoint, connection, isOffered, signal) => {
  const wire = createWire(endpoint);
  void endSession(endpoint, connection, signal).catch(() => undefined);
  let open: OpenClient | null = null;
  try {
    open = await connect(endpoint, wire, signal);
    return listingOf(await readPages(open, endpoint, isOffered, signal), open);
  } catch (error) {
    throw failureOf(wire.refusal() ?? error, endpoint.redact);
  } finally {
    await open?.close();
  }
};
