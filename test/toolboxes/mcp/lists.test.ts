import { expect, test } from "vitest";
import type { Tables } from "../../../src/engine/access/database.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import { lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import type { SeenRequest, TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { serverOf, servedBench } from "./support.ts";

/** Long lists of tools and lists with tools that break the rules: what of them a session offers. */

const benchOn = (
  server: TestMcpServer,
  call: string,
  { keys = "", tables }: { readonly keys?: string; readonly tables?: Tables } = {},
): Promise<Bench> =>
  servedBench({
    servers: [`{ name: sea, url: "${server.url}"${keys} }`],
    toolboxes: "[sea]",
    turns: [[[`sea__${call}`, {}]], ["Done."]],
    hosts: [server.host],
    ...(tables === undefined ? {} : { tables }),
  });

const declared = (bench: Bench): readonly string[] =>
  (bench.requests.at(-1)?.tools ?? []).map(({ name }) => name).filter((name) => name.includes("__"));

const output = (bench: Bench): unknown => lastEvent(bench, "tool_call_end")["output"];

/** A server that answers requests for its list so, whatever the rules of the protocol say. */
const answering = (answer: (params: SeenRequest["params"]) => object): Promise<TestMcpServer> =>
  serverOf({
    tools: () => [],
    call: (name) => textResult(`${name} done`),
    before: ({ rpc, id, params }, response) => {
      if (rpc !== "tools/list") return false;
      const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...answer(params) };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      return true;
    },
  });

const listing = (tools: readonly unknown[], more: object = {}): Promise<TestMcpServer> =>
  answering(() => ({ tools, ...more }));

const pagesAsked = (server: TestMcpServer): number =>
  server.methods().filter((method) => method === "tools/list").length;

/** A server that lists so many tools, one a page, and answers fast. */
const numbered = (count: number): Promise<TestMcpServer> =>
  answering(({ cursor = "0" }) => {
    const next = Number(cursor) + 1;
    return { tools: [textTool(`t${String(cursor)}`)], ...(next < count ? { nextCursor: `${next}` } : {}) };
  });

const eras = ["2025", "2026"] as const;

test("TB-22: a list of many short pages is read as far as it has tools to offer, and no further", async () => {
  for (const era of eras) {
    const server = await numbered(70);
    const bench = await benchOn(server, "t0", { keys: `, protocol: "${era}", tools: [t0, t69]` });
    await say(bench);
    expect(declared(bench), era).toEqual(["sea__t0", "sea__t69"]);
    expect(output(bench), era).toBe("t0 done");
    expect(lastEvent(bench, "mcp_status"), era).not.toHaveProperty("error");
  }
  const server = await numbered(140);
  const bench = await benchOn(server, "t0");
  await say(bench);
  expect(declared(bench)).toHaveLength(128);
  expect(pagesAsked(server)).toBe(129);
  expect(lastEvent(bench, "mcp_status")["error"]).toContain("first 128 tools");
});

test("TB-22: of a list with more pages than are read the first are used, and the status says so", async () => {
  const server = await numbered(300);
  const bench = await benchOn(server, "t0", { keys: ", tools: [t0, t299]" });
  await say(bench);
  expect(declared(bench)).toEqual(["sea__t0"]);
  expect(pagesAsked(server)).toBe(256);
  expect(lastEvent(bench, "mcp_status")).toMatchObject({ state: "connected" });
  expect(lastEvent(bench, "mcp_status")["error"]).toContain("the first 256 pages of its list are read");
});

test("TB-22: a list whose last page leads to itself ends there", async () => {
  const server = await listing([{ ...textTool("look") }], { nextCursor: "again" });
  const bench = await benchOn(server, "look");
  await say(bench);
  expect(declared(bench)).toEqual(["sea__look"]);
  expect(pagesAsked(server)).toBe(2);
  expect(lastEvent(bench, "mcp_status")).not.toHaveProperty("error");
});

test("TB-22: a tool that breaks the rules costs no other: what can be used is offered, what cannot is named with the reason", async () => {
  const named = (name: string, more: object = {}) => ({ ...textTool(name), ...more });
  for (const era of eras) {
    const server = await listing([
      named("untyped", { inputSchema: { properties: { a: { type: "string" } } } }),
      named("unmarked", { annotations: null }),
      named("undescribed", { description: null }),
      named("listing", { outputSchema: { type: "array" } }),
      named("titled", { title: 7, icons: "x", _meta: null, outputSchema: null, execution: null }),
      named("look", { annotations: { readOnlyHint: "yes" } }),
      { name: "bare" },
      named("texts", { inputSchema: { type: "string" } }),
      named("numbered", { description: 7 }),
      named("sche\u202Emaless", { inputSchema: null }),
      { description: "x" },
      null,
      "tool",
    ]);
    const bench = await benchOn(server, "untyped", { keys: `, protocol: "${era}"` });
    await say(bench);
    expect(output(bench), era).toBe("untyped done");
    expect(declared(bench), era).toEqual(
      ["untyped", "unmarked", "undescribed", "listing", "titled", "look"].map((name) => `sea__${name}`),
    );
    expect(String(lastEvent(bench, "mcp_status")["error"]).split("; "), era).toEqual([
      "bare: it has no schema of its arguments",
      "texts: its schema is of another type than object",
      "numbered: its description is not a text",
      "schemaless: it has no schema of its arguments",
      "a tool without a name",
      "a tool without a name",
      "a tool without a name",
    ]);
  }
});

test("TB-22: tools that cannot be used take no place of those that can", async () => {
  const broken = Array.from({ length: 200 }, (_, at) => ({ name: `broken${at}` }));
  const server = await listing([...broken, textTool("look")]);
  const bench = await benchOn(server, "look");
  await say(bench);
  expect(declared(bench)).toEqual(["sea__look"]);
  expect(String(lastEvent(bench, "mcp_status")["error"])).toMatch(
    /^200 of its tools cannot be used; broken0: it has no schema of its arguments; broken1: /,
  );
});

test("TB-22: a tool of a 2026 server whose arguments name no good headers is left out and named; for a 2025 server they say nothing", async () => {
  const header = (name: unknown, more: object = {}) => ({ type: "string", "x-mcp-header": name, ...more });
  const taking = (name: string, inputSchema: object) => ({
    name,
    inputSchema: { type: "object", ...inputSchema },
  });
  const tools = [
    taking("good", { properties: { a: header("Region"), b: { properties: { c: header("Depth") } } } }),
    taking("empty", { properties: { a: header("") } }),
    taking("spaced", { properties: { a: header("My Region") } }),
    taking("fractional", { properties: { a: header("Region", { type: "number" }) } }),
    taking("twice", { properties: { a: header("Region"), b: header("region") } }),
    taking("listed", { properties: { a: { items: header("Region") } } }),
    taking("root", { "x-mcp-header": "Region" }),
  ];
  const server = await listing(tools);
  const bench = await benchOn(server, "good", { keys: ', protocol: "2026"' });
  await say(bench);
  expect(declared(bench)).toEqual(["sea__good"]);
  const { error } = lastEvent(bench, "mcp_status");
  for (const name of ["empty", "spaced", "fractional", "twice", "listed", "root"])
    expect(error).toContain(`${name}: `);
  const older = await benchOn(await listing(tools), "good", { keys: ', protocol: "2025"' });
  await say(older);
  expect(declared(older)).toHaveLength(tools.length);
});

test("TB-23: the hash of a tool is of its name, description, schemas and annotations, whatever else a server says of it", async () => {
  for (const era of eras) {
    const tables = memoryTables().tables;
    const annotations = { title: "Look", readOnlyHint: true, openWorldHint: false, "x-more": 1 };
    const schema = { type: "object", "x-note": [1], properties: { b: { type: "string" }, a: true } };
    const tool = { ...textTool("look"), title: "A", icons: [], annotations, inputSchema: schema };
    const server = await listing([
      { ...tool, outputSchema: schema, more: 1 },
      { name: "bare", inputSchema: { type: "object" } },
    ]);
    const bench = await benchOn(server, "look", { keys: `, protocol: "${era}"`, tables });
    await say(bench);
    const rows = tables
      .read("SELECT tool, hash FROM tool_pins ORDER BY tool")
      .map(({ tool: name, hash }) => [name, hash]);
    expect(rows, era).toEqual([
      ["sea__bare", "5151ba8cede8929a591c6074bfeb082acd7bc5b4af119feff290ebad7dec6e9a"],
      ["sea__look", "75fcda416ecb85893babed95fe1be155950f3813fff298f528a219ee4071d70c"],
    ]);
  }
});

test("TB-22: ★ tools named in another alphabet are told apart", async () => {
  const names = ["検索", "取得", "read.file"];
  const bench = await benchOn(await listing(names.map((name) => textTool(name))), "read_file");
  await say(bench);
  const tools = declared(bench);
  expect(tools).toEqual([
    expect.stringMatching(/^sea____[0-9a-f_]{9}$/),
    expect.stringMatching(/^sea____[0-9a-f_]{9}$/),
    "sea__read_file",
  ]);
  expect(new Set(tools).size).toBe(3);
});

test("TB-22: a server whose answer is no message of the protocol, or an error for no request, is told of in a sentence", async () => {
  for (const [fields, sentence] of [
    [
      { id: [] },
      'what answered does not speak MCP: it sent application/json, beginning with {"jsonrpc":"2.0","id":[]}',
    ],
    [{ id: null, error: { code: -32700, message: "no" } }, "the server answered with an error: no"],
  ] as const) {
    const server = await serverOf({
      tools: () => [],
      call: () => textResult("done"),
      before: (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", ...fields }));
        return true;
      },
    });
    const bench = await benchOn(server, "look");
    await say(bench);
    expect(lastEvent(bench, "mcp_status")["error"]).toBe(sentence);
  }
});
