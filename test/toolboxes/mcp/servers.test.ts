import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Tool } from "@modelcontextprotocol/server";
import { inputRequired } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import { createEngine } from "../../../src/engine/create.ts";
import type { Bench } from "../../support/bench.ts";
import { coder, lead, mission, spawn, task, writer } from "../../support/crew.ts";
import { createLogLine } from "../../../src/tools/log-line.ts";
import { createRedactor } from "../../../src/tools/redaction.ts";
import { checkInvariants } from "../../support/invariants.ts";
import type { SeenRequest, TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";
import { replies, said, scripted } from "../../support/scripts.ts";
import { engineOptions, teamOf } from "../../support/teams.ts";
import { serverOf, servedBench } from "./support.ts";

/** What a session keeps of its MCP servers, and what it does when one cannot be used. */

const callOf = (name: string): readonly [string, object] => [name, {}];

/** A session that calls `sea__look` in each of so many runs. */
const lookingBench = (
  server: Pick<TestMcpServer, "url" | "host">,
  runs: number,
  more: Partial<Parameters<typeof servedBench>[0]> & { readonly keys?: string } = {},
): Promise<Bench> =>
  servedBench({
    servers: [`{ name: sea, url: "${server.url}"${more.keys ?? ""} }`],
    toolboxes: "[sea]",
    turns: Array.from({ length: runs }, () => [[callOf("sea__look")], ["Done."]] as const).flat(),
    hosts: [server.host],
    ...more,
  });

const lookServer = (): Promise<TestMcpServer> =>
  serverOf({ tools: () => [textTool("look")], call: () => textResult("seen") });

const declared = (bench: Bench): readonly string[] =>
  (bench.requests.at(-1)?.tools ?? []).map(({ name }) => name).filter((name) => name.includes("__"));

test("TB-25: waking needs no handshake: after a crash a call is the only request; after an hour the list is fetched again", async () => {
  const server = await lookServer();
  const bench = await lookingBench(server, 3);
  await say(bench);
  const first = server.seen.length;
  expect(server.methods()).toEqual(["server/discover", "tools/list", "tools/call"]);
  bench.crash();
  await say(bench, "Again");
  expect(server.methods().slice(first)).toEqual(["tools/call"]);
  await bench.pass(3_600_000);
  await say(bench, "Later");
  expect(server.methods().slice(first + 1)).toEqual(["server/discover", "tools/list", "tools/call"]);
  expect(server.seen.map(({ http }) => http)).not.toContain("GET");
});

test("TB-25: the same for a 2025 server: one greeting, then calls alone", async () => {
  const server = await lookServer();
  const bench = await lookingBench(server, 2, { keys: ', protocol: "2025"' });
  await say(bench);
  bench.crash();
  await say(bench, "Again");
  expect(server.methods()).toEqual([
    "initialize",
    "notifications/initialized",
    "tools/list",
    "tools/call",
    "tools/call",
  ]);
  expect(server.seen.map(({ http }) => http)).not.toContain("GET");
});

test("TB-4 TB-25: a list that changes is declared from the next run on, and never within one", async () => {
  let tools = [textTool("look")];
  const server = await serverOf({
    tools: () => tools,
    call: async (_name, _args, { mcpReq }) => {
      tools = [textTool("look"), textTool("more")];
      await mcpReq.notify({ method: "notifications/tools/list_changed" });
      return textResult("seen");
    },
  });
  const bench = await lookingBench(server, 2, { keys: ", new_tools: allow" });
  await say(bench);
  expect(bench.requests.map(({ tools: each }) => each.length)).toEqual([
    bench.requests[0]?.tools.length,
    bench.requests[0]?.tools.length,
  ]);
  expect(declared(bench)).toEqual(["sea__look"]);
  await say(bench, "Again");
  expect(declared(bench)).toEqual(["sea__look", "sea__more"]);
});

test("★ TB-25: a list that changes beside a question of the server is fetched before the next run", async () => {
  let tools = [textTool("look")];
  const server = await serverOf({
    tools: () => tools,
    call: async (_name, _args, { mcpReq }) => {
      if (mcpReq.inputResponses !== undefined) return textResult("seen");
      tools = [textTool("look"), textTool("more")];
      await mcpReq.notify({ method: "notifications/tools/list_changed" });
      const requestedSchema = { type: "object", properties: {} };
      const ask = inputRequired.elicit({ message: "Really?", requestedSchema } as never);
      return inputRequired({ requestState: "s", inputRequests: { ask } });
    },
  });
  const bench = await lookingBench(server, 2, { keys: ", new_tools: allow" });
  await say(bench);
  const { id } = lastEvent(bench, "ask_user")["ask"] as { readonly id: string };
  bench.ok("answer", { ask: id, decision: "answer", text: "accept" });
  await bench.idle();
  expect(lastEvent(bench, "tool_call_end")["output"]).toBe("seen");
  await say(bench, "Again");
  expect(declared(bench)).toEqual(["sea__look", "sea__more"]);
});

test("★ TB-25: one of two servers down: the session works with the other, and says once which is missing", async () => {
  const server = await lookServer();
  const dead = await lookServer();
  await dead.close();
  const bench = await lookingBench(server, 2, {
    servers: [`{ name: gone, url: "${dead.url}" }`, `{ name: sea, url: "${server.url}" }`],
    toolboxes: "[gone, sea]",
    hosts: [server.host, dead.host],
  });
  await say(bench);
  await say(bench, "Again");
  expect(eventsOf(bench, "tool_call_end").map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  expect(eventsOf(bench, "mcp_status").map(({ server: name, state }) => [name, state])).toEqual([
    ["gone", "failed"],
    ["sea", "connected"],
  ]);
  expect(eventsOf(bench, "mcp_status")[0]?.["error"]).toBe(
    `unreachable: the connection to ${dead.host} failed; check the address, or try later`,
  );
});

test("TB-25: a server that dies: its cached tools answer unavailable without a request for 30 s, then it is asked again", async () => {
  let isDown = false;
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: (_seen, response) => {
      if (isDown) response.writeHead(404).end();
      return isDown;
    },
  });
  const bench = await lookingBench(server, 4);
  await say(bench);
  isDown = true;
  await say(bench, "Down");
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "error" });
  expect(lastEvent(bench, "tool_call_end")["output"]).toMatch(/^unavailable: the MCP server sea /);
  const before = server.seen.length;
  await say(bench, "Still down");
  expect(server.seen).toHaveLength(before);
  expect(lastEvent(bench, "tool_call_end")["output"]).toMatch(/asked again in 30 s/);
  isDown = false;
  await bench.pass(30_000);
  await say(bench, "Up");
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "ok" });
  expect(eventsOf(bench, "mcp_status").map(({ state }) => state)).toEqual([
    "connected",
    "failed",
    "connected",
  ]);
});

type Life = "silent" | "progress" | "ping";

/** Returns the message by which a server that works on a call shows life. */
const lifeOf = (life: Life, { params }: Pick<SeenRequest, "params">): object => {
  if (life === "ping") return { id: "p1", method: "ping" };
  const { progressToken } = params["_meta"] as { readonly progressToken: unknown };
  return { method: "notifications/progress", params: { progressToken, progress: 1 } };
};

/** What two runs came to whose first call the server lets time out, though its answer may have begun. */
const timeOut = async (keys: string, life: Life) => {
  let calls = 0;
  let pongs = 0;
  const server = await serverOf({
    tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
    call: () => textResult("seen"),
    before: (seen, response) => {
      if (seen.id === "p1") pongs += 1;
      if (seen.rpc !== "tools/call" || ++calls > 1) return false;
      const event = `data: ${JSON.stringify({ jsonrpc: "2.0", ...lifeOf(life, seen) })}\n\n`;
      if (life !== "silent") response.writeHead(200, { "content-type": "text/event-stream" }).write(event);
      return true;
    },
  });
  const bench = await lookingBench(server, 2, { keys });
  bench.send("Go");
  const lives = () => (life === "ping" ? pongs : bench.deltas.filter(({ data }) => data === "1\n").length);
  await expect.poll(() => [calls, lives()]).toEqual([1, life === "silent" ? 0 : 1]);
  await bench.tick(60_000);
  await bench.idle();
  const { outcome } = lastEvent(bench, "tool_call_end");
  await say(bench, "Again");
  const { output } = lastEvent(bench, "tool_call_end");
  const states = eventsOf(bench, "mcp_status").map(({ state }) => state);
  return { calls, outcome, output: String(output).slice(0, 11), states };
};

test("★ TB-25: a server that accepts a call and never answers is paused, so that the next run does not wait for it again", async () => {
  const paused = { calls: 1, output: "unavailable", states: ["connected", "failed"] };
  expect(await timeOut("", "silent")).toEqual({ ...paused, outcome: "unknown" });
  expect(await timeOut(", trust: true", "silent")).toEqual({ ...paused, outcome: "error" });
});

test("TB-25: a server that has begun to answer is slow, not dead: a call that times out pauses nothing", async () => {
  const used = { calls: 2, outcome: "unknown", output: "seen", states: ["connected"] };
  expect(await timeOut("", "progress")).toEqual(used);
  expect(await timeOut(', protocol: "2025"', "ping")).toEqual(used);
});

/** A server of the older transport that answers no call. */
const startSilentSse = async (life: Life) => {
  const seen: string[] = [];
  let stream: ServerResponse | null = null;
  const tell = (message: object): void =>
    void stream?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  const answer = (body: string): void => {
    const { id, method, params } = JSON.parse(body) as SeenRequest & { readonly method?: string };
    seen.push(method ?? "an answer");
    const serverInfo = { name: "old", version: "1" };
    if (method === "initialize")
      tell({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
    if (method === "tools/list") tell({ id, result: { tools: [textTool("look")] } });
    if (method === "tools/call" && life !== "silent") tell(lifeOf(life, { params }));
  };
  const http = createServer((request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write("event: endpoint\ndata: /messages\n\n");
      return;
    }
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      response.writeHead(202).end(() => answer(Buffer.concat(pieces).toString()));
    });
  });
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  return { url: `http://${host}/sse`, host, seen };
};

test.each(["silent", "progress", "ping"] as const)(
  "TB-25: a server of the older transport that accepts a call and is silent is paused, one that shows life is not: %s",
  async (life) => {
    const server = await startSilentSse(life);
    const bench = await lookingBench(server, 1, { keys: ", transport: sse" });
    bench.send("Go");
    await expect.poll(() => server.seen).toContain(life === "ping" ? "an answer" : "tools/call");
    await expect.poll(() => bench.deltas.some(({ data }) => data === "1\n")).toBe(life === "progress");
    await bench.tick(60_000);
    await bench.idle();
    expect(lastEvent(bench, "tool_call_end")["outcome"]).toBe("unknown");
    expect(lastEvent(bench, "mcp_status")["state"]).toBe(life === "silent" ? "failed" : "connected");
  },
);

test("TB-25: calls that fail together are one failure of their server: it is asked again after 30 s", async () => {
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: ({ rpc }, response) => {
      if (rpc === "tools/call") response.writeHead(503).end();
      return rpc === "tools/call";
    },
  });
  const looks = (count: number) => Array.from({ length: count }, () => ["sea__look", {}] as const);
  const bench = await lookingBench(server, 0, { turns: [looks(5), looks(1), ["Done."]] });
  await say(bench);
  expect(lastEvent(bench, "tool_call_end")["output"]).toMatch(/asked again in 30 s/);
});

test("TB-25: a server that never answered is asked again after 30 s, then after twice as long, and not by runs before", async () => {
  const server = await serverOf({
    tools: () => [],
    call: () => textResult(""),
    before: (_seen, response) => {
      response.writeHead(503).end();
      return true;
    },
  });
  const bench = await lookingBench(server, 0, { turns: Array.from({ length: 5 }, () => ["Done."]) });
  const asked: boolean[] = [];
  for (const pause of [0, 29_999, 1, 59_999, 1]) {
    await bench.pass(pause);
    const before = server.seen.length;
    await say(bench);
    asked.push(server.seen.length > before);
  }
  expect(asked).toEqual([true, false, true, false, true]);
  expect(eventsOf(bench, "mcp_status")).toHaveLength(1);
});

test("TB-25: a required server that is down fails the run and names it; the next run asks it at once", async () => {
  let isDown = true;
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: (_seen, response) => {
      if (isDown) response.writeHead(503).end();
      return isDown;
    },
  });
  const bench = await lookingBench(server, 1, { keys: ", required: true" });
  expect(await say(bench)).toMatchObject({ state: "failed", reason: "mcp_error" });
  expect(JSON.stringify(lastEvent(bench, "run_end")["error"])).toContain("the MCP server sea");
  expect(bench.requests).toHaveLength(0);
  isDown = false;
  expect(await say(bench, "Again")).toMatchObject({ state: "completed" });
});

test("TB-21 TB-5: a server that is a program is unavailable alone; the run goes on and is told the driver and the server", async () => {
  const error =
    'the server web is a program, and the sandbox "bash" runs no MCP servers; give the server a url';
  for (const env of [{}, { LIMPET_DEV: "1" }]) {
    const bench = await lookingBench(await lookServer(), 0, {
      servers: ["{ name: web, command: npx, args: ['-y', web] }"],
      toolboxes: "[web]",
      turns: [["Done."]],
      env: {
        ...env,
        SANDBOX: { fetch: async () => Response.json({ driver: "bash", processes: false, limits: {} }) },
      },
    });
    expect(await say(bench)).toMatchObject({ state: "completed" });
    expect(lastEvent(bench, "mcp_status")).toEqual({ server: "web", state: "failed", error });
    const [line] = bench.logs.filter(({ msg }) => msg === "mcp_server");
    expect(line).toMatchObject({ level: "warn", step: "web", code: "failed" });
    expect(line?.["message"], "only a developer's machine logs the reason").toBe(
      "LIMPET_DEV" in env ? error : undefined,
    );
  }
});

test("TB-22 RE-T21: what cannot be offered is left out and named; what nobody sees is taken out of descriptions", async () => {
  const deep = (levels: number): object =>
    levels === 0 ? { type: "string" } : { type: "object", properties: { a: deep(levels - 1) } };
  const schemaOf = (a: object): Partial<Tool> => ({
    inputSchema: { type: "object", properties: { a: a as never } },
  });
  const server = await serverOf({
    tools: () => [
      textTool("look", { description: `See\u202E it\u{E0041}.\u0007 ${"long ".repeat(400)}` }),
      textTool("task", { execution: { taskSupport: "required" } }),
      textTool("remote", schemaOf({ $ref: "https://evil.example/schema.json" })),
      textTool("huge", schemaOf({ type: "string", description: "x", enum: ["y".repeat(33_000)] })),
      textTool("deep", schemaOf(deep(9))),
      textTool("patterned", schemaOf({ type: "string", pattern: "^(a+)+$" })),
    ],
    call: () => textResult("seen"),
  });
  const bench = await lookingBench(server, 1, { keys: ', protocol: "2025"' });
  await say(bench);
  expect(declared(bench)).toEqual(["sea__look", "sea__patterned"]);
  const { description = "" } = bench.requests[0]?.tools.find(({ name }) => name === "sea__look") ?? {};
  expect(description.startsWith("See it. long")).toBe(true);
  expect(Buffer.byteLength(description)).toBeLessThanOrEqual(1_024);
  const { error } = lastEvent(bench, "mcp_status");
  for (const part of ["task: it runs as a task", "remote: ", "huge: its schema is longer", "deep: "])
    expect(error).toContain(part);
});

test("TB-22: of more than 128 tools the first 128 are offered, and the status says so; a whitelist reaches them all", async () => {
  const server = await serverOf({
    tools: () => ["look", ...Array.from({ length: 150 }, (_, at) => `t${at}`)].map((name) => textTool(name)),
    call: () => textResult("seen"),
    pageSize: 50,
  });
  const bench = await lookingBench(server, 1);
  await say(bench);
  expect(declared(bench)).toHaveLength(128);
  expect(lastEvent(bench, "mcp_status")["error"]).toContain("128");
  const named = await lookingBench(server, 1, { keys: ", tools: [look, t149]" });
  await say(named);
  expect(declared(named)).toEqual(["sea__look", "sea__t149"]);
  expect(lastEvent(named, "mcp_status")).not.toHaveProperty("error");
});

test("TB-22: whitelists of the server and of the agent take bare names; a name that the server lacks is named", async () => {
  const server = await serverOf({
    tools: () => ["look", "go.now", "hide", "x".repeat(80)].map((name) => textTool(name)),
    call: () => textResult("seen"),
  });
  const bench = await lookingBench(server, 1, {
    keys: ", tools: [look, go.now, sea__hide, missing]",
    toolboxes: "[{ name: sea, tools: [look, go.now] }]",
  });
  await say(bench);
  expect(declared(bench)).toEqual(["sea__look", "sea__go_now"]);
  expect(lastEvent(bench, "mcp_status")["error"]).toContain('"missing" is named');
  const all = await lookingBench(server, 1);
  await say(all);
  expect(declared(all).every((name) => /^[A-Za-z][\w-]{0,63}$/.test(name))).toBe(true);
});

test("TB-18 TB-21: secrets of address and headers reach the server alone: no other origin, event, prompt or log", async () => {
  const strange: string[] = [];
  const other = createServer((request, response) => {
    strange.push(JSON.stringify([request.url, request.headers]));
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const elsewhere = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  let moves = false;
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: (_name, _args, { mcpReq }) => textResult(`I know ${mcpReq.id} canary-token-0001`),
    before: (_seen, response) => {
      if (moves) response.writeHead(307, { location: `http://${elsewhere}/mcp` }).end();
      return moves;
    },
  });
  const bench = await lookingBench(server, 2, {
    servers: [
      `{ name: sea, url: "${server.url}?token=\${SEA_QUERY}", headers: { Authorization: "Bearer \${SEA_TOKEN}", X-Sea: "\${SEA_TOKEN}" } }`,
    ],
    hosts: [server.host, elsewhere],
    env: { SEA_TOKEN: "canary-token-0001", SEA_QUERY: "canary-query-0002" },
  });
  await say(bench);
  expect(new Set(server.seen.map(({ path }) => path))).toEqual(new Set(["/mcp?token=canary-query-0002"]));
  expect(new Set(server.seen.map(({ headers }) => headers.authorization))).toEqual(
    new Set(["Bearer canary-token-0001"]),
  );
  moves = true;
  await say(bench, "Again");
  const told = JSON.stringify([bench.lines(), bench.requests, bench.logs, bench.rows("threads")]);
  for (const canary of ["canary-token-0001", "canary-query-0002"]) {
    expect(told).not.toContain(canary);
    expect(strange.join()).not.toContain(canary);
  }
});

test("TB-21: the headers of a server go to its own origin alone, wherever the client sends a request", async () => {
  const sent: string[] = [];
  const team = await teamOf(
    scripted(
      replies("{ reply: [{ text: ok }] }"),
      "",
      'mcp_servers: [{ name: sea, url: "https://sea.example/mcp", headers: { X-Sea: "${SEA_TOKEN}" } }]',
    ).replace("toolboxes: [probe]", "toolboxes: [sea]"),
  );
  const { servers } = createEngine({
    ...engineOptions(team, {
      env: { SEA_TOKEN: "canary-token-0001" },
      fetch: async (url, init) => {
        sent.push(`${new Request(url).url} ${String(new Headers(init?.headers).get("x-sea"))}`);
        return new Response("");
      },
    }),
    mcp: {
      list: async ({ send }) => {
        for (const host of ["sea", "land"])
          await send(`https://${host}.example/token`, { method: "GET", headers: new Headers() });
        return { tools: [], omitted: [] };
      },
      call: () => Promise.reject(new Error("no call")),
      sessionOf: () => null,
      end: async () => undefined,
      authorize: () => Promise.reject(new Error("no login")),
      finishLogin: () => Promise.reject(new Error("no login")),
    },
  });
  const authorize = () => Promise.reject(new Error("no login"));
  const outside = {
    signal: new AbortController().signal,
    sandbox: () => ({}) as never,
    keep: null,
    authorize,
  };
  expect(await servers.list("sea", [], outside)).toMatchObject({ ok: true });
  expect(sent).toEqual(["https://sea.example/token canary-token-0001", "https://land.example/token null"]);
});

test("TB-25: two children that start at once both have the server's tools, and what one was shown is not changed by the other", async () => {
  const server = await lookServer();
  const { bench } = await mission(
    [
      lead([said(spawn([task("coder"), task("writer")])), said("Done.")], "delegation: { may_call: ['*'] }"),
      coder([said(["sea__look", {}]), said("Done.")], "toolboxes: [sea]"),
      writer([said(["sea__look", {}]), said("Done.")], "toolboxes: [sea]"),
    ],
    {
      team: `egress: { allow_http: true }\nmcp_servers: [{ name: sea, url: "${server.url}" }]`,
      env: { LIMPET_PRIVATE_EGRESS: server.host },
    },
  );
  expect(eventsOf(bench, "tool_call_end").filter(({ tool }) => tool === "sea__look")).toMatchObject([
    { outcome: "ok" },
    { outcome: "ok" },
  ]);
  expect(eventsOf(bench, "mcp_status")).toHaveLength(1);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});

test("TB-25: an unset secret is said with its field, and asks no server", async () => {
  const server = await lookServer();
  const bench = await lookingBench(server, 1, {
    keys: ', headers: { Authorization: "Bearer ${SEA_TOKEN}" }',
    turns: [["Done."]],
  });
  await say(bench);
  const { error } = lastEvent(bench, "mcp_status");
  expect(error).toContain("the secret of mcp_servers[0].headers.Authorization is not set");
  // The mask of log lines takes nothing out of it.
  expect(JSON.parse(createLogLine(createRedactor([]), ["authorization"])({ error }))).toEqual({ error });
  expect(server.seen).toEqual([]);
});

test("TB-25: the power cut at every write: a session with a server comes to the same end", async () => {
  const server = await lookServer();
  const play = async (cut: number | null): Promise<Bench> => {
    const bench = await lookingBench(server, 1, { keys: ", trust: true" });
    bench.cutAt(cut);
    insist(bench, "send", { id: "i1", content: "Go" }, "i1");
    await settleSoon(bench);
    return bench;
  };
  const clean = await play(null);
  const writes = clean.writes();
  expect(clean.types().at(-1)).toBe("run_end");
  for (let cut = 1; cut <= writes; cut++) {
    const bench = await play(cut);
    checkInvariants(bench, ["i1"]);
    expect(declared(bench)).toEqual(["sea__look"]);
    expect(bench.types().at(-1)).toBe("run_end");
  }
});
