import { expect, test } from "vitest";
import { foldFrames } from "../../src/client/fold/index.ts";
import { emptyFold, startFold } from "../../src/client/fold/start.ts";
import type { SnapshotBody } from "../../src/client/fold/start.ts";
import { play } from "../agent/loop/play.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

/** The title of a session that nobody has named (AP-17). */

const two = "replies: [{ reply: [{ text: One. }] }, { reply: [{ text: Two. }] }]";

const team = scripted(two).replace("[probe]", "[]");

const titleOf = (bench: Bench): unknown => bench.ok("get")["title"];

const say = async (bench: Bench, text: string): Promise<void> => {
  bench.send(text);
  await bench.idle();
};

test("AP-17: a session without a title has the beginning of its first message, in the event that accepts it", async () => {
  const { bench } = await play(two);
  const seq = Number(bench.send("Fix the build,\nplease")["seq"]);
  expect(titleOf(bench)).toBe("Fix the build, please");
  await bench.idle();
  await say(bench, "And now the tests");
  expect(titleOf(bench)).toBe("Fix the build, please");
  const titles = bench
    .events()
    .flatMap((event) => (event.type === "input_accepted" ? [[event.seq <= seq, event.data.title]] : []));
  expect(titles).toEqual([
    [true, "Fix the build, please"],
    [false, undefined],
  ]);
  bench.crash();
  expect(titleOf(bench)).toBe("Fix the build, please");
});

test("AP-17: a title that a person gave or took away stays as it is", async () => {
  const { bench } = await play(two, { create: { title: "Mine" } });
  await say(bench, "hello");
  expect(titleOf(bench)).toBe("Mine");
  bench.ok("patch", { title: null });
  await say(bench, "hello again");
  expect(titleOf(bench)).toBeNull();
});

test("AP-17: a session that is created with its first message has its title at once", async () => {
  const { bench } = await play(two, { create: { input: "Count the limpets" } });
  expect(titleOf(bench)).toBe("Count the limpets");
});

test("AP-51: a client that follows the session learns the title from the message", async () => {
  const { bench } = await play(two);
  const before = bench.ok("snapshot") as unknown as SnapshotBody;
  await say(bench, "Count the limpets");
  const frames = bench.events().map((event) => ({ type: "event", event }) as const);
  expect(foldFrames(startFold(before, before.seq), frames).transcript.session?.title).toBe(
    "Count the limpets",
  );
  expect(foldFrames(emptyFold, frames).transcript.session).toBeNull();
});

test("AP-17: a message that is only a file leaves the title to the next one that has a text", async () => {
  const { bench } = await play(two);
  const data = Buffer.from("Tides").toString("base64");
  bench.ok("send", { content: [{ type: "document", media_type: "text/plain", data }] });
  await bench.idle();
  expect(titleOf(bench)).toBeNull();
  await say(bench, "Read this");
  expect(titleOf(bench)).toBe("Read this");
});

test("AP-17 SE-45: a title that a person took away stays away in a fork, and after the chat was cleared", async () => {
  const engine = await engineOf(team);
  const bench = openBench({ engine });
  bench.ok("create");
  await say(bench, "hello");
  bench.ok("patch", { title: null });
  const fork = openBench({ engine, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb", source: bench });
  fork.ok("fork", { source: bench.id, at: bench.state().head });
  await say(fork, "hello again");
  expect(titleOf(fork)).toBeNull();
  bench.ok("clear");
  await say(bench, "hello again");
  expect(titleOf(bench)).toBeNull();
});

test("AP-17 SE-45: a fork takes a title of its own, which its first message does not replace", async () => {
  const engine = await engineOf(team);
  const bench = openBench({ engine });
  bench.ok("create");
  const fork = openBench({ engine, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb", source: bench });
  fork.ok("fork", { source: bench.id, at: bench.state().head, title: "Another way" });
  expect(fork.events().find(({ type }) => type === "session_created")?.data).toMatchObject({
    title: "Another way",
  });
  await say(fork, "hello");
  expect([titleOf(fork), titleOf(bench)]).toEqual(["Another way", null]);
});

test("★ AP-17: a secret of the deployment in the first message stands neither in the title nor in an event", async () => {
  const engine = await engineOf(team);
  engine.redactor.learn("TOKEN", "canary-secret-1234");
  const bench = openBench({ engine });
  bench.ok("create");
  await say(bench, "Use canary-secret-1234 for it");
  expect(titleOf(bench)).toBe("Use [secret:TOKEN] for it");
  expect(JSON.stringify([bench.state(), bench.events()])).not.toContain("canary-secret");
});
