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

test("AP-54: a heading, an item and emphasis may be as long as they like, and closing marks of a heading are none of its text", () => {
  const words = "word ".repeat(1_000);
  expect(readBlocks(`## ${words}##  `)).toMatchObject([{ kind: "heading", level: 2, text: words.trim() }]);
  expect(readBlocks("# C#")).toMatchObject([{ level: 1, text: "C#" }]);
  expect(readBlocks("# ##")).toMatchObject([{ level: 1, text: "" }]);
  expect(kinds("#none\n\n-\n\n~~~ a\n~~~\n\n| a |\n| :-: |")).toEqual(["paragraph", "list", "code", "table"]);
  expect(readInlines(`*${words}x*`)).toMatchObject([{ kind: "em" }]);
});

test("RE-T31: markup is text", () => {
  expect(readInlines("<b>x</b>")).toEqual([{ kind: "text", text: "<b>x</b>" }]);
});

const size = 100_000;
const blanks = " ".repeat(size);

/** Repeats a text until a line is full. */
const fill = (text: string): string => text.repeat(Math.ceil(size / text.length));

/** Lines that are as long as `size`, or lines that are so together. */
const hostile: Readonly<Record<string, string>> = {
  "blanks in a divider": `a|b\n-${blanks}x`,
  "blanks between dividers": `a|b\n-|-${blanks}x`,
  "blanks behind a fence": `\`\`\`${blanks}\``,
  "a fence of tildes that is none": `${fill("~")}\``,
  "blanks in a heading": `# a${blanks}b`,
  "headings with many blanks": fill(`# ${" ".repeat(990)}x\n`),
  "marks in a heading": `# ${fill("# ")}x`,
  "an item of blanks with another line break": `- ${blanks}\u2028`,
  "blanks behind a rule": `*${blanks}x`,
  "a rule that is none": `${fill("* ")}x`,
  "quotes in quotes": fill("> "),
  "items in items": fill("- "),
  "numbers in numbers": fill("1. "),
  "cells of a table": `a${fill("|")}\n${fill("|")}-`,
  "emphasis that nothing closes": fill("*a "),
  "strong emphasis that nothing closes": fill("**a "),
  "emphasis in words": fill("_a "),
  "emphasis in emphasis": fill("*a **b *c __d "),
  "stars behind a word": `x${fill("*")}`,
  "backquotes behind a word": `x${fill("`")}`,
  "brackets that nothing closes": fill("["),
  "links that nothing closes": fill("[a]("),
  "blanks in the address of a link": fill(`[](${" ".repeat(4_990)}`),
  "images that nothing closes": fill("!["),
  "an address that ends with many brackets": fill(`http://a${")".repeat(1_980)}x `),
  "angles that nothing closes": fill("<http://"),
  backslashes: fill("\\"),
  entities: fill("&amp"),
  "letters that begin addresses": fill("h"),
};

const readAll = (text: string): void => {
  for (const block of readBlocks(text)) if ("text" in block) readInlines(block.text);
};

test.each(Object.entries(hostile))(
  "RE-T31: an attack on the reader's time takes none: %s",
  async (_, text) => {
    const harmless = await cpuOf(() => readAll(fill("word *a* ")));
    expect(await cpuOf(() => readAll(text))).toBeLessThan(200 + 10 * harmless);
  },
);
