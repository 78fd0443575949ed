import * as fc from "fast-check";
import { expect, test } from "vitest";
import { digestBody } from "../../src/protocols/body.ts";

/** The digest of a body over its parts: the same for the same parts, however much of it was computed before. */

const texts = fc.array(fc.string({ maxLength: 5 }), { maxLength: 40 });

const messagesOf = (list: readonly string[]) => list.map((text) => ({ text }));

test("the same parts have the same digest, with and without what is known of earlier requests", () => {
  fc.assert(
    fc.property(texts, fc.string(), fc.string(), (list, head, rest) => {
      const messages = messagesOf(list);
      for (let length = 0; length <= messages.length; length++)
        digestBody({ head: `${head}-`, messages: messages.slice(0, length), rest });
      const known = digestBody({ head, messages, rest });
      expect(digestBody({ head, messages: messagesOf(list), rest })).toBe(known);
    }),
  );
});

test("another head, message, order, boundary or rest has another digest", () => {
  const list = Array.from({ length: 20 }, (_, at) => `m${at}`);
  const messages = messagesOf(list);
  const whole = digestBody({ head: "h", messages, rest: "r" });
  const others = list.flatMap((text, at) => [
    digestBody({ head: "h", messages: messages.toSpliced(at, 1, { text: `${text}!` }), rest: "r" }),
    digestBody({ head: "h", messages: messages.toSpliced(at, 1), rest: "r" }),
    digestBody({ head: "h", messages: messages.toSpliced(at, 2, { text: `${text}m${at + 1}` }), rest: "r" }),
  ]);
  const more = [
    digestBody({ head: "h2", messages, rest: "r" }),
    digestBody({ head: "h", messages, rest: "r2" }),
    digestBody({ head: "h", messages: messages.toReversed(), rest: "r" }),
    digestBody({ head: "h", messages: [...messages, { text: "" }], rest: "r" }),
  ];
  expect(new Set([whole, ...others, ...more]).size).toBe(1 + others.length + more.length);
});
