import { expect, test } from "vitest";
import type { Json } from "../../src/chat/message.ts";
import { isStrictSchema } from "../../src/tools/schema/strict-schema.ts";
import { compile, team } from "./support.ts";

const object = (properties: object, more: object = {}): Json =>
  ({
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
    ...more,
  }) as Json;
const text = { type: "string" };

const schemas: readonly (readonly [string, Json, boolean])[] = [
  ["a closed object", object({ a: text }), true],
  ["one with a list of closed objects", object({ a: { type: "array", items: object({ b: text }) } }), true],
  ["one with definitions", object({ a: { $ref: "#/$defs/a" } }, { $defs: { a: object({ b: text }) } }), true],
  ["properties that are called like keywords", object({ properties: text, items: text, type: text }), true],
  ["choices of closed objects", object({ a: { anyOf: [object({ b: text }), { type: "null" }] } }), true],
  ["an open object", object({ a: text }, { additionalProperties: true }), false],
  ["a property that is not required", object({ a: text }, { required: [] }), false],
  ["an open object inside", object({ a: { type: "object", properties: { b: text } } }), false],
  ["an open definition", object({}, { $defs: { a: { type: "object" } } }), false],
  ["a keyword that strict modes lack", object({ a: { ...text, minLength: 3 } }), false],
  ["values of a type that may be null", object({ a: { type: ["string", "null"], enum: ["b", null] } }), true],
  ["a format that strict modes know", object({ a: { ...text, format: "date-time" } }), true],
  ["a format that they do not know", object({ a: { ...text, format: "uri" } }), false],
  ["a default", object({ a: { ...text, default: "b" } }), false],
  ["a value of any type", object({ a: { description: "Whatever." } }), false],
  ["a list of anything", object({ a: { type: "array" } }), false],
  [
    "a reference with a description",
    object({ a: { $ref: "#/$defs/a", description: "A." } }, { $defs: { a: text } }),
    false,
  ],
  ["a required name without a property", object({ a: text }, { required: ["a", "b"] }), false],
  ["choices at the root", object({ a: text }, { anyOf: [object({ a: text })] }), false],
  ["no object", { type: "array", items: text }, false],
];

const yaml = (schema: Json, provider = "openai"): string =>
  team({
    agent: `    options: { response_format: json_schema, response_schema: ${JSON.stringify(JSON.stringify(schema))} }`,
  }).replace("anthropic", provider);

const warned = async (text: string): Promise<boolean> =>
  (await compile(text)).diagnostics.some(({ code }) => code === "schema_not_strict");

test.each(schemas)(
  "MO-14, CF-30: %s: what the build says is what the request does",
  async (_, schema, strict) => {
    expect(isStrictSchema(schema)).toBe(strict);
    expect(await warned(yaml(schema))).toBe(!strict);
  },
);

test("CF-30: only providers that are given the schema in a strict mode warn", async () => {
  const open = object({ a: text }, { required: [] });
  for (const [provider, expected] of [
    ["openai", true],
    ["grok", true],
    ["gemini", true],
    ["anthropic", false],
    ["openai-compatible, base_url: 'https://a.example'", false],
    ["openai-compatible, base_url: 'https://a.example', compat: { schema: strict }", true],
  ] as const) {
    const flow = team({
      provider: `  - { name: other, kind: ${provider}, api_key: "\${KEY}", model: some-model }`,
      agent: `    options: { response_format: json_schema, response_schema: ${JSON.stringify(JSON.stringify(open))} }\n    provider: other`,
    });
    expect([provider, await warned(flow)]).toEqual([provider, expected]);
  }
});
