import * as fc from "fast-check";
import { expect, test } from "vitest";
import { imageSize } from "../../src/chat/image-size.ts";
import type { Part } from "../../src/chat/message.ts";
import { estimateRequest, estimateText, estimateTokens, utf8Length } from "../../src/chat/tokens.ts";
import type { TokenFamily } from "../../src/chat/tokens.ts";

const base64 = (bytes: readonly number[]): string => Buffer.from(bytes).toString("base64");
const big = (value: number, size: number) =>
  Array.from({ length: size }, (_, i) => (value >> (8 * (size - 1 - i))) & 255);
const little = (value: number, size: number) => big(value, size).reverse();
const ascii = (text: string) => Array.from(text, (letter) => letter.charCodeAt(0));

const png = (width: number, height: number) =>
  base64([
    0x89,
    ...ascii("PNG\r\n\u001a\n"),
    0,
    0,
    0,
    13,
    ...ascii("IHDR"),
    ...big(width, 4),
    ...big(height, 4),
    8,
    2,
  ]);
const gif = (width: number, height: number) =>
  base64([...ascii("GIF89a"), ...little(width, 2), ...little(height, 2), 0, 0]);
const segment = (marker: number, bytes: readonly number[]) => [
  0xff,
  marker,
  ...big(bytes.length + 2, 2),
  ...bytes,
];
const jpeg = (width: number, height: number) =>
  base64([
    0xff,
    0xd8,
    ...segment(
      0xe1,
      Array.from({ length: 60_000 }, () => 0xc0),
    ),
    ...segment(0xc4, [1, 2, 3]),
    ...segment(0xc2, [8, ...big(height, 2), ...big(width, 2), 3, 1, 1, 1, 2, 2, 2]),
  ]);
const riff = (chunk: string, bytes: readonly number[]) =>
  base64([...ascii("RIFF"), 0, 0, 0, 0, ...ascii("WEBP"), ...ascii(chunk), 0, 0, 0, 0, ...bytes]);
const webp = (width: number, height: number) => ({
  lossy: riff("VP8 ", [0, 0, 0, 0x9d, 1, 0x2a, ...little(width, 2), ...little(height, 2)]),
  lossless: riff("VP8L", [0x2f, ...little((width - 1) | ((height - 1) << 14), 4)]),
  extended: riff("VP8X", [0, 0, 0, 0, ...little(width - 1, 3), ...little(height - 1, 3)]),
});

const image: Part = { type: "image", blob: "b", media_type: "image/png" };
const tokens = (parts: readonly Part[], media = "", family: TokenFamily = "anthropic") =>
  estimateTokens(parts, { family, media: () => media });

test("MO-34: a 3 MB photo is thousands of tokens, not 9 and not a million", () => {
  const photo = Buffer.concat([Buffer.from(jpeg(4000, 3000), "base64"), Buffer.alloc(3_000_000)]).toString(
    "base64",
  );
  expect(tokens([image], photo)).toBe(4004);
  expect(tokens([image], photo, "openai-chat")).toBe(14_104);
  expect(tokens([image], photo, "gemini")).toBe(1124);
});

test("MO-34: the size of PNG, GIF, JPEG and the three WebP forms is read from the header", () => {
  const { lossy, lossless, extended } = webp(1000, 700);
  for (const data of [png(1000, 700), gif(1000, 700), jpeg(1000, 700), lossy, lossless, extended])
    expect(imageSize(data)).toMatchObject({ width: 1000, height: 700 });
  expect(tokens([image], png(1000, 700))).toBe(4 + 36 * 25);
  expect(tokens([image], png(1000, 700), "openai-chat")).toBe(4 + Math.ceil(1.2 * 32 * 22));
});

test("MO-34: images are capped by family, unreadable ones and addresses count 3 000", () => {
  expect(tokens([image], png(9000, 9000))).toBe(4004);
  expect(tokens([image], png(9000, 9000), "openai-chat")).toBe(15_004);
  for (const data of ["", "AAAA", png(0, 5), jpeg(1, 1).slice(0, 100)])
    expect(tokens([image], data)).toBe(3004);
  expect(tokens([{ type: "image", url: "https://h/x.png", media_type: "image/png" }])).toBe(3004);
});

test("MO-34: any bytes as an image give a size or none, never an error", () => {
  const starts = [[0xff, 0xd8], [0x89, ...ascii("PNG")], ascii("GIF8"), ascii("RIFF"), []];
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 200 }), (start, bytes) => {
      const size = imageSize(base64([...start, ...bytes]));
      expect(size === null || (size.width > 0 && size.height > 0)).toBe(true);
    }),
  );
});

test("MO-34: a PDF counts by its pages, else by its bytes; a text document like text", () => {
  const document = (media_type: string): Part => ({ type: "document", blob: "b", media_type });
  const pages = "<< /Type /Page /Parent 1 >> << /Type/Pages >> << /Type/Page>>";
  expect(tokens([document("application/pdf")], Buffer.from(pages).toString("base64"))).toBe(6004);
  expect(tokens([document("application/pdf")], Buffer.alloc(1001).toString("base64"))).toBe(4 + 51);
  expect(tokens([document("text/plain")], Buffer.alloc(1001).toString("base64"))).toBe(4 + 251);
});

test("MO-34: text, calls and results count a quarter of their UTF-8 bytes, a message four more", () => {
  expect(tokens([{ type: "text", text: "ééé" }])).toBe(4 + 2);
  expect(tokens([{ type: "tool_call", id: "c1", name: "ab", args: "12345" }])).toBe(4 + 3);
  const content = [{ type: "text", text: "12345" } as const, image];
  const result: Part = { type: "tool_result", call: "c1", name: "t", status: "ok", content };
  expect(tokens([result], png(28, 28))).toBe(4 + 2 + 1);
});

test("MO-34: reasoning counts only if it can be sent back", () => {
  const reasoning: Part = { type: "reasoning", text: "12345678", model: "p/m" };
  expect(tokens([reasoning])).toBe(4);
  expect(tokens([{ ...reasoning, opaque: { provider: "p", model: "m", data: "sig" } }])).toBe(6);
  const sealed = { provider: "p", model: "m", data: "x".repeat(398) };
  expect(tokens([{ ...reasoning, opaque: sealed }]), "the text is a summary of it").toBe(4 + 100);
});

test("MO-34: a request adds stored figures, the system prompt once and its tools", () => {
  const tools = [{ name: "ab", description: "cdef", schema: { a: 1 } }];
  const request = { system: "12345", messages: [{ tokens: 7 }, { tokens: 5 }], tools };
  expect(estimateRequest(request)).toBe(7 + 5 + 2 + Math.ceil(13 / 4) + 10);
});

test("MO-34: UTF-8 bytes are counted as they would be encoded", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      expect(utf8Length(text)).toBe(Buffer.byteLength(text));
    }),
  );
  for (const lone of ["\ud800", "a\udc00b", "\ud800\ud800\udc00"])
    expect(utf8Length(lone)).toBe(Buffer.byteLength(lone));
  expect(estimateText("")).toBe(0);
});
