import { expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import { readBlocks } from "../../src/console/parts/markdown-blocks.ts";
import { readInlines } from "../../src/console/parts/markdown-inlines.ts";

/** AP-54: markdown as values; what it cannot read stays text. */

const kinds = (text: string): readonly string[] => readBlocks(text).map(({ kind }) => kind);

test("AP-54: blocks are told apart, and paragraphs end where another block begins", () => {
  expect(
    kinds("# One\ntext\n- a\n- b\n\n> quoted\n\n---\n\n```js\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
  ).toEqual(["heading", "paragraph", "list", "quote", "rule", "code", "table"]);
});

test("AP-54: code keeps its lines, also while its fence is still open", () => {
  expect(readBlocks("```ts\na\n\n  b\n```\nafter")).toMatchObject([
    { kind: "code", language: "ts", text: "a\n\n  b" },
    { kind: "paragraph", text: "after" },
  ]);
  expect(readBlocks("```\nno *end*")).toMatchObject([{ kind: "code", text: "no *end*" }]);
});

test("AP-54: lists nest, number on, hold several blocks, and know tasks", () => {
  const [list] = readBlocks("3. one\n   - in\n     more\n\n   para\n4. [x] two");
  expect(list).toMatchObject({
    kind: "list",
    start: 3,
    items: [
      {
        done: null,
        blocks: [
          { text: "one" },
          { kind: "list", items: [{ blocks: [{ text: "in\nmore" }] }] },
          { text: "para" },
        ],
      },
      { done: true, blocks: [{ text: "two" }] },
    ],
  });
  expect(kinds("It was 1985.\n1985. was a year")).toEqual(["paragraph"]);
});

test("AP-54: emphasis, code, links and breaks inside of a text", () => {
  expect(readInlines("a **b *c*** `d * e` ~~f~~ [g](https://x.example/?a=b) h")).toEqual([
    { kind: "text", text: "a " },
    {
      kind: "strong",
      inner: [
        { kind: "text", text: "b " },
        { kind: "em", inner: [{ kind: "text", text: "c" }] },
      ],
    },
    { kind: "text", text: " " },
    { kind: "code", text: "d * e" },
    { kind: "text", text: " " },
    { kind: "del", inner: [{ kind: "text", text: "f" }] },
    { kind: "text", text: " " },
    { kind: "link", href: "https://x.example/?a=b", inner: [{ kind: "text", text: "g" }] },
    { kind: "text", text: " h" },
  ]);
  expect(readInlines("2 * 3 * 4, snake_case_name, 5 < 6 & 7")).toEqual([
    { kind: "text", text: "2 * 3 * 4, snake_case_name, 5 < 6 & 7" },
  ]);
  expect(readInlines("see https://x.example/a.")).toMatchObject([
    {},
    { kind: "link", href: "https://x.example/a" },
    { text: "." },
  ]);
  expect(readInlines("a\nb", true).map(({ kind }) => kind)).toEqual(["text", "break", "text"]);
});

const attacks = [
  "*",
  "**a",
  "_a ",
  "[",
  "![",
  "`",
  "> ",
  "- ",
  "1. ",
  "|",
  "~~~",
  "<",
  "&",
  "h",
  "[a](",
  "\\",
].map((attack) => attack.repeat(5_000));

test("RE-T31: markup is text, and an attack on the reader's time takes none", async () => {
  expect(readInlines("<b>x</b>")).toEqual([{ kind: "text", text: "<b>x</b>" }]);
  const readAll = (): void => {
    for (const text of [...attacks, "*a ".repeat(40_000), `# a${" ".repeat(60_000)}b`])
      readBlocks(text).forEach((block) => "text" in block && readInlines(block.text));
  };
  expect(await cpuOf(readAll)).toBeLessThan(4_000);
});
