import { expect, test } from "vitest";
import type { Message, Part } from "../../src/chat/message.ts";
import type { Completion, ItemDelta, ModelRequest } from "../../src/model/completer.ts";
import { checkScript } from "../../src/model/scripted/check.ts";
import { timeoutsSchema } from "../../src/model/schema.ts";
import { scriptSchema } from "../../src/model/scripted/schema.ts";
import { createScriptedCompleter } from "../../src/model/scripted/scripted.ts";
import type { ScriptedOptions } from "../../src/model/scripted/scripted.ts";
import { failureOf, replay, request, userMessage } from "./helpers.ts";

const completer = (script: object, options: Partial<ScriptedOptions> = {}) =>
  createScriptedCompleter(scriptSchema.parse({ script: 1, ...script }), {
    provider: "default",
    model: "scripted",
    timeouts: timeoutsSchema.parse({}),
    now: () => 0,
    ...options,
  });

const play = (
  script: object,
  asked: ModelRequest = request(),
  onDelta?: (deltas: readonly ItemDelta[]) => void,
): Promise<Completion> =>
  completer(script).complete(asked, {
    signal: new AbortController().signal,
    ...(onDelta !== undefined && { onDelta }),
  });

const context = (more: Partial<ModelRequest["context"]>) => ({ context: { ...request().context, ...more } });

const assistant = (parts: readonly Part[]): Message => userMessage("", { id: "a", role: "assistant", parts });
const result = (name: string, text: string, status: "ok" | "error" = "ok"): Message =>
  userMessage("", {
    id: "t",
    role: "tool",
    parts: [{ type: "tool_result", call: "c1", name, status, content: [{ type: "text", text }] }],
  });
const textOf = ({ parts }: Completion) =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("");

const tour = {
  start: "menu",
  scenes: [
    {
      name: "files",
      when: { agent: "guide", turn: 1, input: { words: ["files"] } },
      reply: [
        { reasoning: "I will make a file first." },
        { text: "Writing **tour.md** …" },
        {
          call: "fs_write",
          args: { path: "tour.md", content: "Hello {{input}}", deep: [{ a: "{{agent}}" }] },
        },
      ],
      usage: { input: 1200, output: 80, cacheRead: 900 },
    },
    {
      name: "files-2",
      when: { after: "files", last: { tool: "fs_write", ok: true } },
      expect: { tools: ["fs_write"], messages: 3 },
      reply: [{ text: "Wrote it: {{results.fs_write}}" }],
    },
    { name: "menu", reply: [{ text: "Say files." }] },
  ],
};

test("MO-39: a scene plays reasoning, text and a call with filled templates and its usage", async () => {
  const deltas: ItemDelta[] = [];
  const asked = request({ messages: [userMessage("Show me Files, please")] });
  const completion = await play(tour, asked, (some) => deltas.push(...some));
  expect(completion).toMatchObject({
    finish: "tool_calls",
    empty: false,
    estimated: false,
    usage: { input: 1200, output: 80, cacheRead: 900, cacheWrite: 0, total: 2180 },
    cost: 0,
    provider: "default",
    model: "model-1",
  });
  const args = '{"path":"tour.md","content":"Hello Show me Files, please","deep":[{"a":"guide"}]}';
  expect(completion.parts).toMatchObject([
    { type: "reasoning", text: "I will make a file first." },
    { type: "text", text: "Writing **tour.md** …" },
    { type: "tool_call", name: "fs_write", args },
  ]);
  expect(replay(deltas)).toEqual(["I will make a file first.", "Writing **tour.md** …", args]);
  expect(Math.max(...deltas.map(({ data }) => data.length))).toBe(24);
});

test("MO-39: after follows the thread's previous reply, also when older history is gone", async () => {
  const first = await play(tour, request({ messages: [userMessage("files")] }));
  const after = [
    userMessage("summary of what was said"),
    assistant(first.parts),
    result("fs_write", "12 bytes"),
  ];
  const tools = [{ name: "fs_write", description: "", schema: {} }];
  const asked = request({ messages: after, tools, ...context({ turn: 2, call: 1 }) });
  expect(textOf(await play(tour, asked))).toBe("Wrote it: 12 bytes");
});

test("MO-39, MO-27: after also follows a reply that another provider gave from the same script, and no other script", async () => {
  const first = await play(tour, request({ messages: [userMessage("files")] }));
  const messages = [userMessage("files"), assistant(first.parts), result("fs_write", "12 bytes")];
  const tools = [{ name: "fs_write", description: "", schema: {} }];
  const asked = request({ messages, tools, ...context({ turn: 2, call: 1 }) });
  const signal = new AbortController().signal;
  const spare = completer(tour, { provider: "spare" });
  expect(textOf(await spare.complete(asked, { signal }))).toBe("Wrote it: 12 bytes");
  const other = {
    start: "menu",
    scenes: [
      { name: "again", when: { times: 1 }, reply: [{ text: "Again." }] },
      { name: "menu", reply: [{ text: "Say files." }] },
    ],
  };
  const elsewhere = await completer(other, { provider: "other" }).complete(asked, { signal });
  expect(textOf(elsewhere)).toBe("Again.");
  const position = elsewhere.parts.flatMap((part) => ("opaque" in part ? [part.opaque?.data] : []));
  expect(position).toEqual([{ scene: "again", played: { again: 1 } }]);
});

test("MO-39: no match plays start; without start the call fails script_exhausted and is not retried", async () => {
  expect(textOf(await play(tour))).toBe("Say files.");
  const { start: _, ...rest } = tour;
  const failure = await failureOf(play({ ...rest, scenes: rest.scenes.slice(0, 1) }));
  expect(failure).toMatchObject({ code: "invalid_request", retryable: false });
  expect(failure.message).toMatch(/^script_exhausted: .*agent guide, turn 1, call 0/);
});

test("MO-39: form A gives the thread's n-th call the n-th reply, whatever the history", async () => {
  const script = { replies: [{ reply: [{ text: "one" }] }, { reply: [{ text: "two" }] }] };
  expect(textOf(await play(script, request(context({ call: 1 }))))).toBe("two");
  expect(textOf(await play(script, request(context({ call: 0, thread: "t2" }))))).toBe("one");
  expect((await failureOf(play(script, request(context({ call: 2 }))))).message).toContain(
    "script_exhausted",
  );
});

test("MO-39: a repeated attempt gives the same reply, call ids included", async () => {
  const asked = request({ messages: [userMessage("files")] });
  const again = request({ messages: [userMessage("files")], ...context({ attempt: 2 }) });
  expect(await play(tour, again)).toEqual(await play(tour, asked));
});

test.each([
  [{ equals: "HELLO there" }, true],
  [{ starts_with: "hello" }, true],
  [{ contains: "O TH" }, true],
  [{ words: ["there", "HELLO"] }, true],
  [{ words: ["hell"] }, false],
  [{ contains: "h.l" }, false],
  [{ equals: "hello" }, false],
])("MO-39: input %j is literal in any case", async (input, expected) => {
  const script = {
    start: "no",
    scenes: [
      { name: "yes", when: { input }, reply: [{ text: "yes" }] },
      { name: "no", reply: [{ text: "no" }] },
    ],
  };
  const asked = request({ messages: [userMessage("Hello there")] });
  expect(textOf(await play(script, asked))).toBe(expected ? "yes" : "no");
});

test("MO-39: times bounds a scene within a thread", async () => {
  const script = {
    scenes: [
      { name: "once", when: { times: 1 }, reply: [{ text: "once" }] },
      { name: "then", reply: [{ text: "then" }] },
    ],
  };
  const first = await play(script);
  const next = [userMessage("a"), assistant(first.parts), userMessage("b")];
  expect(textOf(first)).toBe("once");
  expect(textOf(await play(script, request({ messages: next })))).toBe("then");
});

test("MO-39: input is the newest of a person: notes do not count, a steering prefix is dropped", async () => {
  const script = { scenes: [{ name: "a", reply: [{ text: "{{input}}/{{last | first 4}}/{{turn}}" }] }] };
  const messages = [
    userMessage("[STEERING] go left", { marks: ["steering"] }),
    userMessage("Continue now", { origin: "system", marks: ["note"] }),
  ];
  expect(textOf(await play(script, request({ messages })))).toBe("go left/Cont/1");
});

test("MO-39: results reach into JSON and are cut by first", async () => {
  const reply = [{ text: "{{results.search.hits.1.name}} {{results.search | first 3}} {{results.none}}|" }];
  const found = result("search", '{"hits":[{"name":"a"},{"name":"😀b"}]}');
  const messages = [userMessage("x"), assistant([]), found];
  expect(textOf(await play({ replies: [{ reply }] }, request({ messages })))).toBe('😀b {"h |');
});

test("MO-39: raw_args go as they are, finish and usage null are obeyed", async () => {
  const script = {
    replies: [{ reply: [{ call: "t", raw_args: '{"a": {{input}' }], finish: "length", usage: null }],
  };
  const completion = await play(script);
  expect(completion).toMatchObject({ finish: "length", estimated: true });
  expect(completion.parts).toMatchObject([{ args: '{"a": {{input}', invalid: "truncated" }]);
});

test("MO-39: the default usage is the estimate, with the previous request as cacheRead", async () => {
  const script = { replies: [{ reply: [{ text: "12345678" }] }, { reply: [{ text: "12345678" }] }] };
  expect((await play(script)).usage).toMatchObject({ input: 13, output: 2, cacheRead: 0 });
  const messages = [userMessage("a"), assistant([]), userMessage("b")];
  const second = await play(script, request({ messages, ...context({ call: 1 }) }));
  expect(second.usage).toMatchObject({ input: 20, output: 2, cacheRead: 13 });
});

test("MO-39 RE-F1: a status fails like the wire, as often as times says, then the reply comes", async () => {
  const script = {
    replies: [{ fail: [{ status: 429, retry_after: 2, times: 2 }, "network"], reply: [{ text: "ok" }] }],
  };
  const attempt = (attempt: number) => play(script, request(context({ attempt })));
  const limited = { code: "rate_limited", status: 429, retryAfterMs: 2000, retryable: true };
  expect(await failureOf(attempt(1))).toMatchObject(limited);
  expect((await failureOf(attempt(2))).billed).toBeUndefined();
  expect(await failureOf(attempt(3))).toMatchObject({ code: "network" });
  expect(textOf(await attempt(4))).toBe("ok");
});

test.each(["network", "timeout", "truncated_stream", "protocol_error"] as const)(
  "MO-39 RE-F5: %s in mid-reply shows as many characters as the script says, then fails and is billed",
  async (error) => {
    const deltas: ItemDelta[] = [];
    const script = { replies: [{ fail: [{ error, after_chars: 30 }], reply: [{ text: "x".repeat(100) }] }] };
    const failure = await failureOf(play(script, request(), (some) => deltas.push(...some)));
    expect(failure).toMatchObject({ code: error, billed: true, retryable: true });
    expect(replay(deltas)).toEqual(["x".repeat(30)]);
  },
);

test("MO-39 RE-F6: a status after text is an error inside the stream", async () => {
  const script = { replies: [{ fail: [{ status: 529, after_chars: 1 }], reply: [{ text: "abc" }] }] };
  expect(await failureOf(play(script))).toMatchObject({ code: "overloaded", billed: true });
});

test("MO-39: expect that does not hold fails script_mismatch and names the difference", async () => {
  const expected = { tools: ["fs_write"], messages: 2, last_contains: "bye", system_contains: "You" };
  const failure = await failureOf(play({ replies: [{ expect: expected, reply: [] }] }));
  expect(failure.retryable).toBe(false);
  expect(failure.message).toBe(
    'script_mismatch: fs_write is not declared; 1 messages, expected 2; the newest message lacks "bye".',
  );
});

test("MO-39: stall and pace wait by the timer only when they are above 0", async () => {
  const waits: number[] = [];
  const wait = (ms: number): Promise<void> => {
    waits.push(ms);
    return Promise.resolve();
  };
  const run = (script: object) =>
    completer(script, { wait }).complete(request(), { signal: new AbortController().signal });
  const reply = [{ text: "abcdef" }];
  await run({ pace: { chunk: 3 }, replies: [{ reply }] });
  expect(waits).toEqual([]);
  await run({ pace: { chunk: 3, delay_ms: 15 }, replies: [{ stall_ms: 40, reply }] });
  expect(waits).toEqual([40, 15]);
});

test("MO-1 MO-39: an abort in a stall rejects as cancelled at once", async () => {
  const controller = new AbortController();
  const script = { replies: [{ stall_ms: 3_600_000, reply: [] }] };
  const work = completer(script).complete(request(), { signal: controller.signal });
  controller.abort();
  expect((await failureOf(work)).code).toBe("cancelled");
});

test("MO-39: times 500 000 streams in pieces and never holds more than a block besides the reply", async () => {
  let longest = 0;
  const script = { replies: [{ reply: [{ text: { repeat: "word ", times: 500_000 } }] }] };
  const completion = await play(script, request(), (deltas) => {
    longest = Math.max(longest, ...deltas.map(({ data }) => data.length));
  });
  expect(textOf(completion)).toHaveLength(2_500_000);
  expect(longest).toBe(24);
});

test("MO-39: chunks never split a character", async () => {
  const deltas: ItemDelta[] = [];
  const script = { pace: { chunk: 2 }, replies: [{ reply: [{ text: "a😀b😀😀" }] }] };
  await play(script, request(), (some) => deltas.push(...some));
  expect(deltas.map(({ data }) => data)).toEqual(["a😀", "b😀", "😀"]);
});

test("MO-39: a scene that follows, or counts, a reply of which nothing stays in the chat is refused with the place", () => {
  const silent = [{ reasoning: "Hm." }, { text: " " }];
  const scenes = [
    { name: "silent", when: { times: 1 }, reply: [] },
    { name: "thinks", when: { times: 1, after: "silent" }, reply: silent },
    { name: "says", when: { times: 1, after: "thinks" }, reply: [{ refusal: "No." }] },
    { name: "calls", when: { times: 1, after: "says" }, reply: [{ call: "fs_write" }] },
    { name: "repeats", when: { times: 1, after: "calls" }, reply: [{ text: { repeat: "a", times: 2 } }] },
  ];
  const known = { agents: new Set(["guide"]), tools: new Set(["fs_write"]), servers: new Set<string>() };
  const problems = checkScript(scriptSchema.parse({ script: 1, scenes }), known);
  expect(problems.map(({ path }) => path.join("."))).toEqual([
    "scenes.0.when.times",
    "scenes.1.when.after",
    "scenes.1.when.times",
    "scenes.2.when.after",
  ]);
  expect(problems[0]?.message).toBe(
    "nothing of the reply silent stays in the chat; use call or last instead",
  );
});

test("MO-39: a script that names unknown scenes, agents, tools or placeholders is refused with the place", () => {
  const script = scriptSchema.parse({
    script: 1,
    start: "nowhere",
    replies: [],
    scenes: [
      {
        name: "a",
        when: { agent: "ghost", after: "b", last: { tool: "none" } },
        reply: [{ text: "{{inptu}}" }],
      },
      { name: "a", expect: { tools: ["x"] }, reply: [{ call: "y", args: { p: ["{{results}}"] } }] },
    ],
  });
  const problems = checkScript(script, {
    agents: new Set(["guide"]),
    tools: new Set(["fs_write"]),
    servers: new Set<string>(),
  });
  expect(problems.map(({ path }) => path.join("."))).toEqual([
    "start",
    "scenes.1.name",
    "scenes.0.when.agent",
    "scenes.0.when.after",
    "scenes.0.when.last.tool",
    "scenes.0.reply.0.text",
    "scenes.1.reply.0.call",
    "scenes.1.reply.0.args.p.0",
    "scenes.1.expect.tools.0",
  ]);
  expect(problems[6]?.message).toBe("unknown tool y");
  const graph = scriptSchema.parse({
    script: 1,
    scenes: [{ name: "a", reply: [{ text: "{{one.output}}" }] }],
  });
  expect(checkScript(graph, { agents: new Set(), tools: new Set(), servers: new Set<string>() })).toEqual([]);
  const both = scriptSchema.parse({ script: 1, replies: [{}], scenes: [{ name: "a" }] });
  expect(checkScript(both, { agents: new Set(), tools: new Set(), servers: new Set<string>() })).toHaveLength(
    1,
  );
});
