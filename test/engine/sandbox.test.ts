import { expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { benchOf, eventsOf, lastEvent, lastText, say } from "./harness.ts";

const yaml = scripted(
  "replies: [{ reply: [{ call: fs_read, args: { path: a.txt } }] }, { reply: [{ text: done }] }, { reply: [{ text: done }] }]",
).replace("toolboxes: [probe]", "toolboxes: [filesystem]");

test("TB-5: without a SANDBOX binding the tools are declared and answer unavailable, and the run goes on", async () => {
  const bench = await benchOf(yaml, { env: { SANDBOX: undefined } }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(lastText(bench, "tool")).toMatch(/^unavailable: .*SANDBOX/);
  expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({ outcome: "error" });
});

test("TB-28: a session has its own sandbox: another session's or tenant's has another id", async () => {
  const seen: string[] = [];
  const env = {
    SANDBOX: {
      fetch: async (request: Request) => {
        seen.push(new URL(request.url).pathname);
        return Response.json({ error: "no such file", code: "not_found" }, { status: 404 });
      },
    },
  };
  const ids = async (session: string, tenant: string): Promise<string> => {
    const { openBench } = await import("../support/bench.ts");
    const { engineOf } = await import("../support/teams.ts");
    const bench = openBench({ engine: await engineOf(yaml, { env }), id: session, tenant });
    bench.ok("create");
    await say(bench);
    return /\/v1\/sandbox\/([^/]+)/.exec(seen.at(-1) ?? "")?.[1] ?? "";
  };
  const one = await ids("s_aaaaaaaaaaaaaaaaaaaaaaaaaa", "t1");
  expect(one).not.toBe("");
  expect(await ids("s_aaaaaaaaaaaaaaaaaaaaaaaaaa", "t1")).toBe(one);
  expect(await ids("s_bbbbbbbbbbbbbbbbbbbbbbbbbb", "t1")).not.toBe(one);
  expect(await ids("s_aaaaaaaaaaaaaaaaaaaaaaaaaa", "t2")).not.toBe(one);
});

/** Lets time pass second by second, whatever is under way. */
const seconds = async (bench: Bench, count: number): Promise<void> => {
  for (let second = 0; second < count; second += 1) await bench.tick(1_000);
};

/** A sandbox without room until it is given some. */
const crowded = () => {
  const given = { room: false, asked: 0 };
  const fetch = async (): Promise<Response> => {
    given.asked += 1;
    if (!given.room) return Response.json({ error: "no room", code: "capacity_exceeded" }, { status: 503 });
    return new Response("read at last");
  };
  return { given, env: { SANDBOX: { fetch } } };
};

test("TB-34: a sandbox without capacity is asked again, and the waiting is no time of the tool", async () => {
  const { given, env } = crowded();
  const bench = await benchOf(yaml, { env }, {});
  bench.send("Read");
  await seconds(bench, 100);
  expect(eventsOf(bench, "tool_call_end")).toEqual([]);
  given.room = true;
  await seconds(bench, 11);
  expect(lastText(bench, "tool")).toContain("read at last");
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
});

test("TB-34: after 2 minutes without capacity the call is an error, and a cancelled one asks no more", async () => {
  const { given, env } = crowded();
  const bench = await benchOf(yaml, { env }, {});
  bench.send("Read");
  await seconds(bench, 105);
  expect(eventsOf(bench, "tool_call_end")).toEqual([]);
  await seconds(bench, 25);
  expect(lastText(bench, "tool")).toBe("unavailable: no room");
  const other = await benchOf(yaml, { env }, {});
  other.send("Read");
  await seconds(other, 5);
  other.ok("cancel");
  await seconds(other, 6);
  const { asked } = given;
  await seconds(other, 30);
  expect(given.asked).toBe(asked);
  expect(lastEvent(other, "run_end")).toMatchObject({ state: "cancelled" });
});

test("TB-28, TB-32: what the team sets for its sandbox is sent to it before anything else", async () => {
  const seen: { readonly route: string; readonly body: string }[] = [];
  const env = {
    SANDBOX: {
      fetch: async (request: Request) => {
        const route = `${request.method} ${new URL(request.url).pathname.split("/").slice(4).join("/")}`;
        seen.push({ route, body: await request.text() });
        return Response.json({ error: "no such file", code: "not_found" }, { status: 404 });
      },
    },
  };
  const { openBench } = await import("../support/bench.ts");
  const { engineOf } = await import("../support/teams.ts");
  const own = `${yaml}\nsandbox: { limits: { output: 2MiB }, env: { NODE_ENV: test } }\n`;
  const bench = openBench({ engine: await engineOf(own, { env }) });
  bench.ok("create");
  await say(bench);
  expect(seen[0]?.route).toBe("PUT ");
  expect(JSON.parse(seen[0]?.body ?? "")).toMatchObject({
    limits: { output: 2_097_152 },
    env: { NODE_ENV: "test" },
  });
});
