import { expect, test } from "vitest";
import { fieldsOf } from "../../src/chat/json.ts";
import type { Json } from "../../src/chat/message.ts";
import type { ModelRequest } from "../../src/model/completer.ts";
import { checkBody } from "../support/fake-provider-check.ts";
import type { Kind } from "../support/fake-provider-fields.ts";
import { requestOf, wireOf } from "../support/fake-provider-client.ts";

/** Schemas of answers and tools as the vendors get them. */

const build = (kind: Kind, fields: Partial<ModelRequest>): string => {
  const { protocol, target } = wireOf(kind);
  const { body } = protocol.build(requestOf(kind, fields), target);
  expect(checkBody(JSON.parse(body), kind)).toBeNull();
  return body;
};

/** Schemas of which each has the next one twice: written out, every level doubles them. */
const doubling = (levels: number, referenceTo: (level: number) => string): Json[] =>
  Array.from({ length: levels }, (_, level) => {
    const next = { $ref: referenceTo(level + 1) };
    return level + 1 === levels
      ? { type: "string" }
      : { type: "object", properties: { x: next, y: next }, required: ["x", "y"] };
  });

test("MO-16: a schema whose definitions double at each level does not grow without end", () => {
  const levels = doubling(17, (level) => `#/$defs/d${level}`);
  const $defs = Object.fromEntries(levels.map((schema, level) => [`d${level}`, schema]));
  const schema = { type: "object", properties: { tree: { $ref: "#/$defs/d0" } }, $defs };
  expect(JSON.stringify(schema).length).toBeLessThan(2_000);
  const answer = build("gemini", { responseFormat: { type: "json_schema", schema } });
  expect(answer.length).toBeLessThan(1_000_000);
  const tool = { name: "grow", description: "Grows.", schema };
  expect(build("gemini", { tools: [tool] }).length).toBeLessThan(1_000_000);
});

test.each<Kind>(["anthropic", "openai", "responses", "compatible"])(
  "MO-9 MO-14: alternatives at the root of a tool that double at each level do not grow without end (%s)",
  (kind) => {
    const anyOf = doubling(15, (level) => `#/anyOf/${level}`);
    const tool = { name: "grow", description: "Grows.", schema: { type: "object", anyOf } };
    expect(build(kind, { tools: [tool] }).length).toBeLessThan(1_000_000);
  },
);

interface AnthropicBody {
  readonly system: unknown;
  readonly output_config?: { readonly format?: { readonly schema: Json } };
}

const askClaude = (schema: Json): AnthropicBody =>
  JSON.parse(build("anthropic", { responseFormat: { type: "json_schema", schema } })) as AnthropicBody;

const text = { type: "string" };
const fields = (properties: Record<string, Json>): Json => ({ type: "object", properties });
const node = fields({ name: text, children: { type: "array", items: { $ref: "#/$defs/node" } } });

const unenforceable: readonly (readonly [string, Json])[] = [
  [
    "a map, which may only be empty once it is closed",
    fields({ a: { type: "object", additionalProperties: text } }),
  ],
  ["a map in a list", fields({ a: { type: "array", items: { type: "object" } } })],
  ["a map of names that fit a pattern", fields({ a: { type: "object", patternProperties: { "^x": text } } })],
  ["a map beside named fields", { type: "object", properties: { a: text }, additionalProperties: text }],
  ["a tree", { $ref: "#/$defs/node", $defs: { node } }],
  ["an answer that contains itself", fields({ a: text, inner: { $ref: "#" } })],
  [
    "schemas that exclude each other once they are closed",
    { allOf: [fields({ a: text }), fields({ b: text })] },
  ],
  ["a value of any type", fields({ a: {} })],
  [
    "a choice by fields alone",
    { ...fieldsOf(fields({ a: text, b: text })), anyOf: [{ required: ["a"] }, { required: ["b"] }] },
  ],
  ["values that are objects", fields({ a: { enum: [{ b: 1 }] } })],
];

test.each(unenforceable)("MO-11: %s: the API cannot enforce it, so the prompt says it", (_, schema) => {
  const { system, output_config: config } = askClaude(schema);
  expect(config?.format).toBeUndefined();
  expect(JSON.stringify(system)).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1));
});

test("MO-11: definitions go along under either name, as often as they are used; a format that the API lacks does not", () => {
  const defs = { a: { ...text, format: "regex" }, when: { ...text, format: "date-time", minLength: 3 } };
  const properties = (place: string): Record<string, Json> => ({
    a: { $ref: `#/${place}/a`, description: "A pattern." },
    from: { $ref: `#/${place}/when` },
    to: { $ref: `#/${place}/when` },
  });
  for (const place of ["$defs", "definitions"]) {
    const { output_config: config } = askClaude({ ...fieldsOf(fields(properties(place))), [place]: defs });
    expect(config?.format?.schema).toEqual({
      type: "object",
      properties: { ...properties(place), a: { $ref: `#/${place}/a` } },
      additionalProperties: false,
      [place]: { a: text, when: { ...text, format: "date-time" } },
    });
  }
});
