import { expect, test } from "vitest";
import type { Tables } from "../../../src/engine/access/database.ts";
import { forgetSubject } from "../../../src/engine/access/tenant/memories.ts";
import { indexSession } from "../../../src/engine/access/tenant/session-index.ts";
import { memoryTables } from "../../engine/access/tables.ts";
import type { Bench, BenchOptions } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { Member } from "../../support/crew.ts";
import { chatOf, childIds, crewYaml, delegate, eventsAs, resultsOf } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { createProbe } from "../../support/probe.ts";
import type { EngineExtras } from "../../support/teams.ts";
import { engineOf } from "../../support/teams.ts";
import { replies, said } from "../../support/scripts.ts";
import { insist } from "../../support/power-cut.ts";

/** What agents remember between sessions, from YAML to the next chat (AG-41). */

const sessionId = (letter: string): string => `s_${letter.repeat(26)}`;

interface Played {
  readonly tables?: Tables;
  readonly tenant?: string;
  /** Of the session's id. */
  readonly letter?: string;
  readonly subject?: string;
  readonly extras?: EngineExtras;
  /** More providers, as YAML. */
  readonly providers?: string;
  readonly bench?: Partial<BenchOptions>;
}

const helper = (yaml: string, ...answers: readonly string[]): Member => ({
  name: "helper",
  yaml,
  script: replies(...answers.map((answer) => (answer.startsWith("{") ? answer : said(answer)))),
});

const opened = async (
  members: Member | readonly Member[],
  { letter = "a", subject, extras = {}, providers = "", bench: options = {}, ...shared }: Played = {},
): Promise<Bench> => {
  const yaml = crewYaml([members].flat()).replace("\nagents:", `${providers}\nagents:`);
  const engine = await engineOf(yaml, { toolboxes: [createProbe().toolbox], ...extras });
  const bench = openBench({ engine, id: sessionId(letter), ...shared, ...options });
  bench.ok("create", subject === undefined ? {} : { metadata: { subject } });
  return bench;
};

const say = async (bench: Bench, content: string, more: object = {}): Promise<void> => {
  bench.send(content, more);
  await bench.idle();
};

/** The texts of user messages in a chat's view, in their order. */
const heard = (bench: Bench, thread = "main"): readonly string[] =>
  chatOf({ bench }, thread)
    .filter(({ role }) => role === "user")
    .toSorted((a, b) => (a.place ?? a.pos) - (b.place ?? b.pos))
    .flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")));

const notes = (bench: Bench, thread = "main"): readonly string[] =>
  heard(bench, thread).filter((text) => text.startsWith("<memory>"));

const rowsOf = (tables: Tables): readonly Readonly<Record<string, unknown>>[] =>
  tables.read("SELECT id, text, tags FROM memories ORDER BY n");

const errors = (bench: Bench): readonly string[] => eventsAs({ bench }, "error").map(({ data }) => data.code);

test("AG-41: an input and its answer reach the next session of the same subject as one note before its input", async () => {
  const { tables } = memoryTables();
  const yaml = "memory: {}";
  const first = await opened(helper(yaml, "Your boat lies in Kiel."), { tables, subject: "ada" });
  await say(first, "Where is my boat?");
  expect(rowsOf(tables)).toEqual([
    {
      id: `${sessionId("a")}/${first.state().createdAt}/run_1`,
      text: "Asked: Where is my boat?\nAnswered: Your boat lies in Kiel.",
      tags: JSON.stringify([`session:${sessionId("a")}`, "agent:helper"]),
    },
  ]);
  const second = await opened(helper(yaml, "As I said."), { tables, letter: "b", subject: "ada" });
  await say(second, "Hello again");
  const [note, input, ...rest] = heard(second);
  expect(note).toMatch(
    /^<memory>\n[\s\S]*Most recent:[\s\S]*helper: Asked: Where is my boat\?\n  Answered: Your boat lies in Kiel\.\n<\/memory>$/,
  );
  expect([input, rest]).toEqual(["Hello again", []]);
  const [request] = second.requests;
  expect(
    request?.messages.map(({ role, parts: [part] }) => [
      role,
      part?.type === "text" ? part.text.slice(0, 8) : "",
    ]),
  ).toEqual([
    ["user", "<memory>"],
    ["user", "Hello ag"],
  ]);
  expect(errors(second)).toEqual([]);
});

test("★ AG-41: two subjects of one tenant: neither recalls the other's text", async () => {
  const { tables } = memoryTables();
  const member = (answer: string): Member =>
    helper(
      "memory: {}",
      answer,
      said(["memory_search", { query: "boat harbour secret", threshold: 0 }]),
      "Searched.",
    );
  const ada = await opened(member("In Kiel."), { tables, subject: "ada" });
  await say(ada, "Where is the boat in the harbour? It is my secret.");
  for (const [letter, subject] of [
    ["b", "bob"],
    ["d", undefined],
  ] as const) {
    const other = await opened(member("I do not know."), {
      tables,
      letter,
      ...(subject === undefined ? {} : { subject }),
    });
    await say(other, "Where is the boat in the harbour? Tell me the secret.");
    await say(other, "Search for the boat in the harbour.");
    expect(notes(other), String(subject)).toEqual([]);
    expect(resultsOf({ bench: other }).join("\n")).not.toContain("Kiel");
  }
});

for (const [scope, known] of [
  ["tenant", true],
  ["session", false],
] as const)
  test(`AG-41: scope ${scope}: another session of the tenant, with another subject, ${known ? "knows" : "does not know"}`, async () => {
    const { tables } = memoryTables();
    const yaml = `memory: { scope: ${scope} }`;
    await say(await opened(helper(yaml, "In Kiel."), { tables, subject: "ada" }), "Where is the boat?");
    const other = await opened(helper(yaml, "Yes."), { tables, letter: "b", subject: "bob" });
    await say(other, "Hello there");
    expect(notes(other).length).toBe(known ? 1 : 0);
  });

test("AG-41: nothing is told twice in a chat, and nothing that stands in it", async () => {
  const { tables } = memoryTables();
  const first = await opened(helper("memory: {}", "In Kiel.", "At the pier."), { tables, subject: "ada" });
  await say(first, "Where is the boat?");
  await say(first, "Where exactly is the boat?");
  expect(notes(first)).toEqual([]);
  const second = await opened(helper("memory: {}", "Yes.", "Yes.", "Yes."), {
    tables,
    letter: "b",
    subject: "ada",
  });
  await say(second, "Where is the boat?");
  await say(second, "Where is the boat now?");
  expect(notes(second).length).toBe(1);
  expect(notes(second)[0]?.match(/Asked:/g)?.length).toBe(2);
  second.crash();
  await say(second, "And where is the boat now?");
  expect(notes(second).length).toBe(1);
});

test("AG-41: recent 0: an input of fewer words than min_words recalls nothing; what does not fit is not recalled", async () => {
  const { tables } = memoryTables();
  const yaml = "memory: { recent: 0 }";
  const first = await opened(helper(yaml, "In Kiel.", "Rain."), { tables, subject: "ada" });
  await say(first, "Where is the boat?");
  await say(first, "How is the weather?");
  const second = await opened(helper(yaml, "One.", "Two.", "Three."), {
    tables,
    letter: "b",
    subject: "ada",
  });
  await say(second, "The boat?");
  expect(notes(second)).toEqual([]);
  await say(second, "Sing a song of sixpence.");
  expect(notes(second)).toEqual([]);
  await say(second, "Where did I leave the boat?");
  expect(notes(second)).toHaveLength(1);
  expect(notes(second)[0]).toContain("Related to this input:");
  expect(notes(second)[0]).toContain("Kiel");
  expect(notes(second)[0]).not.toContain("Rain");
});

test("AG-41: limit and recent bound the note, and its bytes are bounded, too", async () => {
  const { tables } = memoryTables();
  const first = await opened(
    helper("memory: {}", ...Array.from({ length: 60 }, (_, n) => `Answer ${n} ${"x".repeat(3_000)}`)),
    {
      tables,
      subject: "ada",
    },
  );
  for (let n = 0; n < 60; n++) await say(first, `The question about boat${n % 2} number ${n}`);
  const note = async (yaml: string, letter: string): Promise<string> => {
    const bench = await opened(helper(yaml, "Yes."), { tables, letter, subject: "ada" });
    await say(bench, "The question about boat1");
    return notes(bench)[0] ?? "";
  };
  expect((await note("memory: { recent: 2, limit: 3 }", "b")).match(/Asked:/g)?.length).toBe(5);
  expect((await note("memory: { recent: 0, limit: 0 }", "c")).length).toBe(0);
  const long = await note("memory: { recent: 200, limit: 50 }", "d");
  expect(Buffer.byteLength(long)).toBeLessThan(17_000);
  expect(long.match(/Asked:/g)?.length).toBeGreaterThan(10);
});

test("AG-41: only completed runs are remembered, with their steers; a light one neither hears nor leaves anything; write: false leaves nothing", async () => {
  const { tables } = memoryTables();
  const looping = helper("memory: {}\noptions: { max_iterations: 1 }", said(["look", {}]));
  await say(await opened(looping, { tables, subject: "ada" }), "Look at the boat");
  const reading = helper("memory: { write: false }", "In Kiel.");
  await say(await opened(reading, { tables, letter: "b", subject: "ada" }), "Where is the boat?");
  expect(rowsOf(tables)).toEqual([]);
  const steered = await opened(helper("memory: {}", "Half.", "Whole."), {
    tables,
    letter: "c",
    subject: "ada",
  });
  steered.hold = true;
  steered.send("Where is the boat?");
  await steered.steps();
  steered.send("I mean the red one.", { on_busy: "steer" });
  steered.release();
  await steered.idle();
  expect(rowsOf(tables).map(({ text }) => text)).toEqual([
    "Asked: Where is the boat?\nI mean the red one.\nAnswered: Whole.",
  ]);
  const light = await opened(helper("memory: {}", "Beat."), { tables, letter: "d", subject: "ada" });
  await say(light, "Where is the red boat?", { light: true });
  expect(notes(light)).toEqual([]);
  expect(rowsOf(tables)).toHaveLength(1);
  for (const bench of [steered, light])
    expect(bench.rows("entries").filter(({ store }) => store === "inputs" || store === "outbox")).toEqual([]);
});

test("AG-41: what is long is remembered with its beginning and its end", async () => {
  const { tables } = memoryTables();
  const bench = await opened(helper("memory: {}", "y".repeat(9_000)), { tables, subject: "ada" });
  await say(bench, `Begin ${"x".repeat(9_000)} end`);
  const [row] = rowsOf(tables);
  expect(String(row?.["text"])).toMatch(/^Asked: Begin x+ … \[.* characters shown\] … x+ end\nAnswered: y+/);
  expect(Buffer.byteLength(String(row?.["text"]))).toBeLessThan(8_192);
});

test("AG-41: a called agent with a memory is told before its task, and leaves its task and its result", async () => {
  const { tables } = memoryTables();
  const crew = (): readonly Member[] => [
    { name: "lead", script: replies(said(delegate("coder", { task: "Paint the boat red" })), said("Done.")) },
    {
      name: "coder",
      yaml: "memory: {}",
      script: replies(said(["task_complete", { status: "completed", summary: "Painted." }])),
    },
  ];
  const first = await opened(crew(), { tables, subject: "ada" });
  await say(first, "Go");
  expect(rowsOf(tables).map(({ text }) => text)).toEqual(["Asked: Paint the boat red\nAnswered: Painted."]);
  const second = await opened(crew(), { tables, letter: "b", subject: "ada" });
  await say(second, "Go");
  expect(notes(second)).toEqual([]);
  const [child = ""] = childIds({ bench: second });
  expect(notes(second, child)).toHaveLength(1);
  expect(heard(second, child).at(-1)).toBe("Paint the boat red");
});

test("AG-41: memory_append is found by memory_search in another session, by tag, too; a text over 8 KiB is refused", async () => {
  const { tables } = memoryTables();
  const append = (text: string, tags: readonly string[] = []): string =>
    said(["memory_append", { text, tags }]);
  const first = await opened(
    helper(
      "memory: { write: false }",
      append("The keel is made of oak.", ["shipyard"]),
      append("ä".repeat(5_000)),
      "Noted.",
    ),
    { tables, subject: "ada" },
  );
  await say(first, "Remember this");
  expect(resultsOf({ bench: first })[0]).toBe('ok: {"remembered":true}');
  expect(resultsOf({ bench: first })[1]).toMatch(/^error: invalid_arguments: .*8 KiB/);
  expect(rowsOf(tables)).toHaveLength(1);
  const search = (query: string): string => said(["memory_search", { query, limit: 1 }]);
  const second = await opened(
    helper("memory: { recent: 0 }", search("oak keel"), search("shipyard"), search("sail"), "Found."),
    {
      tables,
      letter: "b",
      subject: "ada",
    },
  );
  await say(second, "Look it up");
  const [byText = "", byTag = "", none] = resultsOf({ bench: second });
  for (const found of [byText, byTag])
    expect(JSON.parse(found.slice(4))).toMatchObject([
      {
        agent: "helper",
        text: "The keel is made of oak.",
        score: 1,
        tags: expect.arrayContaining(["shipyard", "agent:helper"]),
      },
    ]);
  expect(none).toBe("ok: []");
});

test("AG-41: without a memory there are no such tools, and nothing is stored", async () => {
  const { tables } = memoryTables();
  const bench = await opened(helper("", "Fine."), { tables });
  await say(bench, "Hello to you all");
  expect(
    bench.requests[0]?.tools?.map(({ name }) => name).filter((name) => name.startsWith("memory")),
  ).toEqual([]);
  expect(rowsOf(tables)).toEqual([]);
  expect(bench.rows("entries")).toEqual([]);
});

test("AG-41: what a secret says is neither stored nor told", async () => {
  const { tables } = memoryTables();
  const extras = { env: { KEY: "sesame-open-42" } };
  const team = "redaction: { names: [] }";
  const yaml = crewYaml([helper("memory: {}", "I keep it.")], team).replace(
    "kind: scripted",
    "kind: scripted\n    api_key: ${KEY}",
  );
  const engine = await engineOf(yaml, { toolboxes: [createProbe().toolbox], ...extras });
  const bench = openBench({ engine, tables });
  bench.ok("create", { metadata: { subject: "ada" } });
  await say(bench, "The word is sesame-open-42 for the gate");
  expect(rowsOf(tables)[0]?.["text"]).toBe(
    "Asked: The word is [secret:KEY] for the gate\nAnswered: I keep it.",
  );
});

/** Tables that fail until they are mended. */
const broken = (): { readonly tables: Tables; down: boolean } => {
  const { tables } = memoryTables();
  const kept: { tables: Tables; down: boolean } = {
    down: true,
    tables: {
      read: (query, ...values) => {
        if (kept.down && query.includes("memor")) throw new Error("down");
        return tables.read(query, ...values);
      },
      write: (work) => {
        if (kept.down) throw new Error("down");
        return tables.write(work);
      },
    },
  };
  return kept;
};

test("★ AG-41: a store that is down changes no run: error memory_unavailable; what was said arrives once it is back, all of it, each once", async () => {
  const store = broken();
  const count = 70;
  const bench = await opened(
    helper("memory: {}", ...Array.from({ length: count }, (_, n) => `Answer ${n}`)),
    {
      tables: store.tables,
      subject: "ada",
    },
  );
  for (let n = 0; n < count; n++) await say(bench, `Question number ${n} of many`);
  expect(eventsAs({ bench }, "run_end").map(({ data }) => data.state)).toEqual(
    Array.from({ length: count }, () => "completed"),
  );
  expect([...new Set(errors(bench))]).toEqual(["memory_unavailable"]);
  expect(errors(bench)).toHaveLength(count);
  bench.crash();
  await bench.pass(10_000);
  store.down = false;
  await bench.pass(300_000);
  expect(rowsOf(store.tables)).toHaveLength(count);
  bench.crash();
  expect(bench.state().outbox).toBeNull();
  expect(bench.alarm()).toBeNull();
  expect(bench.rows("entries")).toEqual([]);
});

test("AG-41: a secret that becomes known before a row is handed over is taken out of it", async () => {
  const store = broken();
  const engine = await engineOf(crewYaml([helper("memory: {}", "I keep it.")]), {
    toolboxes: [createProbe().toolbox],
  });
  const bench = openBench({ engine, tables: store.tables });
  bench.ok("create");
  await say(bench, "The word is open-sesame-9 for now");
  engine.redactor.learn("GATE", "open-sesame-9");
  store.down = false;
  await bench.pass(10_000);
  expect(rowsOf(store.tables).map(({ text }) => text)).toEqual([
    "Asked: The word is [secret:GATE] for now\nAnswered: I keep it.",
  ]);
});

test("AG-41: recall that hangs is given up after 2 s, what is recent is told all the same", async () => {
  const { tables } = memoryTables();
  await say(await opened(helper("memory: {}", "In Kiel."), { tables, subject: "ada" }), "Where is the boat?");
  const memory = { recallMemories: () => new Promise<never>(() => undefined) };
  const bench = await opened(helper("memory: {}", "Fine."), {
    tables,
    letter: "b",
    subject: "ada",
    bench: { memory },
  });
  bench.send("Where is the boat?");
  await bench.tick(1_900);
  expect(bench.requests).toEqual([]);
  await bench.tick(200);
  await bench.idle();
  expect(eventsAs({ bench }, "run_end").at(-1)?.data).toMatchObject({ state: "completed" });
  expect(eventsAs({ bench }, "error").map(({ data }) => data)).toEqual([
    {
      code: "memory_unavailable",
      message: "memory could not be read in time: what fits; the run goes on without it",
      retryable: true,
    },
  ]);
  expect(notes(bench)[0]).toContain("Kiel");
});

/** A server of embeddings: two numbers for each text, by what it is about. */
const meaning = (text: string): readonly number[] => (/boat|vessel|harbour/.test(text) ? [1, 0.1] : [0.1, 1]);

interface Asked {
  readonly url: string;
  readonly key: string | null;
  readonly model: string;
  readonly input: readonly string[];
}

const embeddings = (answer?: () => Promise<Response>) => {
  const asked: Asked[] = [];
  const fetch = async (address: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(address, init);
    const { model, input } = await request.json<Pick<Asked, "model" | "input">>();
    asked.push({ url: request.url, key: request.headers.get("authorization"), model, input });
    if (answer !== undefined) return answer();
    const data = input.map((text, index) => ({ index, embedding: meaning(text) })).toReversed();
    return Response.json({ data });
  };
  return { asked, extras: { fetch, env: { EMBED_KEY: "k-0123456789" } } };
};

const embedding = `
  - { name: near, kind: openai-compatible, base_url: "https://near.example/api/v1", api_key: "\${EMBED_KEY}", model: small }`;

test("AG-41: with embedding, what means the same is recalled without a word in common; the key stays secret", async () => {
  const { tables } = memoryTables();
  const { asked, extras } = embeddings();
  const yaml = "memory: { recent: 0, embedding: near }";
  const base = { tables, subject: "ada", extras, providers: embedding };
  const first = await opened(helper(yaml, "In Kiel.", "It rains, k-0123456789."), base);
  await say(first, "Where does my boat lie?");
  await say(first, "How is the weather?");
  const second = await opened(helper(yaml, said(["memory_search", { query: "vessel" }]), "Fine."), {
    ...base,
    letter: "b",
  });
  await say(second, "Find that vessel please");
  expect(notes(second)[0]).toContain("Where does my boat lie?");
  expect(notes(second)[0]).not.toContain("weather");
  expect(resultsOf({ bench: second })[0]).toContain("Where does my boat lie?");
  expect(new Set(asked.map(({ url, key, model }) => `${url} ${key} ${model}`))).toEqual(
    new Set(["https://near.example/api/v1/embeddings Bearer k-0123456789 small"]),
  );
  expect(JSON.stringify(asked.map(({ input }) => input))).not.toContain("k-0123456789");
  expect(errors(second)).toEqual([]);
});

for (const [how, answer] of [
  ["hang", () => new Promise<Response>(() => undefined)],
  ["fail", async () => new Response("no", { status: 500 })],
  ["answer nonsense", async () => Response.json({ data: [{ index: 7, embedding: [1] }] })],
] as const)
  test(`AG-41: embeddings that ${how}: memory is searched by words, the run goes on, and its row arrives without a vector`, async () => {
    const { tables } = memoryTables();
    await say(
      await opened(helper("memory: {}", "In Kiel."), { tables, subject: "ada" }),
      "Where is the boat?",
    );
    const { extras } = embeddings(answer);
    const yaml = "memory: { recent: 0, embedding: near }";
    const bench = await opened(helper(yaml, "Fine."), {
      tables,
      letter: "b",
      subject: "ada",
      extras,
      providers: embedding,
    });
    bench.send("Where is the boat?");
    await bench.tick(1_300);
    for (let round = 0; round < 50 && eventsAs({ bench }, "run_end").length === 0; round++)
      await bench.steps();
    expect(errors(bench)).toEqual(["memory_unavailable"]);
    expect(notes(bench)[0]).toContain("Kiel");
    if (how === "hang") return;
    for (let round = 0; round < 20 && bench.alarm() !== null; round++)
      await bench.pass(Math.max(1, (bench.alarm() ?? 0) - bench.now()));
    expect(rowsOf(tables)).toHaveLength(2);
    expect(bench.state().outbox).toBeNull();
  });

test("AG-41: deleting a subject deletes its rows, also those that were on their way; a session's own go with it", async () => {
  const store = broken();
  const { tables } = store;
  store.down = false;
  const one = await opened(helper("memory: {}", "In Kiel.", "At the pier."), { tables, subject: "ada" });
  await say(one, "Where is the boat?");
  store.down = true;
  await say(one, "Where exactly is it?");
  store.down = false;
  tables.write((all) => forgetSubject(all, "eve", one.now()));
  expect(rowsOf(tables)).toHaveLength(1);
  tables.write((all) => forgetSubject(all, "ada", one.now()));
  expect(rowsOf(tables)).toEqual([]);
  expect(tables.read("SELECT rowid FROM memory_words")).toEqual([]);
  await one.pass(10_000);
  expect(one.state().outbox).toBeNull();
  expect(rowsOf(tables)).toEqual([]);
  const own = await opened(helper("memory: { scope: session }", "In Kiel."), { tables, letter: "b" });
  await say(own, "Where is the boat?");
  expect(rowsOf(tables)).toHaveLength(1);
  const summary = {
    ref: null,
    agent: "helper",
    title: null,
    metadata: {},
    revision: "r_1",
    usage: {},
    ledger: { since: 0, rows: [] },
  } as const;
  const times = { head_seq: 1, created_at: 1, updated_at: own.now() };
  indexSession(tables, { ...summary, ...times, id: sessionId("b"), status: "idle" });
  indexSession(tables, { ...summary, ...times, head_seq: 2, id: sessionId("b"), status: "deleted" });
  expect(rowsOf(tables)).toEqual([]);
});

test("★ AG-41: the power cut at every write: one row of the run and one of its tool, and one note", async () => {
  const script = replies(said(["memory_append", { text: "The old boat is blue." }]), said("In Kiel."));
  const engine = await engineOf(crewYaml([{ name: "helper", yaml: "memory: {}", script }]), {
    toolboxes: [createProbe().toolbox],
  });
  const play = async (
    cut: number | null,
  ): Promise<{ readonly bench: Bench; readonly tables: Tables; readonly writes: number }> => {
    const { tables } = memoryTables();
    const earlier = openBench({ engine, tables, id: sessionId("e") });
    earlier.ok("create", { metadata: { subject: "ada" } });
    await say(earlier, "Where was the old boat?");
    const bench = openBench({ engine, tables });
    bench.ok("create", { metadata: { subject: "ada" } });
    const before = bench.writes();
    bench.cutAt(cut);
    insist(bench, "send", { id: "i1", content: "Where is the old boat?" }, "i1");
    await bench.idle();
    for (let round = 0; round < 5 && bench.alarm() !== null; round++)
      await bench.pass(Math.max(1, (bench.alarm() ?? 0) - bench.now()));
    return { bench, tables, writes: bench.writes() - before };
  };
  const { writes } = await play(null);
  expect(writes).toBeGreaterThan(10);
  for (let cut = 1; cut <= writes; cut++) {
    const { bench, tables } = await play(cut);
    checkInvariants(bench, ["i1"]);
    const own = rowsOf(tables).filter(({ id }) => String(id).startsWith(bench.id));
    expect(
      own.map(({ text }) => text),
      `cut at ${cut}`,
    ).toEqual(["The old boat is blue.", "Asked: Where is the old boat?\nAnswered: In Kiel."]);
    bench.crash();
    expect(bench.state().outbox).toBeNull();
    expect(bench.rows("entries")).toEqual([]);
    expect(notes(bench).length, `cut at ${cut}`).toBe(1);
  }
});
