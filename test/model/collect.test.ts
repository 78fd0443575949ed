import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import { createCallIds } from "../../src/model/reply.ts";
import { collect } from "../../src/model/collect.ts";
import type { ItemDelta, ModelEvent, ModelRequest } from "../../src/model/completer.ts";
import { modelError } from "../../src/model/failure.ts";
import { noUsage } from "../../src/agent/state/budget.ts";
import { utf8Length } from "../../src/chat/tokens.ts";
import {
  call,
  collected,
  end,
  failureOf,
  input,
  options,
  replay,
  request,
  start,
  text,
  usage,
  userMessage,
} from "./helpers.ts";

test("MO-19: a clean end before the finish, in text, is truncated_stream and may be retried", async () => {
  const failure = await failureOf(collected([[start, text("Half an ans")]]));
  expect(failure).toMatchObject({
    code: "truncated_stream",
    retryable: true,
    billed: true,
    requestId: "req_1",
  });
});

test("MO-19: a clean end within a call's JSON is truncated_stream, not a call with {}", async () => {
  const failure = await failureOf(collected([[start, call(0, "fs_write", "c1"), input(0, '{"path":"a')]]));
  expect(failure.code).toBe("truncated_stream");
});

test("MO-19: a stream without anything is truncated_stream and not billed", async () => {
  const failure = await failureOf(collected([]));
  expect(failure.code).toBe("truncated_stream");
  expect(failure.billed).toBeUndefined();
});

test.each(["length", "context_full", "refusal", "filtered", "paused"] as const)(
  "MO-22: with finish %s every call is invalid, parsable or not",
  async (finish) => {
    const { parts } = await collected([
      [start, call(0, "a", "c1"), input(0, '{"path":"x"}'), call(1, "b", "c2"), input(1, '{"path":"a')],
      [end(finish)],
    ]);
    expect(parts).toEqual([
      { type: "tool_call", id: "c1", name: "a", args: '{"path":"x"}', invalid: "truncated" },
      { type: "tool_call", id: "c2", name: "b", args: '{"path":"a', invalid: "truncated" },
    ]);
  },
);

test("MO-21: the 64th call may run, the 65th is too_many, and arguments stay the model's text", async () => {
  const calls = Array.from({ length: 66 }, (_, i) => [call(i, "t", `c${i}`), input(i, "{not json")]).flat();
  const { parts } = await collected([[start, ...calls, end("tool_calls")]]);
  const invalid = parts.map((part) => (part.type === "tool_call" ? part.invalid : "other"));
  expect(invalid.slice(0, 64).every((reason) => reason === undefined)).toBe(true);
  expect(invalid.slice(64)).toEqual(["too_many", "too_many"]);
  expect(parts[0]).toMatchObject({ args: "{not json" });
});

test("MO-3: a call id that is unusable, known in the thread or repeated in the reply is minted, the same each time", async () => {
  const known = userMessage("", {
    role: "assistant",
    parts: [{ type: "tool_call", id: "old", name: "t", args: "{}" }],
  });
  const asked = request({ messages: [userMessage("Hi"), known] });
  const stream: ModelEvent[] = [
    start,
    ...["good_1", "old", "good_1", "functions.x:0", "", "x".repeat(41)].map((id, i) => call(i, "t", id)),
    call(6, "t"),
    end("tool_calls"),
  ];
  const first = await collected([stream], { request: asked });
  const again = await collected([stream], { request: asked });
  expect(again.parts).toEqual(first.parts);
  const ids = first.parts.map((part) => (part.type === "tool_call" ? part.id : ""));
  expect(ids[0]).toBe("good_1");
  expect(new Set([...ids, "old"]).size).toBe(8);
  expect(ids.every((id) => /^[A-Za-z0-9_-]{1,40}$/.test(id))).toBe(true);
  expect(first.parts[3]).toMatchObject({
    opaque: { provider: "default", model: "model-1", data: { id: "functions.x:0" } },
  });
});

test("MO-3: another call of the same thread mints other ids, another attempt the same", () => {
  const base = request();
  const next = request({ context: { ...base.context, call: 1 } });
  const retried = request({ context: { ...base.context, attempt: 2 } });
  expect(createCallIds(base).mint(0)).not.toBe(createCallIds(next).mint(0));
  expect(createCallIds(base).mint(0)).toBe(createCallIds(retried).mint(0));
  expect(createCallIds(base).mint(0)).not.toBe(createCallIds(base).mint(1));
});

test("MO-3: parts keep the model's order and opaque data stays byte-exact at its part", async () => {
  const { parts } = await collected([
    [start, { type: "reasoning", item: 0, text: "Hm" }, { type: "opaque", item: 0, data: "sig==" }],
    [{ type: "opaque", item: 1, data: { redacted: "x" } }, text("So", 2), call(3, "t", "c1")],
    [{ type: "opaque", item: 3, data: { thought: "s" } }, text("after", 4), end()],
  ]);
  const opaque = (data: unknown) => ({ provider: "default", model: "model-1", data });
  expect(parts).toEqual([
    { type: "reasoning", text: "Hm", model: "default/model-1", opaque: opaque("sig==") },
    { type: "reasoning", text: "", model: "default/model-1", opaque: opaque({ redacted: "x" }) },
    { type: "text", text: "So" },
    { type: "tool_call", id: "c1", name: "t", args: "", opaque: opaque({ thought: "s" }) },
    { type: "text", text: "after" },
  ]);
});

test.each<[string, ModelEvent[]]>([
  ["a second start", [start, start]],
  ["content before the start", [text("x")]],
  ["arguments of an unknown call", [start, input(0, "{")]],
  ["a call twice", [start, call(0, "a"), call(0, "a")]],
  ["text for a call", [start, call(0, "a"), text("x")]],
  ["text after its item ended", [start, text("x"), { type: "item_end", item: 0 }, text("y")]],
  ["content after the end", [start, text("x"), end(), text("y")]],
])("MO-24: %s is protocol_error", async (_, events) => {
  expect((await failureOf(collected([[...events, end()]]))).code).toBe("protocol_error");
});

test("MO-24: pings, ends of unknown items, empty pieces and usage after the end change nothing", async () => {
  const { parts } = await collected([
    [{ type: "ping" }, start, { type: "item_end", item: 9 }, text(""), text("a")],
    [end(), text(""), usage, { type: "ping" }],
  ]);
  expect(parts).toEqual([{ type: "text", text: "a" }]);
});

test("MO-20: more than 4 MiB of text, counted in UTF-8, ends the attempt", async () => {
  const mebibyte = "é".repeat(512 * 1024);
  const four = Array.from({ length: 4 }, () => [text(mebibyte)]);
  await expect(collected([[start], ...four, [end()]])).resolves.toMatchObject({ finish: "stop" });
  expect((await failureOf(collected([[start], ...four, [text("x")], [end()]]))).code).toBe("protocol_error");
});

test("MO-20: more than 1 MiB of arguments in one call ends the attempt, two calls of 1 MiB do not", async () => {
  const full = "x".repeat(1024 * 1024);
  const two = [
    [start, call(0, "a"), input(0, full)],
    [call(1, "b"), input(1, full)],
  ];
  await expect(collected([...two, [end()]])).resolves.toMatchObject({ finish: "tool_calls" });
  expect((await failureOf(collected([...two, [input(1, "x")], [end()]]))).code).toBe("protocol_error");
});

test("MO-20: of the model that a server says it is, no more is kept than a name has", async () => {
  const { model } = await collected([[{ type: "start", model: "m".repeat(3_000_000) }, text("a"), end()]]);
  expect(model).toBe("m".repeat(200));
});

test("MO-23: neither text nor call is empty; reasoning alone and blank text are", async () => {
  const reasoning: ModelEvent = { type: "reasoning", item: 0, text: "Hm" };
  expect((await collected([[start, end()]])).empty).toBe(true);
  expect((await collected([[start, reasoning, text(" \n", 1), end()]])).empty).toBe(true);
  expect((await collected([[start, text("a"), end()]])).empty).toBe(false);
  expect((await collected([[start, call(0, "t"), end("tool_calls")]])).empty).toBe(false);
});

test("MO-15: calls with finish stop are tool_calls, tool_calls without a call is stop, refusal text is a refusal", async () => {
  expect((await collected([[start, call(0, "t"), end("stop")]])).finish).toBe("tool_calls");
  expect((await collected([[start, text("a"), end("tool_calls")]])).finish).toBe("stop");
  const refused = await collected([[start, { type: "refusal", item: 0, text: "No." }, end()]]);
  expect(refused).toMatchObject({ finish: "refusal", parts: [{ type: "text", text: "No." }] });
});

test("MO-13, MO-32: reported usage is merged over the stream, cost follows the model that answered", async () => {
  const { usage, estimated, cost, model } = await collected(
    [
      [start, { type: "usage", raw: { input_tokens: 200, output_tokens: 1, cache_read_input_tokens: 50 } }],
      [text("a"), { type: "usage", raw: { input_tokens: null, output_tokens: 80 } }, end()],
    ],
    { price: (answered) => (answered === "model-1-20261101" ? { input: 2, output: 10 } : null) },
  );
  expect(usage).toEqual({ input: 200, output: 80, cacheRead: 50, cacheWrite: 0, total: 330 });
  expect({ estimated, cost, model }).toEqual({
    estimated: false,
    cost: 1_210_000,
    model: "model-1-20261101",
  });
});

test("MO-32: without a report usage is estimated and flagged", async () => {
  const { usage, estimated, cost } = await collected([[start, text("12345678"), end()]]);
  expect({ usage, estimated, cost }).toEqual({
    usage: { input: 13, output: 2, cacheRead: 0, cacheWrite: 0, total: 15 },
    estimated: true,
    cost: null,
  });
});

test("MO-32: an attempt that fails after the first byte carries estimated usage and its cost", async () => {
  const failing = async function* (): AsyncGenerator<readonly ModelEvent[]> {
    yield [start, text("12345678")];
    throw new TypeError("terminated: secret-canary");
  };
  const failure = await failureOf(collect(failing(), options({ price: () => ({ input: 1, output: 1 }) })));
  expect(failure).toMatchObject({
    code: "network",
    billed: true,
    usage: { input: 13, output: 2, total: 15 },
    cost: 15_000,
  });
  expect(failure.message).not.toContain("canary");
});

test("MO-32 MO-20: an attempt that runs past the length guard is booked at the request's max_tokens, not at all that it wrote", async () => {
  const price = () => ({ input: 1, output: 10 });
  const flood = Array.from({ length: 17 }, () => [text("x".repeat(256 * 1024))]);
  const failure = await failureOf(collected([[start], ...flood], { price }));
  expect(failure).toMatchObject({
    code: "protocol_error",
    billed: true,
    usage: { input: 13, output: 1_000, total: 1_013 },
    cost: 13_000 + 10_000_000,
  });
});

test("MO-32: what the failing read itself brought is booked, too", async () => {
  const second: ModelEvent = { type: "start", model: "" };
  const failure = await failureOf(collected([[start, text("12345678"), second]]));
  expect(failure).toMatchObject({ code: "protocol_error", usage: { input: 13, output: 2, total: 15 } });
});

test("MO-32: reasoning that the wire allows on top of max_tokens may be booked", async () => {
  const thought: ModelEvent = { type: "reasoning", item: 0, text: "x".repeat(20_000) };
  const failure = await failureOf(collected([[start, thought]], { maxOutput: 4_000 }));
  expect(failure.usage).toMatchObject({ output: 4_000 });
});

const piece = fc.oneof(
  fc.string({ maxLength: 3_000 }).map((said) => text(said)),
  fc.string({ maxLength: 3_000 }).map((said): ModelEvent => ({ type: "reasoning", item: 1, text: said })),
);
const written = fc.record({ said: fc.array(piece, { maxLength: 6 }), args: fc.string({ maxLength: 300 }) });
const report = fc.option(
  fc.record({
    input_tokens: fc.constantFrom(0, 7, 900, 30_000_000, -5, "many"),
    output_tokens: fc.constantFrom(0, 1, 250, 5_000, 40_000_000, null),
    cache_read_input_tokens: fc.constantFrom(0, 90_000),
    total_tokens: fc.constantFrom(0, 12, 29_000_000),
  }),
  { nil: undefined },
);
const breaks = {
  truncated_stream: () => undefined,
  network: () => {
    throw new TypeError("terminated");
  },
  timeout: () => {
    throw modelError("timeout", { provider: "default", model: "model-1" }, "timeout idle");
  },
  cancelled: () => {
    throw modelError("cancelled", { provider: "default", model: "model-1" }, "gone");
  },
};

test("MO-32: however an attempt breaks, it is booked at no less than what was seen and no more than prompt and max_tokens", async () => {
  const ways = fc.constantFrom(...(Object.keys(breaks) as (keyof typeof breaks)[]));
  await fc.assert(
    fc.asyncProperty(
      written,
      report,
      ways,
      fc.integer({ min: 1, max: 1_500 }),
      async ({ said, args }, raw, way, maxTokens) => {
        const events = [...said, call(2, "look", "c1"), input(2, args)];
        const told: ModelEvent[] = raw === undefined ? [] : [{ type: "usage", raw }];
        const source = async function* (): AsyncGenerator<readonly ModelEvent[]> {
          yield [start, ...told];
          for (const event of events) yield [event];
          breaks[way]();
        };
        const sent = request({ maxTokens });
        const { billed, usage: booked } = await failureOf(collect(source(), options({ request: sent })));
        expect(billed).toBe(true);
        const { input: prompt, output, cacheRead, cacheWrite, total } = booked ?? noUsage;
        const seen = Math.ceil(
          events.reduce(
            (sum, event) =>
              sum + utf8Length("text" in event ? event.text : "json" in event ? event.json : ""),
            0,
          ) / 4,
        );
        expect(output).toBeLessThanOrEqual(maxTokens);
        expect(output).toBeGreaterThanOrEqual(Math.min(maxTokens, seen));
        const isReported = typeof raw?.input_tokens === "number" && raw.input_tokens <= 20_000_000;
        expect(prompt).toBe(isReported ? Math.max(0, Number(raw.input_tokens)) : Math.max(0, 13 - cacheRead));
        expect(total).toBe(prompt + output + cacheRead + cacheWrite);
      },
    ),
    { numRuns: 500 },
  );
});

test("MO-1: an abort rejects at once with the deadline's reason, although the source never answers", async () => {
  const controller = new AbortController();
  const seen: ItemDelta[] = [];
  let release = (): void => undefined;
  const stuck = async function* (): AsyncGenerator<readonly ModelEvent[]> {
    yield [start, text("a")];
    controller.abort(modelError("timeout", { provider: "default", model: "model-1" }, "timeout idle"));
    await new Promise<void>((resolve) => (release = resolve));
    yield [text("b"), end()];
  };
  const failure = await failureOf(
    collect(stuck(), options({ signal: controller.signal, onDelta: (deltas) => seen.push(...deltas) })),
  );
  expect(failure).toMatchObject({ code: "timeout", billed: true });
  release();
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(replay(seen)).toEqual(["a"]);
});

test("MO-1: an abort without a reason of ours is cancelled, and nothing is read after it", async () => {
  const gone = AbortSignal.abort();
  let read = false;
  const source = async function* (): AsyncGenerator<readonly ModelEvent[]> {
    read = true;
    yield [start, end()];
  };
  expect((await failureOf(collect(source(), options({ signal: gone })))).code).toBe("cancelled");
  expect(read).toBe(false);
});

test("MO-2: an error of the watcher passes unchanged and closes the source", async () => {
  let closed = false;
  const source = async function* (): AsyncGenerator<readonly ModelEvent[]> {
    try {
      yield [start, text("a")];
      yield [end()];
    } finally {
      closed = true;
    }
  };
  const onDelta = (): void => {
    throw new RangeError("watcher");
  };
  await expect(collect(source(), options({ onDelta }))).rejects.toThrow(RangeError);
  expect(closed).toBe(true);
});

test("MO-2: the deltas of one read go out in one call, adjacent ones merged", async () => {
  const calls: (readonly ItemDelta[])[] = [];
  await collected(
    [
      [start, text("He"), text("llo")],
      [text("!"), call(1, "t", "c1"), input(1, "{"), input(1, "}")],
      [input(1, " ")],
      [{ type: "ping" }],
      [end()],
    ],
    { onDelta: (deltas) => calls.push(deltas) },
  );
  expect(calls).toEqual([
    [{ kind: "text", index: 0, off: 0, data: "Hello" }],
    [
      { kind: "text", index: 0, off: 5, data: "!" },
      { kind: "tool_input", index: 1, off: 0, data: "{}", call: { id: "c1", name: "t" } },
    ],
    [{ kind: "tool_input", index: 1, off: 2, data: " " }],
  ]);
});

test("MO-2: deltas that come with the reply's end are told as the last, and so are all of a reply that is there at once", async () => {
  const lastOf = async (batches: readonly (readonly ModelEvent[])[], isInstant: boolean) => {
    const told: boolean[] = [];
    await collected(batches, { isInstant, onDelta: (_, isWhole) => told.push(isWhole) });
    return told;
  };
  expect(
    await lastOf(
      [
        [start, text("He")],
        [text("llo"), end()],
      ],
      false,
    ),
  ).toEqual([false, true]);
  expect(await lastOf([[start, text("He")], [text("llo")], [end()]], true)).toEqual([true, true]);
});

test("MO-2: a call is named with the first delta of its item only, arguments or not", async () => {
  const calls: ItemDelta[] = [];
  const batches = [[start, call(0, "t", "c1")], [input(0, "{")], [input(0, "}")], [end()]];
  await collected(batches, { onDelta: (deltas) => calls.push(...deltas) });
  expect(calls).toEqual([
    { kind: "tool_input", index: 0, off: 0, data: "", call: { id: "c1", name: "t" } },
    { kind: "tool_input", index: 0, off: 0, data: "{" },
    { kind: "tool_input", index: 0, off: 1, data: "}" },
  ]);
});

test("MO-20: any chunking of the same events gives the same completion and the same deltas put together", async () => {
  const stream: ModelEvent[] = [
    start,
    { type: "reasoning", item: 0, text: "Let me " },
    { type: "reasoning", item: 0, text: "see" },
    { type: "opaque", item: 0, data: "sig" },
    { type: "item_end", item: 0 },
    text("I \ud83d", 1),
    text("\ude00 go", 1),
    call(2, "a", "c1"),
    call(3, "b", "c2"),
    input(2, '{"x":'),
    input(3, "{}"),
    input(2, "1}"),
    usage,
    end("tool_calls"),
  ];
  const whole = await collected([stream]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: stream.length })), async (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const batches = edges.slice(1).map((edge, i) => stream.slice(edges[i], edge));
      const deltas: ItemDelta[] = [];
      const completion = await collected(batches, { onDelta: (some) => deltas.push(...some) });
      expect(completion).toEqual(whole);
      expect(replay(deltas)).toEqual(["Let me see", "I 😀 go", '{"x":1}', "{}"]);
    }),
  );
});

test("MO-19: every prefix of a stream is an error or the whole, never a call that the whole lacks", async () => {
  const stream = [
    start,
    text("a"),
    call(1, "t", "c1"),
    input(1, '{"a":'),
    input(1, "1}"),
    end("tool_calls"),
    usage,
  ];
  for (let length = 0; length <= stream.length; length++) {
    const work = collected([stream.slice(0, length)]);
    if (length < 6) expect((await failureOf(work)).code).toBe("truncated_stream");
    else expect((await work).parts[1]).toMatchObject({ id: "c1", args: '{"a":1}' });
  }
});

test("SE text: a lone surrogate in a reply's text becomes U+FFFD", async () => {
  const { parts } = await collected([[start, text("a\ud83d"), end()]]);
  expect(parts).toEqual([{ type: "text", text: "a\ufffd" }]);
});

test("MO-2: 20 000 deltas in 2 000 reads cost far less than a millisecond per hundred reads", async () => {
  const reads = Array.from({ length: 2000 }, () => Array.from({ length: 10 }, () => text("a few words ")));
  const run = () => collected([[start], ...reads, [end()]], { onDelta: () => undefined });
  await run();
  const took = await cpuOf(async () => {
    const { parts } = await run();
    expect(parts[0]).toMatchObject({ text: "a few words ".repeat(20_000) });
  });
  expect(took).toBeLessThan(200);
});

test("MO-3: the calls of a history stay known while it grows, also when another turn or a shorter history comes between", () => {
  const called = (id: string) =>
    userMessage("", { role: "assistant", parts: [{ type: "tool_call", id, name: "t", args: "{}" }] });
  const [first, one, two, other] = [userMessage("Hi"), called("one"), called("two"), called("other")];
  const knows = (messages: ModelRequest["messages"]): readonly string[] => {
    const { isKnown } = createCallIds(request({ messages }));
    return ["one", "two", "other"].filter(isKnown);
  };
  expect(knows([first, one])).toEqual(["one"]);
  expect(knows([first, one, two])).toEqual(["one", "two"]);
  expect(knows([first, other])).toEqual(["other"]);
  expect(knows([first, one, two])).toEqual(["one", "two"]);
  expect(knows([first, other, two])).toEqual(["two", "other"]);
  expect(knows([one])).toEqual(["one"]);
  expect(knows([])).toEqual([]);
});
