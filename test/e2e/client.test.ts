import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type { LimpetClient, Transcript, TranscriptThread } from "../../src/client/index.ts";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { root, runCommand } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";
import { contentOf, expectLog, foldSince, whenTranscript } from "../support/transcripts.ts";

/** The typed client against the deployed bundles: the default team, whose models are scripts. */

let team: BuiltTeam;
let server: DevServer;
let api: Api;
let client: LimpetClient;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  api = createApi(server.url);
  client = createClient({ url: server.url });
});

afterAll(async () => {
  await server?.close();
  team?.remove();
});

const mainOf = ({ threads }: Transcript): TranscriptThread | undefined =>
  threads.find(({ id }) => id === "main");

const isOver = ({ status, session, runs }: Transcript): boolean =>
  status === "live" && session?.status === "idle" && runs.length > 0;

const textsOf = (thread: TranscriptThread | undefined): readonly string[] =>
  (thread?.entries ?? []).flatMap((entry) =>
    entry.kind === "message"
      ? entry.parts.flatMap((part) => (part.type === "text" && part.text !== "" ? part.text : []))
      : [],
  );

const checkLog = async (id: string, transcript: Transcript): Promise<void> => {
  const events = await api.events(id);
  expect(contentOf(transcript)).toEqual(contentOf(foldSince(null, events)));
  expectLog(transcript, events);
};

test("AP-51: the sample for a server prints the agent's answer", async () => {
  const page = readFileSync(join(root, "src/client/README.md"), "utf8");
  const [, sample = ""] = /^```ts node\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const folder = mkdtempSync(join(root, ".limpet", "sample-"));
  const file = join(folder, "sample.ts");
  writeFileSync(file, sample.replace("limpet/client", join(root, "src/client/index.ts")));
  const said = await runCommand(process.execPath, [file], { env: { LIMPET_URL: server.url } });
  rmSync(folder, { recursive: true });
  expect(said).toContain("I am");
});

test("AP-51 AP-20: a sent text streams into the transcript, which in the end is the log's", async () => {
  const session = await client.sessions.create();
  const open = session.open();
  const seen: number[] = [];
  open.subscribe(() => {
    const entry = mainOf(open.getSnapshot())?.entries.findLast((each) => each.kind === "message");
    if (entry?.kind === "message" && entry.open)
      seen.push(entry.parts.reduce((sum, part) => sum + ("text" in part ? part.text.length : 0), 0));
  });
  await whenTranscript(open, ({ status }) => status === "live");
  const receipt = await session.send("hello");
  expect(receipt).toMatchObject({ status: "applied" });
  const over = await whenTranscript(open, isOver);
  expect(textsOf(mainOf(over))[0]).toBe("hello");
  expect(new Set(seen).size, "text grew in pieces").toBeGreaterThan(1);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  await checkLog(session.id, over);
  expect(over.usage.total).toBe((await session.usage()).cumulative.total);
  open.close();
  await whenTranscript(open, ({ status }) => status === "closed");
});

test("AP-51: a message is edited by a rewind to before its entry, and a send of the other text", async () => {
  const session = await client.sessions.create();
  const open = session.open();
  const said = (now: Transcript) =>
    (mainOf(now)?.entries ?? []).filter((entry) => entry.kind === "message" && entry.role === "user");
  await session.send("hello");
  await whenTranscript(open, isOver);
  await session.send("json");
  const [, second] = said(await whenTranscript(open, (now) => isOver(now) && said(now).length === 2));
  await client.call("rewind", { session: session.id, at: (second?.seq ?? 0) - 1 });
  await session.send("files");
  const isEdited = (now: Transcript) => said(now).length === 2 && said(now)[1]?.id !== second?.id;
  const edited = await whenTranscript(open, (now) => isOver(now) && isEdited(now));
  expect(textsOf(mainOf(edited)).filter((text) => ["hello", "json", "files"].includes(text))).toEqual([
    "hello",
    "files",
  ]);
  open.close();
});

test("AP-51: who sends a message with a misspelt field, or without any, is told of the right ones", async () => {
  const session = await client.sessions.create();
  const open = session.open();
  await whenTranscript(open, ({ status }) => status === "live");
  // @ts-expect-error The field is content.
  const misspelt = session.send({ contnt: "hello" });
  await expect(misspelt).rejects.toThrow("contnt is not a field here; did you mean content?");
  // @ts-expect-error A message has a content.
  await expect(session.send()).rejects.toThrow("content");
  // @ts-expect-error A content is a text or a list of parts.
  await expect(session.send({ content: 5 })).rejects.toThrow("content");
  await whenTranscript(open, ({ inputs }) => inputs.length === 0);
  open.close();
});

test("AP-51: children stand at their call, an ask at its own, and another client shows the same", async () => {
  const session = await client.sessions.create();
  const open = session.open();
  await session.send("team");
  const over = await whenTranscript(open, (now) => isOver(now));
  const calls = mainOf(over)?.entries.flatMap((entry) => (entry.kind === "call" ? entry : [])) ?? [];
  const spawn = calls.find(({ children }) => children.length > 0);
  expect(spawn).toMatchObject({ state: "done", outcome: "ok" });
  for (const child of spawn?.children ?? []) {
    const thread = over.threads.find(({ id }) => id === child);
    expect(thread).toMatchObject({ state: "completed", parent: { thread: "main", call: spawn?.call } });
    expect(textsOf(thread).length).toBeGreaterThan(1);
    expect(thread?.usage.total).toBeGreaterThan(0);
  }
  await session.send("approve");
  const asking = await whenTranscript(open, ({ asks }) => asks.length === 1);
  const [ask] = asking.asks;
  const entryOf = (now: Transcript) =>
    mainOf(now)?.entries.find((entry) => entry.kind === "call" && entry.call === ask?.call);
  expect(entryOf(asking)).toMatchObject({ state: "waiting", asks: [{ id: ask?.id, closed_at: null }] });
  expect(asking.session).toMatchObject({ status: "waiting", open_asks: [ask?.id] });
  await session.answer(ask?.id ?? "", { decision: "approve" });
  const done = await whenTranscript(open, (now) => isOver(now) && now.asks.length === 0);
  expect(entryOf(done)).toMatchObject({
    state: "done",
    outcome: "ok",
    asks: [{ status: "resolved", resolution: { decision: "approve" } }],
  });
  await checkLog(session.id, done);
  const second = client.sessions.get(session.id).open();
  const other = await whenTranscript(second, isOver);
  expect(contentOf(other)).toEqual(contentOf(done));
  expect(other.usage).toEqual(done.usage);
  for (const each of [open, second]) each.close();
});

test("AP-52: a server that is killed in an answer and comes back: pending inputs arrive once, the text is the log's", async () => {
  const session = await client.sessions.create();
  const open = session.open();
  await whenTranscript(open, ({ status }) => status === "live");
  await session.send("hello");
  await whenTranscript(
    open,
    (now) => mainOf(now)?.entries.some((each) => each.kind === "message" && each.open) === true,
  );
  await server.kill();
  await whenTranscript(open, ({ status }) => status === "offline");
  const sent = session.send({ content: "hello", on_busy: "queue" });
  const waiting = await whenTranscript(open, ({ inputs }) => inputs.length === 1);
  expect(waiting.inputs[0]).toMatchObject({ state: "pending", content: [{ type: "text", text: "hello" }] });
  await server.start();
  await sent;
  const over = await whenTranscript(open, (now) => isOver(now) && now.runs.length === 2);
  expect(over.inputs).toEqual([]);
  expect(textsOf(mainOf(over)).filter((text) => text === "hello")).toHaveLength(2);
  await checkLog(session.id, over);
  open.close();
});
