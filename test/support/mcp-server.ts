import { createServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import type { CallToolResult, InputRequiredResult, ServerContext, Tool } from "@modelcontextprotocol/server";

/** An MCP server on loopback, made of the official library, that tells of every request. */

export interface SeenRequest {
  /** The HTTP method. */
  readonly http: string;
  /** The method of the message; null for a request without one. */
  readonly rpc: string | null;
  /** The id of the message, for who answers it. */
  readonly id: string | number | null;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: Readonly<Record<string, unknown>>;
}

type Answer = CallToolResult | InputRequiredResult;

export interface McpServerOptions {
  /** The tools that it offers now. */
  readonly tools: () => readonly Tool[];
  readonly call: (
    name: string,
    args: Readonly<Record<string, unknown>>,
    context: ServerContext,
  ) => Answer | Promise<Answer>;
  /** The id of the session that it gives to whoever greets it in the older way. */
  readonly session?: string | (() => string);
  /** Tools of one page; absent: all. */
  readonly pageSize?: number;
  /** Looks at a request before the server does, and may answer it. */
  readonly before?: (seen: SeenRequest, response: ServerResponse) => boolean;
}

export interface TestMcpServer {
  readonly url: string;
  readonly host: string;
  readonly seen: SeenRequest[];
  /** Methods of the messages so far, in order. */
  readonly methods: () => readonly (string | null)[];
  readonly close: () => Promise<void>;
}

export const textTool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  ...more,
});

export const textResult = (text: string): CallToolResult => ({ content: [{ type: "text", text }] });

export const createMcpServer = ({ tools, call, pageSize = Infinity }: McpServerOptions): Server => {
  const server = new Server(
    { name: "test", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler("tools/list", ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const all = tools();
    const next = from + pageSize;
    return {
      tools: all.slice(from, next),
      ...(next < all.length ? { nextCursor: String(next) } : {}),
    };
  });
  server.setRequestHandler("tools/call", ({ params }, context) =>
    call(params.name, params.arguments ?? {}, context),
  );
  return server;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

const describe = ({ method = "", url = "", headers }: IncomingMessage, body: string): SeenRequest => {
  const message = (body === "" ? {} : JSON.parse(body)) as {
    readonly id?: string | number;
    readonly method?: string;
    readonly params?: Readonly<Record<string, unknown>>;
  };
  const { id = null, method: rpc = null, params = {} } = message;
  return { http: method, rpc, id, path: url, headers, params };
};

export const startMcpServer = async (options: McpServerOptions): Promise<TestMcpServer> => {
  const seen: SeenRequest[] = [];
  const handler = createMcpHandler(() => createMcpServer(options), { legacy: "stateless" });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const told = describe(request, body);
    seen.push(told);
    if (options.before?.(told, response) === true) return;
    const abort = new AbortController();
    response.on("close", () => abort.abort());
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? "GET",
        headers,
        signal: abort.signal,
        ...(body === "" ? {} : { body }),
      }),
    );
    const greets = told.rpc === "initialize" && options.session !== undefined;
    const { session: given = "" } = options;
    const session = greets ? { "mcp-session-id": typeof given === "string" ? given : given() } : {};
    response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...session });
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body as never)
        .on("error", () => response.destroy())
        .pipe(response);
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    host: `127.0.0.1:${port}`,
    seen,
    methods: () => seen.map(({ rpc }) => rpc),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
};
