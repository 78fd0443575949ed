import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/chat/json.ts";
import type { Json } from "../../src/chat/message.ts";
import { findSchemaErrors } from "../../src/tools/schema/json-schema.ts";
import { mendedSchemaProblem } from "../../src/tools/schema/json-schema-check.ts";
import { mendSchema } from "../../src/tools/schema/mend-schema.ts";
import { cpuOf } from "../support/cpu.ts";

/** Schemas as servers send them, in every draft, and what becomes of them. */

const mend = (schema: object): JsonObject => {
  const mended = mendSchema(schema as JsonObject);
  if (typeof mended === "string") throw new Error(mended);
  expect(mendedSchemaProblem(mended), JSON.stringify(mended)).toBeNull();
  return mended;
};

const fits = (schema: object, value: unknown): boolean =>
  findSchemaErrors(mend(schema), value as Json, "the value").length === 0;

/** A schema, values that fit, values that do not. */
const cases: readonly (readonly [object, readonly unknown[], readonly unknown[]])[] = [
  [{ minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false }, [2, 5], [1, 6]],
  [{ exclusiveMinimum: true }, [0], []],
  [{ dependencies: { a: ["b"], c: { required: ["d"] } } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }, { c: 1 }]],
  [{ items: [{ type: "number" }], additionalItems: { type: "string" } }, [[1, "a"]], [["a"], [1, 2]]],
  [{ items: [], additionalItems: false }, [[]], [[1]]],
  [{ items: { type: "string" }, additionalItems: false }, [["a", "b"]], [[1]]],
  [{ items: [{ type: "number" }], properties: { a: { $ref: "#/items/0" } } }, [{ a: 1 }], [{ a: "1" }]],
  [{ $defs: { n: { $anchor: "num", type: "number" } }, $ref: "#num" }, [1], ["1"]],
  [{ definitions: { n: { $id: "#num", type: "number" } }, $ref: "#num" }, [1], ["1"]],
  [
    { $id: "https://sea.example/a.json", $defs: { n: { type: "number" } }, $ref: "a.json#/$defs/n" },
    [1],
    ["1"],
  ],
  [
    {
      $id: "https://sea.example/a.json",
      $defs: { n: { $id: "n.json", $defs: { m: { type: "number" } }, $ref: "#/$defs/m" } },
      $ref: "https://sea.example/n.json",
    },
    [1],
    ["1"],
  ],
  [
    { $dynamicAnchor: "node", properties: { n: { type: "number" }, next: { $dynamicRef: "#node" } } },
    [{ next: { n: 1 } }],
    [{ next: { n: "1" } }],
  ],
  [
    { $recursiveAnchor: true, properties: { n: { type: "number" }, next: { $recursiveRef: "#" } } },
    [{ next: { n: 1 } }],
    [{ next: { n: "1" } }],
  ],
  [
    {
      components: { schemas: { "a/b c%é": { type: "number" } } },
      $ref: "#/components/schemas/a~1b c%25%C3%A9",
    },
    [1],
    ["1"],
  ],
  [{ $defs: { "a/b c%é": { type: "number" } }, $ref: "#/$defs/a~1b%20c%25%C3%A9" }, [1], ["1"]],
  [
    { properties: { id: { type: "string" }, $id: { type: "string" } } },
    [{ id: "a" }],
    [{ id: 1 }, { $id: 1 }],
  ],
  [
    { type: "strng", enum: [], required: true, minLength: -1, properties: ["a"], anyOf: [], not: 5 },
    ["", 1],
    [],
  ],
  [{ type: ["string", "string"], required: ["a", "a"] }, ["x"], [1]],
  [{ $ref: "#/$defs/missing", minLength: 2 }, ["ab"], ["a"]],
  [{ unevaluatedProperties: false, properties: { a: true } }, [{ a: 1 }], []],
  [
    JSON.parse('{"properties":{"__proto__":{"type":"number"}}}') as object,
    [{}],
    [JSON.parse('{"__proto__":"x"}')],
  ],
];

test("TB-22: keywords of every draft keep their meaning, names become pointers, and what means nothing is left out", () => {
  for (const [schema, good, bad] of cases) {
    for (const value of good) expect(fits(schema, value), JSON.stringify([mend(schema), value])).toBe(true);
    for (const value of bad) expect(fits(schema, value), JSON.stringify([mend(schema), value])).toBe(false);
  }
});

test("TB-22: the copy is of 2020-12 alone: no names, no older keywords, no list twice", () => {
  const mended = mend({
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: "https://sea.example/a.json",
    title: 5,
    type: "object",
    properties: { a: { type: "number", minimum: 1, exclusiveMinimum: true, "x-own": 1 }, b: { items: [{}] } },
    required: ["a", "a"],
    examples: "none",
  });
  expect(mended).toEqual({
    type: "object",
    properties: { a: { type: "number", exclusiveMinimum: 1, "x-own": 1 }, b: { prefixItems: [{}] } },
    required: ["a"],
  });
});

test("TB-22: a reference to a schema elsewhere is named, and nothing else makes a schema unusable", () => {
  for (const $ref of [
    "https://evil.example/schema.json",
    "other.json",
    "https://sea.example/b.json#/a",
    "//[",
  ])
    expect(mendSchema({ $id: "https://sea.example/a.json", properties: { a: { $ref } } })).toBe(
      `it refers to ${$ref}, and only references inside it are followed`,
    );
});

test("TB-22: a reference to a definition stays as its author wrote it, since not every API decodes pointers", () => {
  const schema = { $defs: { node: { type: "object" } }, properties: { a: { $ref: "#/$defs/node" } } };
  expect(mendSchema(schema)).toEqual(schema);
  const anything = { $defs: { any: true }, $ref: "#/$defs/any" };
  expect(mendSchema(anything)).toEqual(anything);
});

test("TB-22: whatever the JSON, the copy can be used, and mending it again changes nothing", () => {
  const keywords = [
    ..."$ref $id id $anchor $dynamicRef $recursiveRef $defs definitions properties items additionalItems".split(
      " ",
    ),
    ..."dependencies exclusiveMinimum minimum anyOf not enum type required if then examples title unevaluatedProperties".split(
      " ",
    ),
  ];
  const names = fc.constantFrom("#", "#a", "a", "#/$defs/a", "#/items/0", "#/definitions/a/b", "b.json#a");
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(true, false, 1, null, "a"),
      names,
      fc.array(tie("schema"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keywords, "a", "b"), tie("schema"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...keywords), schema, { maxKeys: 6 }), (given) => {
      const mended = mendSchema(given as JsonObject);
      if (typeof mended === "string") return;
      expect(mendedSchemaProblem(mended)).toBeNull();
      expect(mendSchema(mended)).toEqual(mended);
    }),
    { numRuns: 2_000 },
  );
});

test("T28 TB-22: hostile schemas of 32 KiB are mended and checked in bounded time", async () => {
  const chained = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [
      `d${at}`,
      { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
    ]),
  );
  const recursive = { properties: { c: { $ref: "#" } } };
  const named = Array.from({ length: 700 }, (_, at) => ({ $id: `s${at}`, $ref: `s${699 - at}` }));
  const hostile: readonly object[] = [
    { $defs: { ...chained, d300: false }, $ref: "#/$defs/d0" },
    { ...recursive, anyOf: Array.from({ length: 400 }, () => recursive) },
    { $defs: Object.fromEntries(named.map((each, at) => [`n${at}`, each])), $ref: "s0" },
    { $recursiveRef: "#", not: { $dynamicRef: "#a" }, $dynamicAnchor: "a" },
    {
      properties: { c: { uniqueItems: true, items: { enum: Array.from({ length: 3_000 }, (_, at) => at) } } },
    },
  ];
  const deep = JSON.parse('{"c":'.repeat(31) + "1" + "}".repeat(31)) as Json;
  const wide = { c: Array.from({ length: 150_000 }, (_, at) => at) };
  const took = await cpuOf(() => {
    for (const each of hostile) {
      const mended = mend(each);
      for (const value of [deep, wide]) findSchemaErrors(mended, value, "the value");
    }
  });
  expect(took).toBeLessThan(8_000);
});
