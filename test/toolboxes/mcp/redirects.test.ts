import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import type { TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { servedBench, serverOf } from "./support.ts";

/** Servers at another address, and refusals, that cost no request in vain. */

const looking = async (
  before: Parameters<typeof serverOf>[0]["before"],
  keys = "",
): Promise<{ readonly server: TestMcpServer; readonly bench: Bench }> => {
  const server = await serverOf({
    session: "one",
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    ...(before && { before }),
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}"${keys} }`],
    toolboxes: "[sea]",
    turns: [[["sea__look", {}]], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  return { server, bench };
};

const moving =
  (status: number, location: string): Parameters<typeof serverOf>[0]["before"] =>
  ({ path }, response) => {
    const moves = path.startsWith("/mcp");
    if (moves) response.writeHead(status, { location }).end();
    return moves;
  };

test("TB-18 TB-21: a server whose redirect makes a GET of a message is asked once, and the status says where it is", async () => {
  for (const status of [301, 302, 303])
    for (const keys of ["", ', protocol: "2025"', ', protocol: "2026"']) {
      const { server, bench } = await looking(moving(status, "/moved?key=canary"), keys);
      expect(server.seen).toHaveLength(1);
      const { error } = lastEvent(bench, "mcp_status");
      expect(error).toBe(
        `egress_denied: ${status} leads to http://${server.host}/moved, where only a GET would arrive.`,
      );
    }
});

test("TB-21: a server that redirects each message works, and the status says which address would spare that", async () => {
  for (const status of [307, 308]) {
    const { server, bench } = await looking(moving(status, "/moved?key=canary"));
    expect(lastEvent(bench, "tool_call_end")["output"]).toBe("seen");
    expect(lastEvent(bench, "mcp_status")).toEqual({
      server: "sea",
      state: "connected",
      tools: ["sea__look"],
      error: `each request is redirected to http://${server.host}/moved; make that the server's url to send one instead of two`,
    });
  }
});

test("TB-25: a call that a server without sessions refuses under 400 is sent once", async () => {
  const { server, bench } = await looking(({ rpc }, response) => {
    if (rpc === "tools/call") response.writeHead(400).end("Bad Request");
    return rpc === "tools/call";
  });
  expect(eventsOf(bench, "tool_call_end").map(({ output }) => output)).toEqual([
    "failed: the server refused this call: it answered 400",
  ]);
  expect(server.methods()).toEqual(["server/discover", "tools/list", "tools/call"]);
});

test("TB-25: a server without sessions that refuses the revision under 400, in whatever words, is greeted anew once", async () => {
  const version = "Bad Request: Unsupported protocol version";
  const message = JSON.stringify({
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_000, message: "Bad Request" },
  });
  for (const text of [version, message]) {
    let isRefused = false;
    const { server, bench } = await looking(({ rpc }, response) => {
      if (rpc !== "tools/call" || isRefused) return false;
      isRefused = true;
      response.writeHead(400).end(text);
      return true;
    });
    expect(lastEvent(bench, "tool_call_end")["output"]).toBe("seen");
    expect(server.methods().slice(-3)).toEqual(["tools/call", "server/discover", "tools/call"]);
  }
});
