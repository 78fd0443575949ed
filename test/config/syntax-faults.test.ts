import { expect, test } from "vitest";
import { readDocument } from "../../src/config/document/document.ts";

/** What an author reads who knows no YAML. */

const findingOf = (text: string): string => {
  const { findings, place } = readDocument("team.yaml", text);
  const [found] = findings;
  if (found === undefined) throw new Error("nothing was found");
  const { line, column } = place(found.offset);
  return `${line}:${column} ${found.code} ${found.message}`;
};

const indentation =
  "the indentation does not fit: keys of one map begin in the same column, and so do the items of a list";

const faults: readonly (readonly [string, string, string])[] = [
  [
    "a colon in a text",
    "agents:\n  - name: a\n    instructions: Help: be brief\n",
    '3:19 yaml_syntax quote the text: it contains a colon; write "Help: be brief"',
  ],
  [
    "a colon in the first key of an item",
    "agents:\n  - description: Note: it is so\n    name: a\n",
    '2:18 yaml_syntax quote the text: it contains a colon; write "Note: it is so"',
  ],
  [
    "a colon in a text in braces",
    "rules:\n  - { act: delete, reason: Ask: first }\n",
    '2:28 yaml_syntax quote the text: it contains a colon; write "Ask: first"',
  ],
  ["a colon without a blank", "a: 1\nb:2\n", "2:1 yaml_syntax put a space after the colon: b: 2"],
  ["a colon without a blank at the top", "a:1\nb: 2\n", "1:1 yaml_syntax put a space after the colon: a: 1"],
  [
    "a dash without a blank",
    "agents:\n  -name: a\n    instructions: b\n",
    "2:3 yaml_syntax put a space after the dash of each item: - name: a",
  ],
  [
    "a dash without a blank below one with it",
    "agents:\n  - name: a\n  -name: b\n",
    "3:3 yaml_syntax put a space after the dash of each item: - name: b",
  ],
  [
    "a dash without a blank above one with it",
    "agents:\n  -name: a\n  - name: b\n",
    "2:3 yaml_syntax put a space after the dash of each item: - name: a",
  ],
  [
    "a tab",
    "agents:\n\t- name: a\n",
    "2:1 yaml_syntax there is a tab in the indentation; indent with spaces",
  ],
  [
    "a key too far left",
    "agents:\n  - name: a\n   instructions: b\n",
    "3:4 yaml_syntax the key instructions is not in line with those above: begin it in column 5, like name",
  ],
  [
    "a key between two maps",
    "agents:\n  - name: a\n    options:\n      max_iterations: 3\n     skills: none\n",
    "5:6 yaml_syntax the key skills is not in line with those above: begin it in column 5, like options, or in column 7, like max_iterations",
  ],
  [
    "a key in the column of the dashes",
    "agents:\n  - name: a\n  instructions: b\n",
    "3:3 yaml_syntax the key instructions is not in line with those above: begin it in column 1, like agents, or in column 5, like name",
  ],
  [
    "a dash too far right",
    "agents:\n  - name: a\n   - name: b\n",
    "3:4 yaml_syntax this dash is not in line with those above: begin it in column 3, like the dash above",
  ],
  [
    "a key behind a text whose lines look like keys",
    "agents:\n  - name: a\n    instructions: |\n      One:\n       two: b\n   skills: none\n",
    "6:4 yaml_syntax the key skills is not in line with those above: begin it in column 5, like instructions",
  ],
  [
    "a key too far right",
    "agents:\n  - name: a\n      instructions: b\n",
    "3:7 yaml_syntax the key instructions is indented too deep: begin it in the same column as name",
  ],
  [
    "a key too far right below a text of several lines",
    "agents:\n  - name: a\n    instructions: be brief\n      and kind\n\n      skills: none\n    prefix: b\n",
    "6:7 yaml_syntax the key skills is indented too deep: begin it in the same column as instructions",
  ],
  ["a list among keys", "a:\n  c: d\n  - b\n", `3:1 yaml_syntax ${indentation}`],
  ["an open quote", 'a: "open\nb: 1\n', "1:4 yaml_syntax a quote is opened here and never closed"],
  [
    "an apostrophe in quotes",
    "a: 'it's'\nb: 1\n",
    "1:8 yaml_syntax text follows where the value has ended; quote all of it, and write '' for a ' in single quotes",
  ],
  ["an open brace", "a: { b: 1\nc: 2\n", "2:1 yaml_syntax an earlier bracket is not closed; close it with }"],
  [
    "an open bracket",
    "a: [1, 2\nb: 3\n",
    "2:1 yaml_syntax an earlier bracket is not closed; close it with ]",
  ],
  [
    "a secret in braces",
    "a: { b: ${KEY} }\n",
    '1:10 yaml_syntax quote a text that has braces or brackets in it: "${NAME}"',
  ],
  ["an at sign", "a: @x\n", "1:4 yaml_syntax a text cannot begin with @; quote it"],
  ["a backtick", "a: `x`\n", "1:4 yaml_syntax a text cannot begin with `; quote it"],
  ["a percent sign", "a: %x\n", "1:4 yaml_syntax a text cannot begin with %; quote it"],
  [
    "a key without a value",
    "a: 1\nb\nc: 3\n",
    '2:1 yaml_syntax a key and its value are expected here, like "name: value"',
  ],
  [
    "text behind a bar",
    "a: > text here\n",
    "1:6 yaml_syntax a text that begins with | or > continues in the lines below, indented",
  ],
  [
    "a path in double quotes",
    'a: "C:\\Users"\n',
    "1:7 yaml_syntax a backslash in double quotes begins an escape; use single quotes, or write it twice",
  ],
  ["a comment at a text", 'a: "x"#c\n', "1:7 yaml_syntax put a space before the #"],
  [
    "an item behind its key",
    "a: - b\n",
    "1:4 yaml_syntax a list begins in the line below its key, not after it",
  ],
  [
    "a star in brackets",
    "allow: [*.example.com, b]\n",
    '1:9 yaml_alias a text cannot begin with *; quote it: "*.example.com"',
  ],
  [
    "a star in an item",
    "allow:\n  - *.example.com # all\n",
    '2:5 yaml_alias a text cannot begin with *; quote it: "*.example.com"',
  ],
  ["a star alone", "allow: * # all\n", '1:8 yaml_alias a text cannot begin with *; quote it: "*"'],
  ["a star alone in brackets", "allow: [*, b]\n", '1:9 yaml_alias a text cannot begin with *; quote it: "*"'],
  ["a star before a text", "a: * b\n", '1:4 yaml_alias a text cannot begin with *; quote it: "* b"'],
  ["a star before more", "a: *b c\n", '1:4 yaml_syntax a text cannot begin with *; quote it: "*b c"'],
  [
    "a star before a brace",
    "a: *.{ts,js}\n",
    '1:4 yaml_syntax a text cannot begin with *; quote it: "*.{ts,js}"',
  ],
  ["a star as a key", "a:\n  *: deny\n", '2:3 yaml_syntax a text cannot begin with *; quote it: "*"'],
  [
    "a star in another line",
    "allow: [\n  *, b\n]\n",
    '2:3 yaml_alias a text cannot begin with *; quote it: "*"',
  ],
  ["an ampersand alone", "a: & b\n", '1:4 yaml_alias a text cannot begin with &; quote it: "& b"'],
  [
    "a text behind a quoted star",
    'a: "x *y" z\n',
    "1:11 yaml_syntax text follows where the value has ended; quote all of it, and write '' for a ' in single quotes",
  ],
  ["an anchor that is missing", "a: *b\n", "1:4 yaml_alias the anchor &b is not defined before this place"],
];

test.each(faults)("CF-30: %s is explained in plain words", (_, text, said) => {
  expect(findingOf(text)).toBe(said);
});

test("CF-9: a long line of colons is explained within two seconds", () => {
  const begun = performance.now();
  for (const piece of ["* ", "*{", "{a: ", ": ", "a: b: ", "{ a: b, c: d: "])
    findingOf(`a: ${piece.repeat(20_000)}\n`);
  expect(performance.now() - begun).toBeLessThan(8_000);
});
