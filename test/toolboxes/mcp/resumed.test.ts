import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import type { SeenRequest, TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { protect } from "../../support/oauth-server.ts";
import * as logins from "./logins.ts";
import { serverOf, servedBench } from "./support.ts";

/** A 2025 server cuts the stream of an answer off and sends the rest of it to whoever asks for it by the last event. */

const priming = (retryMs: number, id = "e1"): string => `id: ${id}\nretry: ${retryMs}\ndata: \n\n`;

const resultOf = (id: SeenRequest["id"], text: string): string =>
  `event: message\nid: e9\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: textResult(text) })}\n\n`;

interface CutAnswer {
  /** What the answer to the call begins with; the stream ends after it. */
  readonly begin?: string;
  /** Answers each request for the rest: the how-manieth it is, and the id of the call. */
  readonly resume: (response: ServerResponse, at: number, call: SeenRequest["id"]) => void;
  readonly keys?: string;
}

interface Cut {
  readonly server: TestMcpServer;
  readonly bench: Bench;
  /** The requests for the rest of an answer. */
  readonly resumed: () => readonly SeenRequest[];
  readonly calls: () => number;
}

const openStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { "content-type": "text/event-stream" });

const cutBench = async ({ begin = priming(0), resume, keys = "" }: CutAnswer): Promise<Cut> => {
  let call: SeenRequest["id"] = null;
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("never asked"),
    before: ({ http, rpc, id }, response) => {
      if (rpc === "tools/call") {
        call = id;
        openStream(response).end(begin);
        return true;
      }
      if (http === "GET") resume(response, resumed().length, call);
      return http === "GET";
    },
  });
  const resumed = () => server.seen.filter(({ http }) => http === "GET");
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", protocol: "2025"${keys} }`],
    toolboxes: "[sea]",
    turns: [[["sea__look", {}]], ["Done."]],
    hosts: [server.host],
  });
  const calls = () => server.methods().filter((method) => method === "tools/call").length;
  return { server, bench, resumed, calls };
};

test("TB-24 TB-25: an answer cut off after an event is taken up again there, and an unsafe call is made once", async () => {
  const { bench, resumed, calls } = await cutBench({
    resume: (response, at, call) =>
      openStream(response).end(at < 2 ? priming(0, "e2") : resultOf(call, "seen")),
  });
  await say(bench);
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "ok", output: "seen" });
  expect(resumed().map(({ headers }) => headers["last-event-id"])).toEqual(["e1", "e2"]);
  expect(calls()).toBe(1);
});

test("TB-24: an answer that is never resumed, or refused to who asks for the rest, leaves the outcome unknown", async () => {
  for (const status of [404, 405]) {
    const { bench, resumed, calls } = await cutBench({
      resume: (response) => response.writeHead(status).end(),
    });
    await say(bench);
    expect(lastEvent(bench, "tool_call_end")["outcome"]).toBe("unknown");
    expect(resumed()).toHaveLength(status === 405 ? 1 : 3);
    expect(calls()).toBe(1);
  }
});

test("TB-25 TB-26: a server that never sends the rest ends at the call's deadline, and no request stays open", async () => {
  let isClosed = false;
  const { bench, resumed, calls } = await cutBench({
    keys: ", timeout: 60s",
    resume: (response) => {
      response.on("close", () => {
        isClosed = true;
      });
      openStream(response).flushHeaders();
    },
  });
  bench.send("Go");
  await expect.poll(() => resumed().length, { timeout: 3_000 }).toBe(1);
  await bench.tick(59_000);
  expect(isClosed).toBe(false);
  await bench.tick(1_000);
  await expect.poll(() => isClosed).toBe(true);
  await bench.idle();
  expect(lastEvent(bench, "tool_call_end")["outcome"]).toBe("unknown");
  expect(calls()).toBe(1);
});

test("TB-26: a cancel ends the wait that a server asks for before the rest, however long", async () => {
  for (const retry of [3_600_000, 99_999_999_999]) {
    const { server, bench, resumed } = await cutBench({
      begin: priming(retry),
      resume: (response) => response.writeHead(500).end(),
    });
    bench.send("Go");
    await expect.poll(() => server.methods().includes("tools/call")).toBe(true);
    bench.ok("cancel");
    await bench.idle();
    expect(lastEvent(bench, "run_end")["state"]).toBe("cancelled");
    await expect.poll(() => server.methods().includes("notifications/cancelled")).toBe(true);
    expect(resumed()).toEqual([]);
  }
});

test("TB-26 RE-T21: the rest of an answer counts with its beginning: more than 1 MiB in all is an error that says so", async () => {
  const filler = `: ${"x".repeat(600_000)}\n\n`;
  const { bench, resumed } = await cutBench({
    begin: priming(0) + filler,
    resume: (response, _at, call) =>
      openStream(response).end(priming(3_600_000, "e2") + filler + resultOf(call, "seen")),
  });
  await say(bench);
  expect(lastEvent(bench, "tool_call_end")["output"]).toMatch(/^too_large: the answer is longer than 1 MiB/);
  expect(resumed()).toHaveLength(1);
});

test("TB-24 TB-27: a token that ends while an answer is cut off makes no login of a call that was made", async () => {
  const auth = await logins.oauthOf();
  const guard = protect({ by: () => auth });
  let isCut = false;
  const sea = await logins.protectedBy(auth, {
    before: (seen, response) => {
      if (guard(seen, response)) return true;
      if (seen.rpc !== "tools/call" || !isCut) return false;
      auth.revoke();
      openStream(response).end(priming(0));
      return true;
    },
  });
  const bench = await logins.signedIn({ auth, sea, more: 'auth: oauth, protocol: "2025"' });
  const calls = () => sea.methods().filter((method) => method === "tools/call").length;
  const before = calls();
  isCut = true;
  await say(bench, "Again");
  expect(lastEvent(bench, "tool_call_end")["outcome"]).toBe("unknown");
  expect(calls()).toBe(before + 1);
  expect(
    sea.seen.filter(({ http }) => http === "GET").map(({ headers }) => headers["last-event-id"]),
  ).toContain("e1");
});
