import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { serverOf, servedBench } from "./support.ts";

/** Schemas that servers send in every draft: what the model gets, and which arguments reach the server. */

const listed = (inputSchemas: Readonly<Record<string, object>>) =>
  serverOf({
    tools: () =>
      Object.entries(inputSchemas).map(([name, inputSchema]) =>
        textTool(name, { inputSchema: { type: "object", ...inputSchema } as never }),
      ),
    call: (name) => textResult(`${name} done`),
  });

const benchOn = (
  server: { readonly url: string; readonly host: string },
  calls: readonly [string, object][],
) =>
  servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [calls, ["Done."]],
    hosts: [server.host],
  });

test("TB-22: a tool with keywords that are not checked or that older drafts had is offered, and called with what fits", async () => {
  const server = await listed({
    closed: { allOf: [{ properties: { a: { type: "string" } } }], unevaluatedProperties: false },
    older: {
      $schema: "http://json-schema.org/draft-04/schema#",
      id: "https://sea.example/older.json",
      properties: { n: { type: "integer", minimum: 0, exclusiveMinimum: true }, of: { enum: [] } },
      dependencies: { n: ["of"] },
    },
    anchored: {
      properties: { node: { $ref: "#node" } },
      $defs: { node: { $anchor: "node", type: "object", properties: { next: { $dynamicRef: "#node" } } } },
    },
    alternative: { oneOf: [{ required: ["a"] }, { properties: { b: { pattern: "^x" } }, required: ["b"] }] },
  });
  const bench = await benchOn(server, [
    ["sea__closed", { a: "x" }],
    ["sea__older", { n: 0, of: 1 }],
    ["sea__older", { n: 1, of: 1 }],
    ["sea__older", { n: 1 }],
    ["sea__anchored", { node: { next: { next: 5 } } }],
    ["sea__anchored", { node: { next: { next: {} } } }],
    ["sea__anchored", { node: null }],
    ["sea__alternative", { a: 1, b: "y" }],
    ["sea__alternative", {}],
  ]);
  await say(bench);
  expect(lastEvent(bench, "mcp_status")).not.toHaveProperty("error");
  const ends = eventsOf(bench, "tool_call_end").map(({ output }) =>
    String(output).replace(/\. Correct.*/, ""),
  );
  expect(ends.toSorted()).toEqual([
    "alternative done",
    "anchored done",
    "anchored done",
    "closed done",
    "invalid_arguments: arguments: must fit exactly one of the allowed forms",
    "invalid_arguments: n: must be over 0",
    "invalid_arguments: node.next.next: expected object, found number",
    "invalid_arguments: of: is required beside n",
    "older done",
  ]);
  const older = bench.requests[0]?.tools.find(({ name }) => name === "sea__older");
  expect(older?.schema).toEqual({
    type: "object",
    properties: { n: { type: "integer", exclusiveMinimum: 0 }, of: {} },
    dependentRequired: { n: ["of"] },
  });
});

test("TB-22: schemas nest in each other at most eight deep, wherever they stand; JSON inside them counts nothing", async () => {
  const nest = (levels: number): object =>
    levels === 1 ? { enum: [[[["x"]]]] } : { type: "object", properties: { a: nest(levels - 1) } };
  const server = await listed({
    eight: nest(8),
    nine: nest(9),
    listed: {
      properties: { a: { items: { items: { items: { items: { items: { items: { items: {} } } } } } } } },
    },
    bottomless: JSON.parse(`{"default":${"[".repeat(2_000)}${"]".repeat(2_000)}}`) as object,
    remote: { properties: { a: { $ref: "https://evil.example/\u202Eschema.json" } } },
  });
  const bench = await benchOn(server, [["sea__eight", {}]]);
  await say(bench);
  expect(lastEvent(bench, "tool_call_end")["output"]).toBe("eight done");
  expect(String(lastEvent(bench, "mcp_status")["error"]).split("; ")).toEqual([
    "nine: its schema is nested deeper than 8 levels",
    "listed: its schema is nested deeper than 8 levels",
    "bottomless: its schema is nested deeper than 8 levels",
    "remote: its schema cannot be used: it refers to https://evil.example/schema.json, and only references inside it are followed",
  ]);
});

const hidden = "\u202E\u{E0041}\u200B\uFEFF\u{E0101}";

test("TB-22: notes are cleaned where they are notes of a schema; comments and examples are left out; values stay as they are", async () => {
  const value = { title: "x".repeat(1_100), description: 7, $comment: "c", examples: [1] };
  const note = { title: `T${hidden}`, description: `D${hidden}`, $comment: hidden, examples: [hidden] };
  const clean = { title: "T", description: "D" };
  const server = await listed({
    noted: {
      ...note,
      properties: {
        title: { ...note, const: value, default: value },
        examples: { enum: [value, 1] },
        $comment: { ...note, items: { ...note, anyOf: [note, true] } },
      },
      dependencies: { title: note },
      allOf: [{ $ref: "#/dependencies/title" }],
    },
  });
  const bench = await benchOn(server, [
    ["sea__noted", { title: value, examples: value, $comment: [1] }],
    ["sea__noted", { title: { ...value, title: "x".repeat(1_024) } }],
  ]);
  await say(bench);
  expect(lastEvent(bench, "mcp_status")).not.toHaveProperty("error");
  expect(bench.requests[0]?.tools.find(({ name }) => name === "sea__noted")?.schema).toEqual({
    type: "object",
    ...clean,
    properties: {
      title: { ...clean, const: value, default: value },
      examples: { enum: [value, 1] },
      $comment: { ...clean, items: { ...clean, anyOf: [clean, true] } },
    },
    dependentSchemas: { title: clean },
    allOf: [{ $ref: "#/dependentSchemas/title" }],
  });
  const ends = eventsOf(bench, "tool_call_end").map(({ output }) => String(output).slice(0, 24));
  expect(ends.toSorted()).toEqual(["invalid_arguments: title", "noted done"]);
});

test("TB-22: a tool is left out and named if hidden characters stand in its schema elsewhere than in a note", async () => {
  const server = await listed({
    name: { properties: { [`a${hidden}`]: {} } },
    needed: { required: [`a${hidden}`] },
    choice: { properties: { a: { items: { enum: ["b", { c: [`d${hidden}`] }] } } } },
    constant: { properties: { a: { const: { [`e${hidden}`]: 1 } } } },
    usual: { properties: { a: { default: `f${hidden}` } } },
    defined: { $defs: { [`g${hidden}`]: {} } },
    other: { "x-note": hidden },
    lines: { properties: { a: { enum: ["\n", "\r\n"], default: "\t" } } },
  });
  const bench = await benchOn(server, [["sea__lines", { a: "\r\n" }]]);
  await say(bench);
  expect(lastEvent(bench, "tool_call_end")["output"]).toBe("lines done");
  const { error } = lastEvent(bench, "mcp_status");
  expect(String(error).split("; ")).toEqual(
    ["name a", "needed a", "choice d", "constant e", "usual f", "defined g", "other "].map((each) => {
      const [name = "", text = ""] = each.split(" ");
      return `${name}: its schema holds invisible characters, in "${text}"`;
    }),
  );
  expect(JSON.stringify(bench.requests)).not.toContain("\u202E");
});
