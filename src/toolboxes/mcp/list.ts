import type { Json } from "../../chat/message.ts";
import { limitTime } from "../../sandbox/time-limit.ts";
import type { OpenClient } from "./connect.ts";
import { connect, isElsewhere, resume, sessionOf } from "./connect.ts";
import { failureOf, statusOf } from "./failure.ts";
import { readListedTool } from "./listed-tool.ts";
import type { ListedTool, McpClient, McpEndpoint, McpListing, SendRequest } from "./port.ts";
import { nameOf, requestPages } from "./tool-pages.ts";
import type { McpWire } from "./wire.ts";
import { createWire } from "./wire.ts";

/** Lists the tools of a server. */

const mostTools = 128;

/** Number of pages that are read: a page of a list may hold a single tool. */
const mostPages = 256;

/** Number of unusable tools that are named. */
const mostNamed = 128;

const endMs = 5_000;

interface FoundTools {
  readonly tools: ListedTool[];
  /** Sentences about the tools that cannot be offered. */
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

/** Reads page by page, keeping only the offered tools of each page in memory. */
const readPages = async (
  open: OpenClient,
  { redact }: McpEndpoint,
  isOffered: (name: string) => boolean,
  signal: AbortSignal,
): Promise<FoundTools> => {
  const reading = { redact, namesHeaders: open.client.getProtocolEra() === "modern" };
  const found: FoundTools = { tools: [], unusable: [], unusableCount: 0, hasMorePages: false };
  let pages = 0;
  for await (const { tools, isLast } of requestPages(open, signal)) {
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
  place: string | null,
): McpListing => {
  const omitted: string[] = [];
  // These sentences come first, since the status is cut.
  if (place !== null)
    omitted.push(
      `each request is redirected to ${place}; make that the server's url to send one instead of two`,
    );
  if (tools.length > mostTools) omitted.push(`only the first ${mostTools} tools of the server are offered`);
  if (hasMorePages) omitted.push(`only the first ${mostPages} pages of its list are read`);
  if (unusableCount > mostNamed) omitted.push(`${unusableCount} of its tools cannot be used`);
  return { tools: tools.slice(0, mostTools), omitted: [...omitted, ...unusable] };
};

/**
 * Ends the sessions that a server keeps for connections, one after the other, since all need the same token; gives up
 * after 5 s.
 */
const endSessions = async (
  endpoint: McpEndpoint,
  connections: readonly Json[],
  asked?: AbortSignal,
): Promise<void> => {
  const open = connections.filter((each) => sessionOf(each) !== null && !isElsewhere(endpoint, each));
  if (open.length === 0) return;
  await limitTime(endMs, asked, async (signal) => {
    // The library aborts these requests only when the client is closed.
    const send: SendRequest = (address, init) => endpoint.send(address, { ...init, signal });
    const wire = createWire({ ...endpoint, send });
    for (const connection of open) await endOne(endpoint, wire, connection, signal);
  });
};

/** Ends a server's session; a refusal means that the server has ended it by itself. */
const endOne = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  connection: Json,
  signal: AbortSignal,
): Promise<void> => {
  const client = await resume(endpoint, wire, connection, signal);
  try {
    await client.end();
  } catch (error) {
    if (statusOf(error) === null) throw error;
  } finally {
    await client.close();
  }
};

/** Ends the session that a server keeps for a connection, if it keeps one. */
export const endSession: McpClient["end"] = (endpoint, connection, signal) =>
  endSessions(endpoint, [connection], signal);

/** Lists tools with a new client, since only a handshake reveals the server's current capabilities. */
export const listTools: McpClient["list"] = async (endpoint, over, isOffered, signal) => {
  const wire = createWire(endpoint);
  const unkept: Json[] = [];
  const keep = endpoint.keep ?? ((connection: Json) => void unkept.push(connection));
  void endSessions(endpoint, over, signal).catch(() => undefined);
  let open: OpenClient | null = null;
  try {
    open = await connect({ ...endpoint, keep }, wire, signal);
    return listingOf(await readPages(open, endpoint, isOffered, signal), wire.redirectedTo());
  } catch (error) {
    throw failureOf(wire.refusal() ?? error, endpoint.redact);
  } finally {
    await open?.close();
    await endSessions(endpoint, unkept).catch(() => undefined);
  }
};
