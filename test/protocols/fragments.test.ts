import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../src/chat/message.ts";
import type { Fragment } from "../../src/protocols/fragments.ts";
import { createFragmentCache, digestBody } from "../../src/protocols/fragments.ts";
import { cpuOf } from "../support/cpu.ts";
import { message as messageOf } from "../support/requests.ts";

/** The digest of a body over its parts: the same for the same parts, however much of it was computed before. */

const fragmentOf = (text: string): Fragment => ({ message: messageOf("user", []), target: "t", text });

const texts = fc.array(fc.string({ maxLength: 5 }), { maxLength: 40 });

test("the same parts have the same digest, with and without what is known of earlier requests", () => {
  fc.assert(
    fc.property(texts, fc.string(), fc.string(), (list, head, rest) => {
      const fragments = list.map(fragmentOf);
      for (let length = 0; length <= fragments.length; length++)
        digestBody({ head: `${head}-`, fragments: fragments.slice(0, length), rest });
      const known = digestBody({ head, fragments, rest });
      expect(digestBody({ head, fragments: list.map(fragmentOf), rest })).toBe(known);
    }),
  );
});

test("another head, message, order, boundary or rest has another digest", () => {
  const list = Array.from({ length: 20 }, (_, at) => `m${at}`);
  const fragments = list.map(fragmentOf);
  const digestOf = (each: readonly Fragment[]) => digestBody({ head: "h", fragments: each, rest: "r" });
  const others = list.flatMap((text, at) => [
    digestOf(fragments.toSpliced(at, 1, fragmentOf(`${text}!`))),
    digestOf(fragments.toSpliced(at, 1)),
    digestOf(fragments.toSpliced(at, 2, fragmentOf(`${text}m${at + 1}`))),
  ]);
  const more = [
    digestBody({ head: "h2", fragments, rest: "r" }),
    digestBody({ head: "h", fragments, rest: "r2" }),
    digestOf(fragments.toReversed()),
    digestOf([...fragments, fragmentOf("")]),
  ];
  expect(new Set([digestOf(fragments), ...others, ...more]).size).toBe(1 + others.length + more.length);
});

const long = "x".repeat(8_000_000);

test("a long message is built for each request, but hashed once; another text of it has another digest", async () => {
  const message = messageOf("user", []);
  const serialise = createFragmentCache();
  let built = 0;
  const digestOf = (target: string, text: string): string => {
    const build = () => {
      built += 1;
      return { text };
    };
    const fragments = serialise([message], () => target, build);
    return digestBody({ head: "h", fragments, rest: "r" });
  };
  const digests: string[] = [];
  const first = await cpuOf(() => digests.push(digestOf("t", long)));
  const second = await cpuOf(() => digests.push(digestOf("t", long)));
  expect(second).toBeLessThan(first / 4);
  expect(built).toBe(2);
  digests.push(digestOf("t", `${long}y`), digestOf("u", `y${long}`));
  expect(digests[1]).toBe(digests[0]);
  expect(new Set(digests).size).toBe(3);
});

test("a short message is built once for each target", () => {
  const message = messageOf("user", []);
  const serialise = createFragmentCache();
  const built = ["t", "t", "u", "t"].map(
    (target) =>
      serialise(
        [message],
        () => target,
        () => ({ text: target }),
      )[0],
  );
  expect(built[1]).toBe(built[0]);
  expect(built[3]).not.toBe(built[0]);
  expect(built.map((fragment) => fragment?.text)).toEqual(["t", "t", "u", "t"]);
});

/** A history that changed: what it keeps of the one before, what is new, and to whom it is sent. */
const changes = fc.array(
  fc.record({
    from: fc.nat(3),
    to: fc.nat(30),
    at: fc.nat(30),
    remove: fc.nat(2),
    add: fc.array(fc.nat(1_000), { maxLength: 12 }),
    target: fc.constantFrom("t", "u"),
    edge: fc.nat(30),
  }),
  { minLength: 2, maxLength: 12 },
);

test("a history that grew, shrank or changed is sent as if it were the first, and no message is built twice in a row", () => {
  const texts = new Map<Message, number>();
  const create = (text: number): Message => {
    const message = messageOf("user", []);
    texts.set(message, text);
    return message;
  };
  fc.assert(
    fc.property(changes, (steps) => {
      const serialise = createFragmentCache();
      const lastTargets = new Map<Message, string>();
      let history = [create(1)];
      for (const { from, to, at, remove, add, target, edge } of steps) {
        history = history.slice(from, to).toSpliced(at, remove, ...add.map(create));
        const targetAt = (at: number): string => (at < edge ? "t" : target);
        const textOf = (message: Message, at: number): string => `${targetAt(at)}${texts.get(message)}`;
        const fragments = serialise(history, targetAt, (message, at) => {
          expect(lastTargets.get(message)).not.toBe(targetAt(at));
          return { text: textOf(message, at) };
        });
        for (const [at, message] of history.entries()) lastTargets.set(message, targetAt(at));
        expect(fragments).toEqual(
          history.map((message, at) => ({ message, target: targetAt(at), text: textOf(message, at) })),
        );
        const fresh = fragments.map((fragment) => ({ ...fragment }));
        const digestOf = (each: readonly Fragment[]) => digestBody({ head: "h", fragments: each, rest: "r" });
        expect(digestOf(fragments)).toBe(digestOf(fresh));
      }
    }),
  );
});
