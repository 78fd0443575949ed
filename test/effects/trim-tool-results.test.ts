import * as fc from "fast-check";
import { expect, test } from "vitest";
import { trimToolResults } from "../../src/effects/trim-tool-results.ts";
import { chatOf, human, reply, shown, times, use } from "./compaction/support.ts";
import type { Step } from "./compaction/support.ts";
import { actedOn, contextOf, evaluated } from "./context.ts";
import { stepsArbitrary } from "./chats.ts";

const trimmed = (steps: readonly Step[], params: object = {}) => {
  const chat = chatOf(steps);
  return { chat, after: actedOn(trimToolResults, chat, params) };
};
const results = (chat: ReturnType<typeof chatOf>): readonly string[] =>
  chat.filter(({ role }) => role === "tool").map(shown);

const long = "0123456789".repeat(10);

test("EF-12: a limit of 10 that preserves 1 shows the first 10 characters of the older result, and the last whole", () => {
  const { after } = trimmed([human("Go"), use(long), use(long)], {
    max_result_length: 10,
    preserve_recent: 1,
  });
  expect(results(after)).toEqual(["0123456789… [trimmed]", long]);
});

test("EF-12 ★: preserve_recent: 0 trims all", () => {
  const { after } = trimmed([human("Go"), use(long), use(long)], {
    max_result_length: 10,
    preserve_recent: 0,
  });
  expect(results(after)).toEqual(["0123456789… [trimmed]", "0123456789… [trimmed]"]);
});

test("EF-12: tool messages are counted, whatever stands between them", () => {
  const steps = [human("Go"), use(long), reply("So."), human("On"), use(long), reply("So."), use(long)];
  const { after } = trimmed(steps, { max_result_length: 10, preserve_recent: 2 });
  expect(results(after)).toEqual(["0123456789… [trimmed]", long, long]);
});

test("EF-12: an error result is never trimmed, nor one that was denied, skipped, cancelled or unknown", () => {
  const statuses = ["error", "denied", "skipped", "cancelled", "unknown"] as const;
  const steps = [human("Go"), ...statuses.map((status) => use(long, { status })), use(long)];
  const { after } = trimmed(steps, { max_result_length: 10, preserve_recent: 0 });
  expect(results(after)).toEqual([...statuses.map(() => long), "0123456789… [trimmed]"]);
});

test("EF-12: a command that ended by itself is trimmed, whatever its exit code", () => {
  const steps = [human("Go"), use(long, { status: "error", exit: 1 }), use(long, { status: "error" })];
  const { after } = trimmed(steps, { max_result_length: 10, preserve_recent: 0 });
  expect(results(after)).toEqual(["0123456789… [trimmed]", long]);
});

test("EF-12: a short result stays, and one that the mark would make longer", () => {
  const steps = [human("Go"), use("0123456789"), use("01234567890"), use(long)];
  const { after } = trimmed(steps, { max_result_length: 10, preserve_recent: 0 });
  expect(results(after)).toEqual(["0123456789", "01234567890", "0123456789… [trimmed]"]);
});

test("EF-12: no character is cut in two", () => {
  const { after } = trimmed([human("Go"), use("🐚".repeat(50))], {
    max_result_length: 3,
    preserve_recent: 0,
  });
  expect(results(after)).toEqual(["🐚🐚🐚… [trimmed]"]);
});

test("EF-12: a result that is trimmed already is not read again, whatever its characters", () => {
  const params = { max_result_length: 10, preserve_recent: 0 };
  const { after } = trimmed([human("Go"), use(long), use("🐚".repeat(50))], params);
  const read: string[] = [];
  const watched = after.map((message) => ({
    ...message,
    get parts() {
      read.push(message.id);
      return message.parts;
    },
  }));
  const context = contextOf(watched);
  read.length = 0;
  expect(evaluated(trimToolResults, context, params)).toEqual({});
  expect(read).toEqual([]);
});

test("EF-12: an image of a trimmed result stays in the view", () => {
  const { after } = trimmed([human("Go"), use(long, { media: true })], {
    max_result_length: 10,
    preserve_recent: 0,
  });
  expect(after.at(-1)?.overlay).toMatchObject({ media: true });
});

test("EF-2 EF-12: a pinned result keeps nothing but its own block whole", () => {
  const steps: readonly Step[] = [human("Go"), { calls: [{ result: long }], pinned: true }, use(long)];
  const { after } = trimmed(steps, { max_result_length: 10, preserve_recent: 0 });
  expect(results(after)).toEqual([long, "0123456789… [trimmed]"]);
});

test("EF-2: what is pinned stays whole", () => {
  const steps: readonly Step[] = [human("Go"), { calls: [{ result: long }], pinned: true }];
  const { after } = trimmed(steps, { max_result_length: 10, preserve_recent: 0 });
  expect(results(after)).toEqual([long]);
});

test("EF-12: the defaults are 500 characters and four tool messages", () => {
  const { after } = trimmed([human("Go"), ...times(5, () => use("x".repeat(600)))]);
  expect(results(after).map(({ length }) => length)).toEqual([511, 600, 600, 600, 600]);
});

test("EF-12: a chat without results is left alone", () => {
  const chat = chatOf([human("Go"), reply("Done.")]);
  expect(evaluated(trimToolResults, contextOf(chat))).toEqual({});
});

test("EF-12: a second pass changes nothing, nothing gets longer, and only ok results change", () => {
  fc.assert(
    fc.property(stepsArbitrary, fc.nat(40), fc.nat(4), (steps, max_result_length, preserve_recent) => {
      const params = { max_result_length, preserve_recent };
      const { chat, after } = trimmed(steps, params);
      expect(evaluated(trimToolResults, contextOf(after), params)).toEqual({});
      for (const [at, message] of after.entries()) {
        const before = chat[at];
        expect(shown(message).length).toBeLessThanOrEqual(shown(before).length);
        expect(shown(message).isWellFormed()).toBe(true);
        const [part] = message.parts;
        if (part?.type !== "tool_result" || part.status !== "ok") expect(message).toBe(before);
      }
    }),
  );
});
