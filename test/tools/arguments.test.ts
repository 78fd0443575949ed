import { expect, test } from "vitest";
import * as z from "zod";
import { cpuOf } from "../support/cpu.ts";
import { parseArguments, takeArguments } from "../../src/tools/arguments.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { findSchemaErrors } from "../../src/tools/schema/json-schema.ts";
import { unknownToolText } from "../../src/tools/toolbox.ts";

const tool = defineTool({
  name: "sample",
  description: "d",
  params: z.strictObject({
    path: z.string().default("x").describe("p"),
    deep: z.strictObject({ count: z.int() }).optional().describe("d"),
    many: z.array(z.unknown()).optional().describe("m"),
    max_results: z.int().optional().describe("r"),
  }),
  aliases: { maxResults: "max_results" },
  run: () => ({ content: "" }),
});
const parse = (raw: string) => {
  const parsed = parseArguments(tool, raw);
  return parsed.ok ? parsed.args : parsed.error.content;
};

test("TB-2: empty text counts as {}, defaults are filled in", () => {
  expect([parse(""), parse("  \n"), parse("{}")]).toEqual([{ path: "x" }, { path: "x" }, { path: "x" }]);
});

test("TB-2: unknown, missing and mistyped fields name path and rule", () => {
  expect(parse('{"path":1}')).toMatch(/^invalid_arguments: path: expected a text, found the number 1/);
  expect(parse('{"deep":{"count":"1"}}')).toMatch(/^invalid_arguments: deep\.count: /);
  expect(parse('{"nope":1}')).toMatch(/^invalid_arguments: .*nope/);
  expect(parse("[]")).toMatch(/^invalid_arguments: arguments: /);
  expect(parse("null")).toMatch(/^invalid_arguments: arguments: /);
});

test("SE-2: ★ JSON that is cut off or sloppy is never repaired", () => {
  for (const raw of [
    '{"path":',
    "{path:'x'}",
    '{"path":"x",}',
    "```json\n{}\n```",
    '{"path":"x"} trailing',
  ]) {
    expect(parse(raw)).toMatch(/^invalid_arguments: /);
  }
});

test("TB-2: a long text that is cut off inside a string is read once, wherever it is cut", async () => {
  const html = `{"path":"${'<a href=\\"x\\">'.repeat(20_000)}`;
  for (const raw of [html, `${html}\\`, `${html}\\"`]) {
    const took = await cpuOf(() => {
      expect(parse(raw)).toMatch(/^invalid_arguments: the arguments of sample are not valid JSON/);
    });
    expect(took).toBeLessThan(500);
  }
});

test("TB-2: a key twice, depth over 32 and more than 1 MiB are refused; braces in strings do not count", () => {
  expect(parse('{"path":"a","path":"b"}')).toContain('the key "path" twice');
  expect(parse('{"deep":{"count":1},"many":[{"count":1},{"count":2}]}')).toMatchObject({
    deep: { count: 1 },
  });
  expect(parse(`{"many":${"[".repeat(31)}${"]".repeat(31)}}`)).toMatchObject({ path: "x" });
  expect(parse(`{"many":${"[".repeat(32)}${"]".repeat(32)}}`)).toContain("deeper than 32");
  expect(parse(`{"many":${"[".repeat(200_000)}`)).toContain("deeper than 32");
  expect(parse(JSON.stringify({ path: '{"[{[' + '\\"'.repeat(50) }))).toMatchObject({
    path: expect.any(String),
  });
  expect(parse(JSON.stringify({ path: "x".repeat(1_048_576) }))).toContain("1 MiB");
});

test("toolboxes §3: other spellings of a parameter are accepted; both at once are not", () => {
  expect(parse('{"maxResults":3}')).toEqual({ path: "x", max_results: 3 });
  expect(parse('{"maxResults":3,"max_results":4}')).toMatch(/^invalid_arguments: /);
});

test("TB-2: a run that changes its arguments changes those of no other call", () => {
  const tool = { name: "t", params: z.strictObject({ list: z.array(z.int()) }), aliases: {} };
  const list = (given: ReturnType<typeof takeArguments>): number[] =>
    (given as unknown as { args: { list: number[] } }).args.list;
  expect(parseArguments(tool, '{"list":[1]}').ok).toBe(true);
  list(takeArguments(tool, '{"list":[1]}')).push(2);
  expect(list(takeArguments(tool, '{"list":[1]}'))).toEqual([1]);
});

test("TB-2 SE-2: a long name in a message is cut between characters", () => {
  const name = "😀".repeat(120);
  const messages = [
    parse(`{"${name}":1,"${name}":2}`),
    unknownToolText(`a${name}`, []),
    findSchemaErrors({ enum: [`a${name}`] }, "sad", "the value"),
  ].map(String);
  for (const message of messages) {
    expect(message).toContain("😀");
    expect(message).not.toMatch(/[\ufffd\p{Cs}]|\\ud/u);
  }
});
