import { expect, test } from "vitest";
import { scripted } from "../support/scripts.ts";
import { benchOf, eventsOf, lastText, say } from "./harness.ts";

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
