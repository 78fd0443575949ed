import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message, Part, Role } from "../../src/chat/message.ts";
import { callsOf, buildView } from "../../src/chat/view.ts";
import { invalidity } from "../support/validity.ts";

const call = (id: string): Part => ({ type: "tool_call", id, name: "look", args: "{}" });
const text = (value: string): Part => ({ type: "text", text: value });
const result = (id: string, value = "done"): Part => ({
  type: "tool_result",
  call: id,
  name: "look",
  status: "ok",
  content: [{ type: "text", text: value }],
});

let position = 0;
const message = (role: Role, ...parts: Part[]): Message => ({
  id: `m${position}`,
  pos: position++,
  role,
  origin: role === "user" ? "human" : "agent",
  parts,
  at: 0,
  tokens: 1,
});

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.constantFrom("", " ", "hi", "<note from=x>").map(text),
  fc.constantFrom("a", "b", "c", "d").map(call),
  fc.constantFrom("a", "b", "c", "d", "e").map((id) => result(id)),
  fc.constant<Part>({ type: "reasoning", text: "hm", model: "m" }),
  fc.constant<Part>({ type: "image", url: "https://x.example/i.png", media_type: "image/png" }),
);

const garbage = fc
  .array(
    fc.record({
      role: fc.constantFrom<Role>("user", "assistant", "tool", "assistant", "tool", "system"),
      parts: fc.array(part, { maxLength: 4 }),
      marks: fc.constantFrom<Message["marks"]>(undefined, ["note"], ["steering"], ["partial"]),
    }),
    { maxLength: 12 },
  )
  .map((list) =>
    list.map(({ role, parts, marks }, index): Message => ({
      ...message(role, ...parts),
      id: `m${index}`,
      pos: index,
      ...(marks === undefined ? {} : { marks }),
    })),
  );

const first = message("user", text("the first input"));

describe("SE-6 SE-7", () => {
  test("SE-6 SE-7: any garbage is repaired to a chat that a provider takes (20 000 chats)", () => {
    fc.assert(
      fc.property(garbage, fc.boolean(), (chat, known) => {
        const { messages, repairs } = buildView(chat, known ? first : null);
        if (chat.length === 0 && !known) expect(messages).toEqual([]);
        else expect(invalidity(messages)).toBeNull();
        expect(repairs.length === 0).toBe(invalidity(chat) === null || messages.length === 0);
      }),
      { numRuns: 20_000, seed: 7 },
    );
  });

  test("SE-6 SE-7: a chat that grew since it was looked at, or lost or changed a message, is seen as one never seen", () => {
    const changes = fc.array(fc.tuple(fc.constantFrom("grow", "cut", "change"), fc.nat(11)), {
      maxLength: 8,
    });
    const turn = fc.constantFrom(
      [message("user", text("hi"))],
      [message("assistant", call("a")), message("tool", result("a"))],
      [
        message("assistant", call("b"), call("c")),
        message("tool", result("b")),
        message("tool", result("c")),
      ],
      [message("assistant", text("so")), message("user", text("on"))],
    );
    const chats = fc
      .tuple(fc.array(turn, { maxLength: 6 }), garbage)
      .map(([turns, rest]) => [...turns.flat(), ...rest]);
    fc.assert(
      fc.property(chats, changes, (stored, steps) => {
        let chat: readonly Message[] = stored.slice(0, 3);
        for (const [what, at] of steps) {
          if (what === "grow") chat = stored.slice(0, chat.length + at);
          else if (what === "cut") chat = chat.toSpliced(at % (chat.length + 1), 1);
          else
            chat = chat.map((each, index) => (index === at ? { ...each, parts: [text("changed")] } : each));
          expect(buildView(chat)).toEqual(buildView(structuredClone(chat)));
        }
      }),
      { numRuns: 3_000, seed: 11 },
    );
  });

  test("SE-7: a repaired chat is repaired no further", () => {
    fc.assert(
      fc.property(garbage, (chat) => {
        const once = buildView(chat, first).messages;
        expect(buildView(once, first).repairs).toEqual([]);
        expect(buildView(once, first).messages.map(({ id }) => id)).toEqual(once.map(({ id }) => id));
      }),
      { numRuns: 2_000, seed: 8 },
    );
  });

  test("SE-7: no answer, call or first result that is visible gets lost in a repair", () => {
    fc.assert(
      fc.property(garbage, (chat) => {
        const shown = buildView(chat, first).messages;
        const calls = chat.flatMap((each) => callsOf(each)).length;
        expect(shown.flatMap((each) => callsOf(each))).toHaveLength(calls);
      }),
      { numRuns: 2_000, seed: 9 },
    );
  });
});

describe("SE-7: each row of the table", () => {
  const human = message("user", text("Go"));
  const both = message("assistant", call("a"), call("b"));
  const a = message("tool", result("a"));
  const b = message("tool", result("b"));

  test("SE-7 ★: an import that ends in a call gets a result that says the outcome is unknown", () => {
    const { messages, repairs } = buildView([human, both, a]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool"]);
    expect(messages[3]?.parts[0]).toMatchObject({ call: "b", status: "unknown" });
    expect(JSON.stringify(messages[3])).toContain(
      "unknown: The runtime was interrupted while this ran. Its outcome is unknown: check before repeating it.",
    );
    expect(repairs).toContainEqual({ kind: "result_missing", message: both.id, pos: both.pos });
  });

  test("SE-7: of two results for a call the first stays", () => {
    const second = message("tool", result("a", "other"));
    const { messages, repairs } = buildView([human, message("assistant", call("a")), a, second]);
    expect(messages).toHaveLength(3);
    expect(messages[2]).toEqual(a);
    expect(repairs).toEqual([{ kind: "result_repeated", message: second.id, pos: second.pos }]);
  });

  test("SE-7: an orphan result and an empty assistant message are left out", () => {
    const orphan = message("tool", result("z"));
    const empty = message("assistant", { type: "reasoning", text: "hm", model: "m" });
    const { messages, repairs } = buildView([human, orphan, empty, message("user", text("And?"))]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(repairs.map(({ kind }) => kind)).toEqual(["result_orphaned", "message_empty"]);
  });

  test("SE-7: results that stand elsewhere are shown at their call, in call order", () => {
    const note = message("user", text("Meanwhile"));
    const { messages } = buildView([human, both, b, note, a]);
    expect(messages.map(({ id }) => id)).toEqual([human.id, both.id, a.id, b.id, note.id]);
  });

  test("SE-7: a view that ends with the assistant gets a note to continue", () => {
    const { messages } = buildView([human, message("assistant", text("So"))]);
    expect(messages.at(-1)).toMatchObject({
      role: "user",
      parts: [{ text: '<note from="runtime">Continue.</note>' }],
    });
  });

  test("SE-7: a view that would begin otherwise begins with the thread's first human input", () => {
    const { messages } = buildView([message("assistant", call("a")), a], first);
    expect(messages[0]).toEqual(first);
    expect(messages).toHaveLength(3);
  });

  test("SE-6c: a call id that an earlier message used is renamed, and has its own result", () => {
    const { messages } = buildView([
      human,
      message("assistant", call("a")),
      a,
      message("assistant", call("a")),
    ]);
    expect(messages.flatMap((each) => callsOf(each)).map(({ id }) => id)).toEqual(["a", "a_2"]);
    expect(messages.at(-1)?.parts[0]).toMatchObject({ call: "a_2", status: "unknown" });
  });

  test("SE-6c: two complete blocks may not share an id; the first result stands for the first", () => {
    const chat = [human, message("assistant", call("a")), a, message("assistant", call("a")), a];
    const { messages, repairs } = buildView(chat);
    expect(repairs).not.toEqual([]);
    expect(invalidity(messages)).toBeNull();
  });

  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}"\\ud800"${"}".repeat(levels)}`;
  const asking = (args: string): Message =>
    message("assistant", { type: "tool_call", id: "a", name: "look", args });

  test("SE-7 MO-8: arguments deeper than 64 levels are shown as unparsable, and stay stored as they are", () => {
    const deep = asking(nested(3_000));
    const chat = [human, deep, a];
    const { messages, repairs } = buildView(chat);
    expect(callsOf(messages[1] ?? human).map(({ args }) => args)).toEqual([
      JSON.stringify({ _invalid: nested(3_000).slice(0, 2_000) }),
    ]);
    expect(repairs).toEqual([{ kind: "arguments_too_deep", message: deep.id, pos: deep.pos }]);
    expect(callsOf(deep)[0]?.args).toBe(nested(3_000));
    const fine = buildView([human, asking('{"a":'.repeat(64) + "1" + "}".repeat(64)), a]);
    expect(fine.repairs).toEqual([]);
  });

  test("SE-7: half a character is shown as U+FFFD wherever it stands", () => {
    const bad: readonly Part[] = [
      text("a\ud800"),
      { type: "image", url: "https://x.example/\udc00", media_type: "image/png", name: "\ud800.png" },
    ];
    const said = message("assistant", { type: "reasoning", text: "\ud800", model: "m" }, call("a"));
    const odd = asking('{"\\ud800":"\ud800"}');
    const given = message("tool", { ...result("a"), content: bad } as Part);
    const overlay = { edit: 1, by: "mask", texts: { 0: "cut \ud83d" }, media: false, tokens: 1 };
    for (const chat of [
      [message("user", ...bad), said, a],
      [human, odd, given],
      [{ ...human, overlay }],
      [{ ...human, marks: ["note"] as const, parts: [text("\udc00")] }],
    ]) {
      const { messages, repairs } = buildView(chat);
      expect(JSON.stringify(messages.map(({ parts }) => parts))).not.toMatch(/\\u[dD][89a-fA-F]/);
      expect(new Set(repairs.map(({ kind }) => kind))).toEqual(new Set(["text_mended"]));
    }
  });

  test("SE-7: what no wire can carry is found in whatever order a chat stands, and told again of a chat that grew", () => {
    const deep = asking(nested(70));
    const grown = [human, deep, a, message("user", text("And \ud800?"))];
    expect(buildView(grown.slice(0, 3)).repairs.map(({ kind }) => kind)).toEqual(["arguments_too_deep"]);
    expect(buildView(grown).repairs.map(({ kind }) => kind)).toEqual(["arguments_too_deep", "text_mended"]);
    const disordered = buildView([deep, message("user", text("Before \ud800")), a], first);
    expect(disordered.repairs.map(({ kind }) => kind)).toEqual([
      "result_moved",
      "start_added",
      "arguments_too_deep",
      "text_mended",
    ]);
  });

  test("SE-6: a valid chat is sent as it stands, the same objects in the same order", () => {
    const chat = [human, both, a, b];
    const shown = buildView(chat);
    expect(shown.repairs).toEqual([]);
    expect(shown.messages.every((each, index) => each === chat[index])).toBe(true);
  });
});
