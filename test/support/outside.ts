import { createMcpHandler } from "@modelcontextprotocol/server";
import { chatFrames } from "./fake-provider-reply.ts";
import { createMcpServer, textResult, textTool } from "./mcp-server.ts";

/** What the test Worker reaches over the network, in the process that runs it: a model, an MCP server, a web site. */

type Answer = (request: Request) => Response | Promise<Response>;

const never = new Promise<never>(() => undefined);

/** A body that begins and does not end. */
const unending = (beginning: string): ReadableStream =>
  new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(beginning)) });

const streamHeaders = { "Content-Type": "text/event-stream" };

/** Replies with the last message; its connection stays open, and half a reply is all that who says "half" gets. */
const answerAsModel: Answer = async (request) => {
  const { messages } = await request.json<{ messages: { content: unknown }[] }>();
  const text = JSON.stringify(messages.at(-1)?.content);
  const frames = chatFrames({ pieces: [{ text }] }, "m");
  const said = text.includes("half") ? frames.slice(0, 2) : frames;
  return new Response(unending(said.join("")), { headers: streamHeaders });
};

const library = createMcpHandler(
  () =>
    createMcpServer({
      tools: () => ["lend", "keep"].map((name) => textTool(name)),
      call: (name) => (name === "keep" ? never : textResult("A book")),
    }),
  { legacy: "stateless" },
);

const answerAsSite: Answer = ({ url }) => {
  const { pathname } = new URL(url);
  if (pathname === "/moved") return Response.redirect(new URL("/endless", url).href);
  return new Response(unending("word ".repeat(300_000)), { headers: { "Content-Type": "text/plain" } });
};

const hosts: Readonly<Record<string, Answer>> = {
  "model.example.com": answerAsModel,
  "mcp.example.com": library.fetch,
  "site.example.com": answerAsSite,
};

/** Answers a request that leaves the test Worker. */
export const answerFromOutside = async (request: Request): Promise<Response> => {
  const { method, url, headers } = request;
  const answer = hosts[new URL(url).host];
  if (answer === undefined) throw new Error(`nothing answers at ${url}`);
  // The library and the runtime's driver have a class of requests and answers each.
  const body = request.body === null ? null : await request.text();
  const {
    status,
    headers: given,
    body: content,
  } = await answer(new Request(url, { method, headers: [...headers], body }));
  return new Response(content, { status, headers: [...given] });
};
