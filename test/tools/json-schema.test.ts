import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import type { Json } from "../../src/chat/message.ts";
import { parseForeignArguments } from "../../src/tools/arguments.ts";
import { schemaProblem } from "../../src/tools/schema/json-schema-check.ts";
import { findSchemaErrors } from "../../src/tools/schema/json-schema.ts";

const misfits = (schema: unknown, value: unknown): readonly string[] =>
  findSchemaErrors(schema as Json, value as Json, "the value");

/** Schema, values that fit, values that do not. */
const cases: readonly (readonly [object, readonly unknown[], readonly unknown[]])[] = [
  [{ type: "integer" }, [0, -3, 2.0], [1.5, "1", null, [], {}]],
  [{ type: ["string", "null"] }, ["", null], [0, false]],
  [{ enum: [1, "a", null, { b: [1] }] }, [1, "a", null, { b: [1] }], [2, "b", { b: [2] }, { b: [1], c: 1 }]],
  [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }, null]],
  [{ minimum: 2, maximum: 4 }, [2, 4, "x"], [1, 5]],
  [{ exclusiveMinimum: 2, exclusiveMaximum: 4 }, [3], [2, 4]],
  [{ multipleOf: 0.1 }, [0.3, 1.1, 0], [0.35]],
  [{ minLength: 2, maxLength: 3 }, ["ab", "😀😀😀", 5], ["a", "abcd"]],
  [{ minItems: 1, maxItems: 2, uniqueItems: true }, [[1], [1, 2], {}], [[], [1, 2, 3], [{ a: 1 }, { a: 1 }]]],
  [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }, []], [{}, { a: 1, b: 2 }]],
  [{ required: ["a"] }, [{ a: null }, "x"], [{}, { b: 1 }]],
  [{ properties: { a: { type: "string" } } }, [{}, { a: "x", b: 1 }], [{ a: 1 }]],
  [{ properties: { a: true }, additionalProperties: false }, [{}, { a: 1 }], [{ b: 1 }]],
  [{ additionalProperties: { type: "number" } }, [{ a: 1 }], [{ a: "1" }]],
  [{ patternProperties: { "^x": { type: "number" } }, additionalProperties: false }, [{ xa: 1 }], []],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
  [{ items: { type: "number" } }, [[], [1, 2]], [[1, "2"]]],
  [{ prefixItems: [{ type: "number" }], items: false }, [[], [1]], [["1"], [1, 2]]],
  [{ items: [{ type: "number" }], additionalItems: { type: "string" } }, [[1, "a"]], [["a"], [1, 2]]],
  [{ contains: { type: "number" }, maxContains: 1 }, [["a", 1]], [[], ["a"], [1, 2]]],
  [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [2], [0, 4]],
  [{ anyOf: [{ type: "string" }, { minimum: 5 }] }, ["a", 5], [4]],
  [{ oneOf: [{ minimum: 1 }, { maximum: 3 }] }, [0, 4], [2]],
  [{ not: { type: "string" } }, [1], ["a"]],
  [
    JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}') as object,
    [{ a: 1, b: 1 }, { c: 1 }],
    [{ a: 1 }, {}],
  ],
  [{ dependentRequired: { a: ["b"] } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ["b"] } } }, [{ a: 1, b: 1 }, {}], [{ a: 1 }]],
  [{ $defs: { "a/b": { type: "number" } }, $ref: "#/$defs/a~1b" }, [1], ["1"]],
  [
    { properties: { next: { $ref: "#" }, n: { type: "number" } } },
    [{ next: { next: { n: 1 } } }],
    [{ next: { n: "1" } }],
  ],
  [{ type: "string", pattern: "^a$", format: "email" }, ["b"], [1]],
];

test("SE-14: every keyword accepts what fits and names what does not", () => {
  for (const [schema, good, bad] of cases) {
    expect(schemaProblem(schema as Json), JSON.stringify(schema)).toBeNull();
    for (const value of good) expect(misfits(schema, value), JSON.stringify([schema, value])).toEqual([]);
    for (const value of bad)
      expect(misfits(schema, value).length, JSON.stringify([schema, value])).toBeGreaterThan(0);
  }
});

test("SE-14: what only a keyword decides that is not run counts as fitting, also under not, oneOf, if and contains", () => {
  const texts = [{ pattern: "^a" }, { pattern: "^b" }];
  const closed = [{ unevaluatedProperties: false }, { unevaluatedProperties: false }];
  const fitting: readonly (readonly [object, unknown])[] = [
    [{ not: { pattern: "^x" } }, "a"],
    [{ oneOf: texts }, "a"],
    [{ oneOf: [{ format: "ipv4" }, { format: "ipv6" }] }, "::1"],
    [{ oneOf: closed }, { a: 1 }],
    [{ not: { patternProperties: { "^x": false } } }, { x: 1 }],
    [{ contains: { pattern: "^a" }, maxContains: 1 }, ["a", "b"]],
    [JSON.parse('{"if":{"pattern":"^a"},"then":false,"else":{"minLength":5}}') as object, "b"],
  ];
  for (const [schema, value] of fitting) expect(misfits(schema, value), JSON.stringify(schema)).toEqual([]);
  expect(misfits({ oneOf: [{ type: "number" }, { pattern: "^b", minLength: 5 }] }, "a")).toHaveLength(1);
  expect(misfits({ oneOf: texts }, 1)).toHaveLength(1);
  expect(misfits({ not: { format: "ipv4" } }, 1)).toHaveLength(1);
});

test("★ SE-14: a required field that properties do not mention is missed", () => {
  expect(misfits({ type: "object", required: ["s"] }, { n: 4 })).toEqual(["s: is required"]);
});

test("SE-14: a misfit says path and rule, five at most", () => {
  const schema = { properties: { a: { items: { properties: { b: { minimum: 2 } } } } } };
  expect(misfits(schema, { a: [{ b: 2 }, { b: 1 }] })).toEqual(["a.1.b: must be at least 2"]);
  expect(misfits({ type: "string" }, 1)).toEqual(["the value: expected string, found number"]);
  expect(misfits({ enum: ["a", "b"] }, "c")).toEqual(['the value: must be one of "a", "b"']);
  expect(misfits({ items: { type: "string" } }, [1, 2, 3, 4, 5, 6])).toHaveLength(5);
});

test("SE-14: fields named like parts of the language are only fields", () => {
  for (const name of ["__proto__", "constructor", "toString", "pattern", "then"]) {
    const schema = JSON.parse(
      `{"required":["${name}"],"properties":{"${name}":{"type":"number"}},"additionalProperties":false}`,
    ) as Json;
    expect(misfits(schema, {}), name).toEqual([`${name}: is required`]);
    expect(misfits(schema, JSON.parse(`{"${name}":1}`)), name).toEqual([]);
    expect(misfits(schema, JSON.parse(`{"${name}":"x"}`)), name).toHaveLength(1);
  }
});

test("CF-25, T28: a schema that is not one, or holds what would be passed over, is refused with the place", () => {
  const refused: readonly (readonly [unknown, string])[] = [
    [true, "a JSON Schema is an object"],
    [{ type: "strng" }, "type: must be among null, boolean"],
    [{ properties: { n: { minimum: "1" } } }, "properties: n: minimum: must be a number"],
    [{ properties: ["n"] }, "properties: must be an object of schemas"],
    [{ items: 5 }, "items: must be a schema"],
    [{ anyOf: [] }, "anyOf: must be a list of schemas"],
    [{ required: "n" }, "required: must be a list of names"],
    [{ exclusiveMinimum: true }, "exclusiveMinimum: must be a number"],
    [{ minLength: -1 }, "minLength: must be a whole number from 0"],
    [{ multipleOf: 0 }, "multipleOf: must be a number over 0"],
    [{ $ref: "#/$defs/none" }, "$ref: there is nothing at #/$defs/none"],
    [{ $ref: "other.json" }, "$ref: only references inside the schema are followed"],
    [{ $ref: "#anchor" }, "$ref: only references inside the schema are followed"],
    [{ unevaluatedProperties: false }, "unevaluatedProperties: is not supported"],
    [{ $dynamicRef: "#x" }, "$dynamicRef: is not supported"],
  ];
  for (const [schema, message] of refused) expect(schemaProblem(schema as Json)).toContain(message);
  expect(
    schemaProblem({ title: "x", $schema: "https://json-schema.org/draft/2020-12/schema", "x-own": 1 }),
  ).toBeNull();
});

test("CF-9, CF-25: a schema may be 16 levels deep; at any greater depth it is refused, and nothing is thrown", () => {
  const nested = (levels: number): Json =>
    JSON.parse(`${'{"not":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`) as Json;
  expect(schemaProblem(nested(16))).toBeNull();
  for (const levels of [17, 3_000, 30_000])
    expect(schemaProblem(nested(levels))).toBe("the schema is nested deeper than 16 levels");
  const list = JSON.parse(`{"default":${"[".repeat(30_000)}${"]".repeat(30_000)}}`) as Json;
  expect(schemaProblem(list)).toBe("the schema is nested deeper than 16 levels");
});

test("T28: references that chase each other, and schemas that multiply, end in a misfit and not in a crash", async () => {
  const loops = { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" };
  const negated = { $defs: { a: { not: { $ref: "#/$defs/a" } } }, $ref: "#/$defs/a" };
  const doubling = {
    $defs: Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [
        `d${at}`,
        { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
      ]),
    ),
  };
  const bomb = { $defs: { ...doubling.$defs, d60: false }, $ref: "#/$defs/d0" };
  const wide = { items: { anyOf: Array.from({ length: 2_000 }, (_, at) => ({ const: at })) } };
  const list = Array.from({ length: 50_000 }, () => "x");
  const took = await cpuOf(() => {
    for (const [schema, value] of [
      [loops, 1],
      [negated, 1],
      [bomb, 1],
      [wide, list],
    ] as const) {
      expect(schemaProblem(schema as Json)).toBeNull();
      expect(misfits(schema, value)[0]).toContain("could not be checked");
    }
  });
  expect(took).toBeLessThan(5_000);
});

test("T28: no schema and no value makes the check throw", () => {
  fc.assert(
    fc.property(fc.json(), fc.jsonValue(), (text, value) => {
      const schema = JSON.parse(text) as Json;
      if (schemaProblem(schema) === null) misfits(schema, value);
      const keyed = { type: schema, properties: schema, required: schema, $ref: schema, enum: schema };
      for (const [key, rule] of Object.entries(keyed))
        if (schemaProblem({ [key]: rule }) === null) misfits({ [key]: rule }, value);
    }),
    { numRuns: 500 },
  );
});

test("TB-2, TB-38: arguments of a tool that has a JSON Schema only are read as strictly as any", () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer" } },
    required: ["n"],
    additionalProperties: false,
  };
  const read = (raw: string): string => {
    const parsed = parseForeignArguments("pick", schema, raw);
    return parsed.ok ? JSON.stringify(parsed.args) : JSON.stringify(parsed.error.content);
  };
  expect(read('{"n":1}')).toBe('{"n":1}');
  expect(read("")).toContain("invalid_arguments: n: is required. Correct the call of pick");
  expect(read('{"n":1')).toContain("not valid JSON");
  expect(read('{"n":1,"n":2}')).toContain("twice");
  expect(read('{"n":1,"m":2}')).toContain("m: is not allowed here");
  expect(read("[".repeat(40) + "]".repeat(40))).toContain("nested deeper than 32");
});
