import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { SeenRequest } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { serverOf, servedBench } from "./support.ts";

/** Servers that never answer a call, or say more than anybody needs. */

const foreign = (id: SeenRequest["id"]): string =>
  JSON.stringify({ jsonrpc: "2.0", id: Number(id) + 7, result: textResult("of another call") });

const answers: readonly (readonly [string, (response: ServerResponse, id: SeenRequest["id"]) => void])[] = [
  [
    "a stream with the answer to another request only",
    (response, id) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${foreign(id)}\n\n`),
  ],
  [
    "the answer to another request",
    (response, id) => response.writeHead(200, { "content-type": "application/json" }).end(foreign(id)),
  ],
  ["an empty list", (response) => response.writeHead(200, { "content-type": "application/json" }).end("[]")],
  ["that it accepts the call", (response) => response.writeHead(202).end()],
];

test.each(answers)(
  "★ TB-24: a server that answers a call with %s leaves its outcome unknown at once, not at its deadline",
  async (_, answer) => {
    const server = await serverOf({
      tools: () => [textTool("look")],
      call: () => textResult("never asked"),
      before: ({ rpc, id }, response) => {
        if (rpc !== "tools/call") return false;
        answer(response, id);
        return true;
      },
    });
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}", protocol: "2025" }`],
      toolboxes: "[sea]",
      turns: [[["sea__look", {}]], ["Done."]],
      hosts: [server.host],
    });
    await say(bench);
    expect(eventsOf(bench, "tool_call_end")).toHaveLength(1);
    expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "unknown" });
    expect(server.methods().filter((method) => method === "tools/call")).toHaveLength(1);
  },
);

test("TB-25: a list whose stream ends without it fails at once, not at its deadline", async () => {
  for (const protocol of ["2025", "2026"]) {
    const server = await serverOf({
      tools: () => [textTool("look")],
      call: () => textResult("never asked"),
      before: ({ rpc }, response) => {
        if (rpc !== "tools/list") return false;
        response.writeHead(200, { "content-type": "text/event-stream" }).end("data: hello\n\n");
        return true;
      },
    });
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}", protocol: "${protocol}" }`],
      toolboxes: "[sea]",
      turns: [["Done."]],
      hosts: [server.host],
    });
    await say(bench);
    expect(lastEvent(bench, "mcp_status")).toMatchObject({
      state: "failed",
      error: "the answer was cut off",
    });
  }
});

test.each(answers.slice(1))(
  "TB-25: a handshake that is answered with %s fails at once, not at its deadline",
  async (_, answer) => {
    for (const [protocol, first] of [
      ["2025", "initialize"],
      ["2026", "server/discover"],
    ]) {
      const server = await serverOf({
        tools: () => [textTool("look")],
        call: () => textResult("never asked"),
        before: ({ rpc, id }, response) => {
          if (rpc !== first) return false;
          answer(response, id);
          return true;
        },
      });
      const bench = await servedBench({
        servers: [`{ name: sea, url: "${server.url}", protocol: "${protocol}" }`],
        toolboxes: "[sea]",
        turns: [["Done."]],
        hosts: [server.host],
      });
      await say(bench);
      expect(server.methods()[0]).toBe(first);
      expect(lastEvent(bench, "mcp_status")).toMatchObject({
        state: "failed",
        error: expect.stringMatching(/what answered does not speak MCP: it sent |the server did not offer /),
      });
    }
  },
);

const canary = "canary-token-0001-of-the-sea";

const page = `<!doctype html>\n<title>Sign in to Harbour Wifi</title>\u0007${canary}`;

const shownPage = "<!doctype html> <title>Sign in to Harbour Wifi</title>[secret:SEA_TOKEN]";

test.each([
  ["text/html; charset=utf-8", page, `text/html; charset=utf-8, beginning with ${shownPage}`],
  ["application/json", page, `application/json, beginning with ${shownPage}`],
  ["application/json", '{"error":"pay"}', 'application/json, beginning with {"error":"pay"}'],
  ["text/plain", "", "text/plain, and nothing in it"],
])(
  "★ TB-24 TB-25: an answer of %s that is no MCP message is told as such, and no call is sent again",
  async (type, body, told) => {
    const because = `what answered does not speak MCP: it sent ${told}`;
    for (const [trust, status, output] of [
      [false, "unknown", `unknown: ${because}, so the call may or may not have taken effect.`],
      [true, "error", `unavailable: the MCP server sea cannot be used now: ${because}; go on`],
    ] as const) {
      const server = await serverOf({
        tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
        call: () => textResult("never asked"),
        before: ({ rpc }, response) => {
          if (rpc === "tools/call") response.writeHead(200, { "content-type": type }).end(body);
          return rpc === "tools/call";
        },
      });
      const bench = await servedBench({
        servers: [
          `{ name: sea, url: "${server.url}", trust: ${trust}, headers: { Authorization: "Bearer \${SEA_TOKEN}" } }`,
        ],
        toolboxes: "[sea]",
        turns: [[["sea__look", {}]], ["Done."]],
        hosts: [server.host],
        env: { SEA_TOKEN: canary },
      });
      await say(bench);
      expect(lastEvent(bench, "tool_call_end")).toMatchObject({
        outcome: status,
        output: expect.stringContaining(output),
      });
      expect(lastEvent(bench, "mcp_status")).toMatchObject({ state: "failed", error: because });
      expect(server.methods().filter((method) => method === "tools/call")).toHaveLength(1);
    }
  },
);

test("TB-26: calls that overlap in one session tell their progress by tokens of their own", async () => {
  const server = await serverOf({
    session: "one",
    tools: () => [textTool("look")],
    call: async (_, __, { mcpReq }) => {
      const progressToken = mcpReq["_meta"]?.progressToken;
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress: 1, total: 2 },
        });
      return textResult("seen");
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", protocol: "2025" }`],
    toolboxes: "[sea]",
    turns: [
      [
        ["sea__look", {}],
        ["sea__look", {}],
      ],
      ["Done."],
    ],
    hosts: [server.host],
  });
  await say(bench);
  const tokens = server.seen
    .filter(({ rpc }) => rpc === "tools/call")
    .map(({ params }) => (params["_meta"] as { readonly progressToken: unknown }).progressToken);
  expect(tokens).toHaveLength(2);
  expect(new Set(tokens).size).toBe(2);
  const shown = bench.deltas.map((delta) => delta.data);
  expect(shown.filter((text) => text === "1/2\n")).toHaveLength(2);
});

test("★ TB-25: a call that is repeated since its answer was cut off stays in its session", async () => {
  let calls = 0;
  const server = await serverOf({
    session: "one",
    tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
    call: () => textResult("seen"),
    before: ({ rpc }, response) => {
      if (rpc !== "tools/call" || ++calls > 1) return false;
      response.writeHead(200, { "content-type": "text/event-stream" }).end();
      return true;
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", protocol: "2025", trust: true }`],
    toolboxes: "[sea]",
    turns: [[["sea__look", {}]], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "ok", output: "seen" });
  expect(server.methods().filter((method) => method === "tools/call")).toHaveLength(2);
  expect(server.methods().filter((method) => method === "initialize")).toHaveLength(1);
});

const nested = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;

/** A session whose server of the 2026 revision answers one kind of request with these fields. */
const benchAnswering = async (method: string, fields: string) => {
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: ({ rpc, id }, response) => {
      if (rpc !== method) return false;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete",${fields}}}`,
      );
      return true;
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[["sea__look", {}]], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  return bench;
};

test.each([
  ["at any length", `"instructions":"${"x".repeat(900_000)}"`],
  ["at any depth", `"_meta":${nested}`],
])("★ TB-25 RE-T21: a server that describes itself %s fills no row and stops no run", async (_, more) => {
  const described = `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},${more}`;
  const bench = await benchAnswering("server/discover", described);
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "ok", output: "seen" });
  expect(JSON.stringify(bench.state().serverLinks).length).toBeLessThan(1_000);
});

test("TB-26 RE-T21: an answer that is too deep to be read says that the call was made", async () => {
  const bench = await benchAnswering("tools/call", `"content":[],"structuredContent":${nested}`);
  expect(lastEvent(bench, "tool_call_end")["output"]).toMatch(
    /^failed: the server's answer cannot be read; the call was/,
  );
});
