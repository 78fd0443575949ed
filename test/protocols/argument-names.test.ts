import { expect, onTestFinished, test } from "vitest";
import { parseJson } from "../../src/chat/json.ts";
import type { ToolSpec } from "../../src/model/completer.ts";
import {
  argumentNamesByWire,
  readArguments,
  wireArgumentName,
  wireSchema,
} from "../../src/protocols/anthropic/argument-names.ts";
import { benchOf, eventsOf, say } from "../engine/harness.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import { textResult } from "../support/mcp-server.ts";
import { serverOf } from "../toolboxes/mcp/support.ts";

/** Arguments whose names the Messages API refuses. */

const schema = {
  type: "object" as const,
  properties: {
    "filter[id]": { type: "string", description: "An id." },
    $top: { type: "integer" },
    検索: { $ref: "#/properties/filter%5Bid%5D" },
    plain: { type: "object", properties: { "$in.side": { type: "string" } } },
    [`long${"g".repeat(80)}`]: { type: "string" },
  },
  required: ["filter[id]", "plain"],
  dependentRequired: { $top: ["検索"] },
  dependentSchemas: { plain: { required: ["$top"] } },
};

test("MO-8 ★: a tool whose arguments have names that the API refuses can be called beside all others, by its own names", async () => {
  const seen: unknown[] = [];
  const server = await serverOf({
    tools: () => [{ name: "list", description: "Lists.", inputSchema: schema }],
    call: (_name, args) => {
      seen.push(args);
      return textResult("listed");
    },
  });
  const fake = await startFakeProvider();
  onTestFinished(fake.close);
  const id = wireArgumentName("filter[id]");
  const given = { [id]: "7", plain: { "$in.side": "x" }, [wireArgumentName("$top")]: 3, 検索: "y" };
  fake.play((_request, count) => ({
    speech: { pieces: count === 0 ? [{ call: "sea__list", args: given }] : [{ text: "Done." }] },
  }));
  const bench = await benchOf(
    `
providers: [{ name: main, kind: anthropic, base_url: "${fake.url("anthropic")}", api_key: "\${KEY}", model: claude-sonnet-5-5 }]
egress: { allow_http: true }
mcp_servers: [{ name: sea, url: "${server.url}" }]
agents: [{ name: helper, toolboxes: [sea], permissions: { preset: open } }]
`,
    { env: { KEY: "sk-test", LIMPET_PRIVATE_EGRESS: `${server.host},127.0.0.1:${fake.port}` } },
    {},
  );
  await say(bench);
  const own = { "filter[id]": "7", plain: { "$in.side": "x" }, $top: 3, 検索: "y" };
  expect(seen).toEqual([own]);
  expect(eventsOf(bench, "tool_call_start")).toMatchObject([{ input: own }]);
  expect(eventsOf(bench, "run_end")).toMatchObject([{ reason: "end_turn" }]);
});

test("a schema is sent with all that names a property renamed, and nested names as they are", () => {
  const name = wireArgumentName;
  expect(wireSchema(schema)).toEqual({
    type: "object",
    properties: {
      [name("filter[id]")]: schema.properties["filter[id]"],
      [name("$top")]: { type: "integer" },
      [name("検索")]: { $ref: `#/properties/${name("filter[id]")}` },
      plain: schema.properties.plain,
      [name(`long${"g".repeat(80)}`)]: { type: "string" },
    },
    required: [name("filter[id]"), "plain"],
    dependentRequired: { [name("$top")]: [name("検索")] },
    dependentSchemas: { plain: { required: [name("$top")] } },
  });
  for (const key of Object.keys((wireSchema(schema) as typeof schema).properties))
    expect(key).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
});

test("a schema with plain names is sent as it is", () => {
  const plain = { type: "object", properties: { a: { $ref: "#/properties/b" }, b: {} } };
  expect(wireSchema(plain)).toBe(plain);
  expect(argumentNamesByWire([{ name: "t", description: "", schema: plain }]).size).toBe(0);
});

test("arguments come back under the names that the tool knows, and text that is no object unchanged", () => {
  const tools: readonly ToolSpec[] = [{ name: "t", description: "", schema }];
  const names = argumentNamesByWire(tools).get("t");
  if (names === undefined) throw new Error("the tool needs a mapping");
  const sent = { [wireArgumentName("$top")]: 1, plain: { [wireArgumentName("$top")]: 2 }, "filter[id]": "a" };
  expect(parseJson(readArguments(JSON.stringify(sent), names))).toEqual({
    $top: 1,
    plain: { [wireArgumentName("$top")]: 2 },
    "filter[id]": "a",
  });
  for (const text of ["", "{", "[1]", '"x"']) expect(readArguments(text, names)).toBe(text);
});
