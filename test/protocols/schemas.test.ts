import { expect, test } from "vitest";
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
