import {
  Client,
  isJSONRPCRequest,
  isJSONRPCResponse,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { DiscoverResult, ReconnectionScheduler, Transport } from "@modelcontextprotocol/client";
import * as z from "zod";
import type { Json } from "../../chat/message.ts";
import { requireMessages } from "./foreign-answer.ts";
import { tidyResult } from "./tidy.ts";
import type { McpClient, McpEndpoint } from "./port.ts";
import type { McpWire } from "./wire.ts";

/** Creates a client of a server, with a handshake or from the stored connection of an earlier one. */

/** Longest session id, which a server sends in a header; a longer one is not kept beyond its client. */
const longestSession = 4_096;

const connectionSchema = z.discriminatedUnion("era", [
  z.object({ transport: z.literal("sse"), era: z.literal("sse") }),
  z.object({
    transport: z.literal("streamable_http"),
    era: z.literal("legacy"),
    session: z.string().max(longestSession),
    version: z.string().optional(),
  }),
  z.object({ transport: z.literal("streamable_http"), era: z.literal("modern") }),
]);

type Connection = z.output<typeof connectionSchema>;

const storedSchema = z.object({ place: z.string() }).and(connectionSchema);

export interface OpenClient {
  readonly client: Client;
  /** Whether the client was created without a handshake, so that its session may be over. */
  readonly isResumed: boolean;
  /** Rejects with a `LostAnswer` if the stream of an answer ended without it. */
  readonly lost: Promise<never>;
  /** Ends the session at the server. */
  readonly end: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Error of an answer whose stream ended without it. */
export class LostAnswer extends Error {
  constructor(reason = "the answer was cut off") {
    super(reason);
    this.name = "LostAnswer";
  }
}

const probeMs = 5_000;

const modernVersion = "2026-07-28";

/**
 * What a client needs to know of a server that has tools and this revision. What the server says of itself is not
 * kept, since it may be of any length and depth.
 */
const modernServer: DiscoverResult = {
  resultType: "complete",
  ttlMs: 0,
  cacheScope: "private",
  supportedVersions: [modernVersion],
  capabilities: { tools: {} },
};

const clientInfo = { name: "limpet", version: "0.1.0" };

/** Creates a client for a 2025 server, without elicitation, since its questions need a stream that stays open. */
const createLegacyClient = (): Client => new Client(clientInfo, { capabilities: {} });

const createModernClient = (): Client =>
  new Client(clientInfo, {
    capabilities: { elicitation: { form: {}, url: {} } },
    inputRequired: { autoFulfill: false },
    versionNegotiation: { mode: { pin: modernVersion }, probe: { timeoutMs: probeMs } },
  });

const shortestPauseMs = 500;

/** Longest pause: calls end earlier by their own deadline, and a timer of more than 2^31 ms would fire at once. */
const longestPauseMs = 660_000;

/** Waits as long as the server says, within bounds, before the rest of an answer is requested. */
const waitToReconnect: ReconnectionScheduler = (reconnect, pauseMs) => {
  const timer = setTimeout(reconnect, Math.min(Math.max(pauseMs, shortestPauseMs), longestPauseMs));
  return () => clearTimeout(timer);
};

/**
 * Number of requests in a row for the rest of a cut-off answer of a 2025 server; later revisions have no such
 * request.
 */
const mostReconnections = { legacy: 3, modern: 0 };

/** Makes results readable for every listener of a transport, including the handshake. */
const tidyResults = <T extends Transport>(transport: T): T => {
  let listener: Transport["onmessage"];
  return Object.defineProperty(transport, "onmessage", {
    get: () => listener,
    set: (given: Transport["onmessage"]) => {
      listener = (message, extra) => {
        const isResult = isJSONRPCResponse(message) && "result" in message;
        given?.(isResult ? { ...message, result: tidyResult(message.result as Json) } : message, extra);
      };
    },
  });
};

/** Number of requests of a server, like pings, that one client answers, since each answer is a request of ours. */
const mostReplies = 200;

/** Ends the answers to a server that floods its client with requests. */
const limitReplies = <T extends Transport>(transport: T): T => {
  const send = transport.send.bind(transport);
  let replies = 0;
  const limited: Pick<Transport, "send"> = {
    send: async (message, options) => {
      if (isJSONRPCResponse(message) && ++replies > mostReplies) return;
      await send(message, options);
    },
  };
  return Object.assign(transport, limited);
};

/** Prepares a transport for its first message, which is part of the handshake. */
const prepare = <T extends Transport>(transport: T): T => limitReplies(tidyResults(transport));

const streamableTo = (
  { url }: McpEndpoint,
  wire: McpWire,
  era: keyof typeof mostReconnections,
  resumed?: { readonly session: string; readonly version?: string | undefined },
): StreamableHTTPClientTransport =>
  prepare(
    new StreamableHTTPClientTransport(new URL(url), {
      fetch: requireMessages(wire.fetch),
      redirectPolicy: "follow",
      reconnectionOptions: {
        maxRetries: mostReconnections[era],
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 2,
      },
      reconnectionScheduler: waitToReconnect,
      ...(resumed === undefined ? {} : { sessionId: resumed.session }),
      ...(resumed?.version === undefined ? {} : { protocolVersion: resumed.version }),
    }),
  );

const readConnection = (value: Json) => storedSchema.safeParse(value).data ?? null;

type Message = Parameters<Transport["send"]>[0];

/** Returns a message with one of its parameters shifted, if it is a number. */
const shiftParam = <T extends Message>(message: T, name: string, by: number): T => {
  const params = "params" in message ? message.params : undefined;
  const value: unknown = params?.[name];
  return typeof value === "number" ? { ...message, params: { ...params, [name]: value + by } } : message;
};

/** Returns a message with the ids that it holds shifted: its own, and those of the request that it is about. */
const shiftIds = (message: Message, by: number): Message => {
  if (isJSONRPCResponse(message))
    return typeof message.id === "number" ? { ...message, id: message.id + by } : message;
  if (!isJSONRPCRequest(message))
    return shiftParam(shiftParam(message, "requestId", by), "progressToken", by);
  const { id, params } = message;
  const meta = params?.["_meta"];
  const token = meta?.progressToken;
  return {
    ...message,
    ...(typeof id === "number" ? { id: id + by } : {}),
    ...(typeof token === "number"
      ? { params: { ...params, _meta: { ...meta, progressToken: token + by } } }
      : {}),
  };
};

/**
 * Counts the ids of requests from `base`: a session outlives its clients, each of which would count from 0, and an
 * id may be used once in a session.
 */
const renumber = (transport: Transport, base: number): void => {
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  const renumbered: Pick<Transport, "onmessage" | "send"> = {
    onmessage: (message, extra) =>
      onmessage?.(isJSONRPCRequest(message) ? message : shiftIds(message, -base), extra),
    send: (message, options) => send(isJSONRPCResponse(message) ? message : shiftIds(message, base), options),
  };
  Object.assign(transport, renumbered);
};

/** Watches the answers to requests: the client does not report a request that is answered without its result. */
const watchAnswers = (transport: Transport, base: number, wire: McpWire, lose: () => void): void => {
  const { onmessage } = transport;
  const send = transport.send.bind(transport);
  const open = new Set<unknown>();
  const watching: Pick<Transport, "onmessage" | "send"> = {
    onmessage: (message, extra) => {
      if (isJSONRPCResponse(message)) open.delete(message.id);
      onmessage?.(message, extra);
    },
    send: async (message, options) => {
      if (!isJSONRPCRequest(message)) return send(message, options);
      const id = Number(message.id) + base;
      const end = (): void => void (open.has(id) && lose());
      open.add(id);
      await send(message, { ...options, onRequestStreamEnd: end });
      if (!wire.isStream()) end();
    },
  };
  Object.assign(transport, watching);
};

const opened = (
  client: Client,
  transport: Transport & { readonly terminateSession?: () => Promise<void> },
  isResumed: boolean,
  wire: McpWire,
): OpenClient => {
  const lost = Promise.withResolvers<never>();
  const lose = (reason?: string): void => lost.reject(new LostAnswer(reason));
  // The rejection may have no listener.
  lost.promise.catch(() => undefined);
  const base = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) >>> 2;
  renumber(transport, base);
  // The older transport answers elsewhere than in the answer to the request.
  if (transport instanceof StreamableHTTPClientTransport) watchAnswers(transport, base, wire, lose);
  const onerror = (error: Error): void => {
    const excess = wire.excess();
    if (excess !== null || error instanceof SseError) lose(excess ?? undefined);
  };
  Object.assign(client, { onerror });
  return {
    client,
    lost: lost.promise,
    isResumed,
    end: async () => transport.terminateSession?.(),
    close: async () => {
      await wire.settled();
      await client.close();
    },
  };
};

const legacyConnection = (
  client: Client,
  { sessionId, protocolVersion }: StreamableHTTPClientTransport,
): Connection => ({
  transport: "streamable_http",
  era: "legacy",
  // A server without sessions is also called without a handshake; its session is the empty one.
  session: sessionId ?? "",
  version: protocolVersion ?? client.getNegotiatedProtocolVersion(),
});

const modernConnection: Connection = { transport: "streamable_http", era: "modern" };

const keep = (endpoint: McpEndpoint, connection: Connection): void =>
  endpoint.keep?.(readConnection({ ...connection, place: endpoint.place } as Json) as unknown as Json, null);

const connectLegacy = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  signal: AbortSignal,
): Promise<OpenClient> => {
  const client = createLegacyClient();
  const transport = streamableTo(endpoint, wire, "legacy");
  try {
    await client.connect(transport, { signal });
  } catch (error) {
    // The server may have begun a session before the handshake failed.
    if (transport.sessionId !== undefined) keep(endpoint, legacyConnection(client, transport));
    throw error;
  }
  keep(endpoint, legacyConnection(client, transport));
  return opened(client, transport, false, wire);
};

const connectModern = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  signal: AbortSignal,
): Promise<OpenClient> => {
  const client = createModernClient();
  const transport = streamableTo(endpoint, wire, "modern");
  await client.connect(transport, { signal });
  keep(endpoint, modernConnection);
  return opened(client, transport, false, wire);
};

const connectSse = async (endpoint: McpEndpoint, wire: McpWire, signal: AbortSignal): Promise<OpenClient> => {
  const client = createLegacyClient();
  wire.allowStream();
  const transport = prepare(
    new SSEClientTransport(new URL(endpoint.url), { fetch: wire.fetch, redirectPolicy: "follow" }),
  );
  await client.connect(transport, { signal });
  keep(endpoint, { transport: "sse", era: "sse" });
  return opened(client, transport, false, wire);
};

/** Tries the newest revision first; connects to a server that does not know it with the older handshake. */
const connectStreamable = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  signal: AbortSignal,
): Promise<OpenClient> => {
  const { protocol } = endpoint;
  if (protocol === "2025") return connectLegacy(endpoint, wire, signal);
  try {
    return await connectModern(endpoint, wire, signal);
  } catch (error) {
    if (protocol === "2026" || signal.aborted || wire.refusal() !== null) throw error;
    if (error instanceof UnauthorizedError) throw error;
    return connectLegacy(endpoint, wire, signal);
  }
};

/** Statuses of a server that does not speak streamable HTTP. */
const otherTransport: ReadonlySet<number> = new Set([400, 404, 405, 406, 415, 501]);

/** Connects to a server with a handshake. */
export const connect = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  signal: AbortSignal,
): Promise<OpenClient> => {
  const { transport, protocol } = endpoint;
  if (transport === "sse") return connectSse(endpoint, wire, signal);
  try {
    return await connectStreamable(endpoint, wire, signal);
  } catch (error) {
    if (transport !== "auto" || signal.aborted || wire.refusal() !== null) throw error;
    // The 2026 revision has no SSE transport.
    if (protocol === "2026") throw error;
    if (!otherTransport.has(wire.lastStatus())) throw error;
    return connectSse(endpoint, wire, signal);
  }
};

/** Returns whether a connection is one to another address than the server has now. */
export const isElsewhere = ({ place }: McpEndpoint, known: Json): boolean => {
  const connection = readConnection(known);
  return connection !== null && connection.place !== place;
};

/** Returns the part of a connection with which the server's session can be ended; null if the server keeps none. */
export const sessionOf: McpClient["sessionOf"] = (known) => {
  const connection = readConnection(known);
  if (connection?.era !== "legacy" || connection.session === "") return null;
  const { place, transport, era, session, version } = connection;
  return { place, transport, era, session, ...(version === undefined ? {} : { version }) };
};

/** Creates a client without a request from a stored connection, otherwise with a handshake. */
export const resume = async (
  endpoint: McpEndpoint,
  wire: McpWire,
  known: Json,
  signal: AbortSignal,
): Promise<OpenClient> => {
  const connection = readConnection(known);
  if (connection === null || isElsewhere(endpoint, known) || !fits(endpoint, connection))
    return connect(endpoint, wire, signal);
  if (connection.era === "sse") return connectSse(endpoint, wire, signal);
  if (connection.era === "modern") {
    const client = createModernClient();
    const prior = { kind: "modern", discover: modernServer } as const;
    const transport = streamableTo(endpoint, wire, "modern");
    await client.connect(transport, { prior, signal });
    return opened(client, transport, true, wire);
  }
  const client = createLegacyClient();
  const transport = streamableTo(endpoint, wire, "legacy", connection);
  await client.connect(transport, { prior: { kind: "legacy" }, signal });
  return opened(client, transport, true, wire);
};

/** Returns whether the team's file still allows the stored connection. */
const fits = ({ transport, protocol }: McpEndpoint, connection: Connection): boolean => {
  if (transport !== "auto" && transport !== connection.transport) return false;
  if (protocol === "auto" || connection.era === "sse") return protocol !== "2026";
  return (protocol === "2026") === (connection.era === "modern");
};
