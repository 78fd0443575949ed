import type { ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { serverOf, servedBench } from "./support.ts";

/** Answers as servers of many makes give them: with fields that are null, and with errors under statuses of HTTP. */

interface Answer {
  readonly rpc: string;
  readonly status?: number;
  readonly body: object;
}

/** What two calls of a tool came to where a server answers one kind of request so; how often it was called. */
const callTwice = async ({ rpc, status = 200, body }: Answer, protocol = "2025") => {
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: (seen, response: ServerResponse) => {
      if (seen.rpc !== rpc) return false;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: seen.id, ...body }));
      return true;
    },
  });
  const call = ["sea__look", {}] as const;
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", protocol: "${protocol}" }`],
    toolboxes: "[sea]",
    turns: [[call], [call], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  return {
    outputs: eventsOf(bench, "tool_call_end").map((event) => (event as { readonly output: unknown }).output),
    calls: server.seen.filter((seen) => seen.rpc === "tools/call").length,
  };
};

test("TB-22: a list whose cursor is null is whole", async () => {
  const body = { result: { tools: [textTool("look")], nextCursor: null } };
  expect(await callTwice({ rpc: "tools/list", body })).toEqual({ outputs: ["seen", "seen"], calls: 2 });
});

test("TB-26: fields that are null are fields that are not there", async () => {
  const content = [{ type: "text", text: "hello", annotations: null, _meta: null }];
  const body = { result: { content, isError: null, structuredContent: null } };
  expect(await callTwice({ rpc: "tools/call", body })).toEqual({ outputs: ["hello", "hello"], calls: 2 });
});

test("TB-22: nulls in the handshake are fields that are not there", async () => {
  const serverInfo = { name: "sea", version: "1", title: null, websiteUrl: null };
  const capabilities = { tools: { listChanged: null }, prompts: null };
  const body = { result: { protocolVersion: "2025-06-18", capabilities, serverInfo, instructions: null } };
  expect(await callTwice({ rpc: "initialize", body })).toEqual({ outputs: ["seen", "seen"], calls: 2 });
});

test("TB-26: content of an unknown kind is named beside the rest", async () => {
  const content = [
    { type: "text", text: "hello" },
    { type: "hologram", data: "x" },
  ];
  const body = { result: { content } };
  const text = "hello\n[content of the unknown kind hologram was omitted]";
  expect(await callTwice({ rpc: "tools/call", body })).toEqual({ outputs: [text, text], calls: 2 });
});

test("TB-26: structured content is shown where the text beside it is blank, with its nulls", async () => {
  const result = {
    content: [{ type: "text", text: " " }],
    structuredContent: { rows: [1, null], next: null },
  };
  const { outputs } = await callTwice({ rpc: "tools/call", body: { result } });
  expect(outputs[0]).toContain('{"rows":[1,null],"next":null}');
});

test.each(["2025", "2026"])(
  "TB-25 RE-P5: ★ in %s a tool's error under a status of HTTP is its answer, told in its words, and the call is made once",
  async (protocol) => {
    const error = { code: -32000, message: "mail sent to 2 of 3" };
    for (const status of [400, 422, 500]) {
      const told = await callTwice({ rpc: "tools/call", status, body: { error } }, protocol);
      expect(told, String(status)).toEqual({
        outputs: ["failed: mail sent to 2 of 3", "failed: mail sent to 2 of 3"],
        calls: 2,
      });
    }
  },
);

test.each(["2025", "2026"])(
  "★ TB-26: in %s an answer is taken whose fields are null, whose id is missing or a text, whose error has another shape",
  async (protocol) => {
    const text = { type: "text", text: "hello" };
    const result = { resultType: "complete", content: [text] };
    const error = { code: -32600, message: "this sea is closed" };
    const closed = "failed: this sea is closed";
    for (const [body, output] of [
      [{ result, error: null }, "hello"],
      [{ id: null, result, method: null }, "hello"],
      [{ result: null, error }, closed],
      [{ id: null, error }, closed],
      [{ id: undefined, error }, closed],
      [{ error: error.message }, closed],
      [{ error: { ...error, code: "CLOSED" } }, closed],
      [{ error: { code: -1 } }, 'failed: {"code":-1}'],
      [{ result, error: "" }, "hello"],
      [{ result, error: [] }, "hello"],
      [{ result, error: {} }, "hello"],
    ] as const)
      expect(await callTwice({ rpc: "tools/call", body }, protocol)).toEqual({
        outputs: [output, output],
        calls: 2,
      });
  },
);

test("★ TB-22: a handshake whose answer has an error that is null, and the id of its request as a text, is one", async () => {
  const serverInfo = { name: "sea", version: "1" };
  const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
  for (const body of [
    { result, error: null },
    { result, id: "0" },
  ])
    expect(await callTwice({ rpc: "initialize", body })).toEqual({ outputs: ["seen", "seen"], calls: 2 });
});

test("TB-21 TB-25: a server that no longer knows the revision is greeted anew once, by the one that it knows", async () => {
  let isOlder = false;
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => {
      isOlder = true;
      return textResult("seen");
    },
    before: ({ id, headers }, response: ServerResponse) => {
      const requested = "2026-07-28";
      if (!isOlder || headers["mcp-protocol-version"] !== requested) return false;
      const data = { supported: ["2025-11-25"], requested };
      const error = { code: -32022, message: "Unsupported protocol version", data };
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return true;
    },
  });
  const call = ["sea__look", {}] as const;
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[call], [call], [call], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  expect(eventsOf(bench, "tool_call_end").map(({ output }) => output)).toEqual(["seen", "seen", "seen"]);
  expect(server.methods().filter((method) => method === "initialize")).toHaveLength(1);
});

/** What two calls in a session came to where the second is answered with an error; how often each request was made. */
const refuseSecondCall = async (
  status: number,
  error: { readonly code: number; readonly message: string },
) => {
  let calls = 0;
  const server = await serverOf({
    session: "one",
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: (seen, response: ServerResponse) => {
      if (seen.rpc !== "tools/call" || ++calls !== 2) return false;
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: seen.id, error }));
      return true;
    },
  });
  const call = ["sea__look", {}] as const;
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", protocol: "2025" }`],
    toolboxes: "[sea]",
    turns: [[call], [call], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  const begun = server.methods().filter((method) => method === "initialize").length;
  return { outputs: eventsOf(bench, "tool_call_end").map(({ output }) => String(output)), calls, begun };
};

test("TB-25: a session that is over, told under 400 with the call's id, is begun anew once", async () => {
  const error = { code: -32000, message: "Bad Request: session not found" };
  expect(await refuseSecondCall(400, error)).toEqual({ outputs: ["seen", "seen"], calls: 3, begun: 2 });
});

test("★ TB-25: a tool's error that speaks of a session is its answer: the call is not made twice, the session goes on", async () => {
  for (const [code, message, output] of [
    [-32603, "Session 42 not found", "failed: Session 42 not found"],
    [-32001, "Session not found", "failed: Session not found"],
    [-32602, "Invalid session: none", "invalid_arguments: Invalid session: none"],
  ] as const)
    expect(await refuseSecondCall(200, { code, message })).toEqual({
      outputs: ["seen", output],
      calls: 2,
      begun: 1,
    });
});

test("RE-T21: of a server's flood of requests in an answer a bounded number is answered", async () => {
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: ({ rpc, id }, response) => {
      if (rpc !== "tools/call") return false;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const pings = Array.from({ length: 400 }, (_, at) => ({ id: `ping-${at}`, method: "ping" }));
      for (const message of [...pings, { id, result: textResult("seen") }])
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      response.end();
      return true;
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", protocol: "2025" }`],
    toolboxes: "[sea]",
    turns: [[["sea__look", {}]], ["Done."]],
    hosts: [server.host],
  });
  const sent = vi.spyOn(globalThis, "fetch");
  await say(bench);
  const bodies = sent.mock.calls.map(([, init]) => (typeof init?.body === "string" ? init.body : ""));
  const replies = bodies.filter((body) => body.includes('"result":{}'));
  vi.restoreAllMocks();
  expect(lastEvent(bench, "tool_call_end")["output"]).toBe("seen");
  expect(replies).toHaveLength(200);
});

test("TB-26: questions that nest too deep to be kept say that the call was made", async () => {
  let requestedSchema: object = { type: "object" };
  for (let level = 0; level < 1_500; level++) requestedSchema = { properties: { deeper: requestedSchema } };
  const params = { mode: "form", message: "Where to?", requestedSchema };
  const inputRequests = { ask: { method: "elicitation/create", params } };
  const body = { result: { resultType: "input_required", requestState: "state", inputRequests } };
  const unreadable = expect.stringMatching(/^failed: the server's answer cannot be read; the call was made/);
  expect(await callTwice({ rpc: "tools/call", body }, "2026")).toEqual({
    outputs: [unreadable, unreadable],
    calls: 2,
  });
});

test("TB-25: what the library expected of an answer is not told, only of which request it was", async () => {
  for (const [rpc, result] of [
    ["initialize", { protocolVersion: "2025-06-18" }],
    ["tools/list", { tools: {} }],
  ] as const) {
    const server = await serverOf({
      tools: () => [],
      call: () => textResult(""),
      before: (seen, response) => {
        if (seen.rpc !== rpc) return false;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: seen.id, result }));
        return true;
      },
    });
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}", protocol: "2025" }`],
      toolboxes: "[sea]",
      turns: [["Done."]],
      hosts: [server.host],
    });
    await say(bench);
    expect(lastEvent(bench, "mcp_status")["error"]).toBe(
      `the server's answer cannot be read: Invalid result for ${rpc}`,
    );
  }
});
