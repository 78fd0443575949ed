import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { inputRequired, ProtocolError } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { mcp } from "../../../src/toolboxes/mcp/index.ts";
import type { McpEndpoint } from "../../../src/toolboxes/mcp/port.ts";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import type { McpServerOptions } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { serverOf, servedBench } from "./support.ts";

/** What a server refuses, answers wrongly or answers at length, and what a session makes of it. */

const token = "canary-token-0001-of-the-sea";

/** A session that calls `sea__look` once for each list of options. */
const looking = async (
  options: Partial<McpServerOptions>,
  { keys = "", runs = 1 }: { readonly keys?: string; readonly runs?: number } = {},
) => {
  const server = await serverOf({
    tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
    call: () => textResult("seen"),
    ...options,
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}"${keys} }`],
    toolboxes: "[sea]",
    turns: Array.from({ length: runs }, () => [[["sea__look", {}] as const], ["Done."]]).flat(),
    hosts: [server.host],
    env: { SEA_TOKEN: token },
  });
  return { server, bench };
};

const output = (bench: Bench): unknown => lastEvent(bench, "tool_call_end")["output"];

const told = (bench: Bench): string =>
  JSON.stringify([bench.lines(), bench.requests, bench.logs, bench.rows("threads")]);

const withToken = ', headers: { Authorization: "Bearer ${SEA_TOKEN}" }';

test("TB-18: a server that repeats its token where a text is cut gives away no part of it: errors, lists, descriptions", async () => {
  const part = token.slice(0, 12);
  const refusing = await looking(
    {
      call: () => {
        throw new ProtocolError(-32_000, `${"x".repeat(3_985)}${token}`);
      },
    },
    { keys: withToken },
  );
  await say(refusing.bench);
  expect(eventsOf(refusing.bench, "tool_call_end")).toHaveLength(1);
  expect(told(refusing.bench)).not.toContain(part);
  const failing = await looking(
    {
      tools: () => {
        throw new ProtocolError(-32_000, `${"x".repeat(285)}${token}`);
      },
    },
    { keys: withToken },
  );
  await say(failing.bench);
  expect(lastEvent(failing.bench, "mcp_status")).toMatchObject({ state: "failed" });
  expect(told(failing.bench)).not.toContain(part);
  const describing = await looking(
    { tools: () => [textTool("look", { description: `${"x".repeat(1_010)}${token}` })] },
    { keys: withToken },
  );
  await say(describing.bench);
  expect(output(describing.bench)).toBe("seen");
  expect(told(describing.bench)).not.toContain(part);
});

test("TB-25: a status that refuses one call pauses no server; one that fails does", async () => {
  for (const [status, pauses] of [
    [400, false],
    [403, false],
    [413, false],
    [422, false],
    [429, false],
    [503, true],
  ] as const) {
    let refuses = true;
    const { bench } = await looking(
      {
        before: ({ rpc }, response) => {
          if (rpc !== "tools/call" || !refuses) return false;
          response.writeHead(status).end();
          return true;
        },
      },
      { runs: 2 },
    );
    await say(bench);
    if (!pauses) expect(output(bench)).toBe(`failed: the server refused this call: it answered ${status}`);
    refuses = false;
    await say(bench, "Again");
    expect([status, output(bench)]).toEqual([
      status,
      pauses ? expect.stringMatching(/^unavailable: /) : "seen",
    ]);
  }
});

test("TB-25: a tool that a server forbids costs no other tool: its call ends with an error, also where no wider scope can be had", async () => {
  for (const challenge of ["Bearer", 'Bearer error="insufficient_scope", scope="sea:write"']) {
    const server = await serverOf({
      tools: () => ["look", "keep"].map((name) => textTool(name)),
      call: (name) => textResult(`${name} done`),
      before: ({ rpc, params }, response) => {
        const forbids = rpc === "tools/call" && params["name"] === "keep";
        if (forbids) response.writeHead(403, { "www-authenticate": challenge }).end();
        return forbids;
      },
    });
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}" }`],
      toolboxes: "[sea]",
      turns: [[["sea__keep", {}]], [["sea__look", {}]], ["Done."]],
      hosts: [server.host],
    });
    await say(bench);
    expect(eventsOf(bench, "tool_call_end").map(({ output: each }) => each)).toEqual([
      "failed: the server refused this call: it answered 403",
      "look done",
    ]);
    expect(eventsOf(bench, "mcp_status").map(({ state }) => state)).toEqual(["connected"]);
  }
});

test("TB-25: a server that wants other credentials for a call is not asked again at once", async () => {
  const { bench } = await looking(
    {
      before: ({ rpc }, response) => {
        if (rpc === "tools/call") response.writeHead(401).end();
        return rpc === "tools/call";
      },
    },
    { runs: 2 },
  );
  await say(bench);
  expect(output(bench)).toMatch(/^unavailable: .*refused the credentials/);
  await say(bench, "Again");
  expect(output(bench)).toMatch(/asked again in 30 s/);
});

test("TB-25: a status by which an edge says that it did not reach the server leaves no doubt: the call was not made", async () => {
  for (const [status, reached] of [
    [521, false],
    [523, false],
    [525, false],
    [526, false],
    [530, false],
    [502, true],
    [520, true],
    [522, true],
    [524, true],
  ] as const) {
    const { bench } = await looking({
      before: ({ rpc }, response) => {
        if (rpc === "tools/call") response.writeHead(status).end();
        return rpc === "tools/call";
      },
    });
    await say(bench);
    expect([status, output(bench)]).toEqual([
      status,
      expect.stringMatching(reached ? /^unknown: / : /^unavailable: /),
    ]);
  }
});

test("TB-24: a call that the platform does not send, since its session sent too many requests, was not made", async () => {
  const { bench, server } = await looking({});
  const network = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation((input, init) =>
    typeof init?.body === "string" && init.body.includes('"tools/call"')
      ? Promise.reject(new Error("Too many subrequests by single Worker invocation."))
      : network(input, init),
  );
  await say(bench);
  vi.restoreAllMocks();
  expect(output(bench)).toMatch(/^unavailable: .*the platform permits no more requests for now/);
  expect(server.methods()).not.toContain("tools/call");
});

test("TB-21: protocol 2026 asks no server by the older transport, whatever it answers", async () => {
  for (const protocol of ["auto", "2026"]) {
    const { server, bench } = await looking(
      {
        before: (_seen, response) => {
          response.writeHead(404).end();
          return true;
        },
      },
      { keys: `, protocol: "${protocol}"` },
    );
    await say(bench);
    expect(lastEvent(bench, "mcp_status")).toMatchObject({ state: "failed" });
    expect([protocol, server.seen.some(({ http }) => http === "GET")]).toEqual([
      protocol,
      protocol === "auto",
    ]);
    expect([protocol, server.methods().includes("initialize")]).toEqual([protocol, protocol === "auto"]);
  }
});

test("TB-24 TB-26: an answer that is no result was an answer: the outcome is known, and a trusted read is not sent twice", async () => {
  for (const trust of [false, true]) {
    const { server, bench } = await looking(
      {
        before: ({ rpc, id }, response) => {
          if (rpc !== "tools/call") return false;
          response.writeHead(200, { "content-type": "application/json" });
          response.end(
            JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", content: 7 } }),
          );
          return true;
        },
      },
      { keys: `, trust: ${trust}` },
    );
    await say(bench);
    expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "error" });
    expect(output(bench)).toMatch(/^failed: the server's answer cannot be read; the call was made/);
    expect(server.methods().filter((method) => method === "tools/call")).toHaveLength(1);
  }
});

test("TB-26: more than ten questions at once are asked of nobody", async () => {
  for (const count of [10, 11]) {
    const ask = inputRequired.elicit({
      message: "Really?",
      requestedSchema: { type: "object", properties: {} },
    } as never);
    const { bench } = await looking({
      call: () =>
        inputRequired({
          requestState: "state",
          inputRequests: Object.fromEntries(Array.from({ length: count }, (_, index) => [`q${index}`, ask])),
        }),
    });
    await say(bench);
    expect([count, eventsOf(bench, "ask_user").length]).toEqual([count, count === 10 ? 1 : 0]);
  }
});

test("TB-22 RE-T21: the pages of one list have 8 MiB in all; a server with more is not used", async () => {
  const { server, bench } = await looking({
    tools: () =>
      Array.from({ length: 40 }, (_, index) =>
        textTool(`look${index}`, { description: "x".repeat(900_000) }),
      ),
    pageSize: 1,
  });
  await say(bench);
  expect(lastEvent(bench, "mcp_status")).toMatchObject({
    state: "failed",
    error: expect.stringContaining("8 MiB") as string,
  });
  expect(server.methods().filter((method) => method === "tools/list").length).toBeLessThan(12);
});

test("TB-21: no header of the team's file follows a redirect to another origin, be it a reference or not", async () => {
  const strange: string[] = [];
  const other = createServer((request, response) => {
    strange.push(JSON.stringify(request.headers));
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const elsewhere = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  const server = await serverOf({
    tools: () => [],
    call: () => textResult(""),
    before: (_seen, response) => {
      response.writeHead(307, { location: `http://${elsewhere}/mcp` }).end();
      return true;
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", headers: { X-Crew: blue-whale } }`],
    toolboxes: "[sea]",
    turns: [["Done."]],
    hosts: [server.host, elsewhere],
  });
  await say(bench);
  expect(server.seen[0]?.headers["x-crew"]).toBe("blue-whale");
  expect(strange.length).toBeGreaterThan(0);
  expect(strange.join()).not.toContain("blue-whale");
});

test("TB-25: the end of a server's session is not waited for without end", async () => {
  const deadline = new AbortController();
  const limit = vi.spyOn(AbortSignal, "timeout").mockReturnValue(deadline.signal);
  onTestFinished(() => limit.mockRestore());
  const asked = Promise.withResolvers<void>();
  const endpoint: McpEndpoint = {
    url: "http://sea.example/mcp",
    place: "here",
    transport: "streamable_http",
    protocol: "2025",
    redact: (value) => value,
    keep: null,
    authorize: null,
    send: (_address, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new Error("aborted")));
        asked.resolve();
      }),
  };
  const connection = { place: "here", transport: "streamable_http", era: "legacy", session: "s1" };
  const ended = mcp.end(endpoint, connection, new AbortController().signal);
  await asked.promise;
  deadline.abort();
  await expect(ended).rejects.toThrow("aborted");
});

test("TB-25: of a connection only the id of a session is kept for its end", () => {
  const legacy = {
    place: "here",
    transport: "streamable_http",
    era: "legacy",
    session: "s1",
    version: "2025-06-18",
  };
  expect(mcp.sessionOf({ ...legacy, more: "x".repeat(1_000_000) })).toEqual(legacy);
  expect(mcp.sessionOf({ ...legacy, session: "" })).toBeNull();
  expect(mcp.sessionOf({ ...legacy, session: "x".repeat(5_000) })).toBeNull();
  const modern = {
    place: "here",
    transport: "streamable_http",
    era: "modern",
    discover: { text: "x".repeat(1_000_000) },
  };
  expect(mcp.sessionOf(modern)).toBeNull();
  expect(mcp.sessionOf(null)).toBeNull();
});
