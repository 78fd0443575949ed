import { expect, test } from "vitest";
import { readHtml } from "../../src/toolboxes/http/html-text.ts";
import { readAnswer } from "../../src/toolboxes/http/read-answer.ts";

/** What a model reads of a web page. */

const address = "https://harbour.example/tides/";

const textOf = (html: string): string => readHtml(html, address).text;

test.each([
  ["a script that ends nowhere", "<p>High<script>var low = '<p>no'</p>", "High"],
  ["a style that ends nowhere", "<p>High<style>p { color: red }", "High"],
  ["an iframe that ends nowhere", "<p>High<iframe src=x><p>no", "High"],
  ["a noscript that ends nowhere", "<p>High<noscript><p>no", "High"],
  [
    "a template within another",
    "<p>High<template><b>no<template>in</template>no</template> water",
    "High water",
  ],
  ["a template that ends nowhere", "<p>High<template><p>no", "High"],
  ["a script within a svg", "<svg><title>no</title><script>no</script>no</svg>High", "High"],
  ["a tag in capitals", "<SCRIPT>no</SCRIPT >High", "High"],
  ["ends of what never began", "</script></template></svg>High", "High"],
  ["a comment that ends nowhere", "High<!-- no <p>no", "High"],
  ["the title of a head", "<head><title>no &amp; no</title><meta name=x></head><body>High", "High"],
  ["a head that ends nowhere", "<head><title>no</title><p>High", "High"],
  ["a title with a tag in it", "<title>no<b>no</title>High", "High"],
])("TB-19: what nobody reads is dropped, and nothing else: %s", (_case, html, text) => {
  expect(textOf(html)).toBe(text);
});

test("TB-19: entities become their characters, and one that is none stays", () => {
  expect(textOf("&lt;b&gt; &amp;amp; &nbsp;x &#x41;&#66; &hellip; &notit; &copy")).toBe(
    "<b> &amp; x AB … ¬it; ©",
  );
});

test("TB-19: links are absolute, each address once with its first words; other schemes, anchors and bare pictures are none", () => {
  const { links } = readHtml(
    "<a href='#top'>T</a><a href='/x#a'> high <b>water</b></a><a href='/x'>again</a><a href='javascript:1'>J</a>" +
      "<a href=' //moon.example/p '>M</a><a href='data:x'>D</a><a href='/im'><img alt=pic></a><a href='/im'>I</a>" +
      "<base href='https://sea.example/q/'><a href=r>R</a>",
    address,
  );
  expect(links).toEqual([
    { text: "high water", url: "https://harbour.example/x" },
    { text: "M", url: "https://moon.example/p" },
    { text: "I", url: "https://harbour.example/im" },
    { text: "R", url: "https://sea.example/q/r" },
  ]);
});

const read = async (bytes: Uint8Array, type: string): Promise<unknown> =>
  (await readAnswer(new Response(new Uint8Array(bytes), { headers: { "content-type": type } }), address))[
    "body"
  ];

const ascii = (text: string): number[] => Array.from(text, (letter) => letter.charCodeAt(0));

test("TB-19: a page is read in the charset of its header, else in that of its byte order mark or its own declaration", async () => {
  const russian = [0xcf, 0xf0, 0xe8, 0xeb, 0xe8, 0xe2];
  const declared = new Uint8Array([
    ...ascii('<head><meta http-equiv=x content="text/html; charset=windows-1251">'),
    ...russian,
  ]);
  expect(await read(declared, "text/html")).toBe("Прилив");
  expect(await read(declared, "text/html; charset='windows-1251'")).toBe("Прилив");
  expect(await read(declared, "text/html; charset=iso-8859-1")).toBe("Ïðèëèâ");
  expect(await read(declared, "text/plain")).toContain("\uFFFD");
  const short = new Uint8Array([...ascii('<meta charset="latin1">F'), 0xfc, ...ascii("r")]);
  expect(await read(short, "text/html")).toBe("Für");
  const sixteen = new Uint8Array([0xff, 0xfe, ...ascii("High").flatMap((code) => [code, 0])]);
  expect(await read(sixteen, "text/plain")).toBe("High");
  expect(await read(new Uint8Array([...ascii("<meta charset=utf-16>"), 0xc3, 0xbc]), "text/html")).toBe("ü");
  expect(await read(new Uint8Array([...ascii("<meta charset=no-such>"), 0xc3, 0xbc]), "text/html")).toBe("ü");
});

test("TB-19: an answer that is cut within a character ends before it", async () => {
  const body = String(await read(new TextEncoder().encode(`a${"ü".repeat(600_000)}`), "text/plain"));
  expect(body).toHaveLength(524_288);
  expect(body.at(-1)).toBe("ü");
});
