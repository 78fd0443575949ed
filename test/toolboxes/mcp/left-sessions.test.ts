import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import { coder, crew, delegate, lead, spawn, task, writer } from "../../support/crew.ts";
import type { McpServerOptions, SeenRequest } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { said } from "../../support/scripts.ts";
import { deployServed, servedBench, serverOf } from "./support.ts";

/** Sessions of 2025 servers: whatever happens when one begins, it is ended once nobody uses it. */

/** A server that knows which of its sessions are open, and refuses requests for others. */
const sessionServer = async (options: Partial<McpServerOptions> = {}) => {
  const open = new Set<string>();
  let begun = 0;
  const answerFirst = ({ http, rpc, headers }: SeenRequest, response: ServerResponse): boolean => {
    const session = String(headers["mcp-session-id"]);
    if (http === "DELETE") response.writeHead(open.delete(session) ? 204 : 404).end();
    else if (rpc === "initialize" || rpc === "server/discover" || open.has(session)) return false;
    else response.writeHead(404).end();
    return true;
  };
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    ...options,
    session: () => {
      const session = `s${++begun}`;
      open.add(session);
      return session;
    },
    before: (seen, response) => options.before?.(seen, response) === true || answerFirst(seen, response),
  });
  return { ...server, open, begun: () => begun };
};

const look = ["sea__look", {}] as const;

const benchAt = (
  { url, host }: { readonly url: string; readonly host: string },
  turns: Parameters<typeof servedBench>[0]["turns"],
): Promise<Bench> =>
  servedBench({
    servers: [`{ name: sea, url: "${url}", protocol: "2025" }`],
    toolboxes: "[sea]",
    turns,
    hosts: [host],
  });

/** Lets the session ask for a new list, after which the server keeps the session of that list alone. */
const expectOneAfterList = async (
  bench: Bench,
  { open, begun }: Awaited<ReturnType<typeof sessionServer>>,
): Promise<void> => {
  const before = begun();
  await bench.pass(3_600_000);
  await say(bench, "Later");
  expect(begun()).toBe(before + 1);
  await expect.poll(() => [...open]).toEqual([`s${before + 1}`]);
};

test("★ TB-25: of two sessions that calls open at once, since the server forgot theirs, none is left behind", async () => {
  const forgotten: ServerResponse[] = [];
  let isForgetful = false;
  const server = await sessionServer({
    before: ({ rpc, headers }, response) => {
      if (!isForgetful || rpc !== "tools/call" || headers["mcp-session-id"] !== "s1") return false;
      forgotten.push(response);
      if (forgotten.length === 2) for (const each of forgotten) each.writeHead(404).end();
      return true;
    },
  });
  const bench = await benchAt(server, [[look], ["Done."], [look, look], ["Done."], [look], ["Done."]]);
  await say(bench);
  isForgetful = true;
  server.open.clear();
  await say(bench, "Again");
  expect(eventsOf(bench, "tool_call_end").map(({ output }) => output)).toEqual(["seen", "seen", "seen"]);
  expect([...server.open]).toEqual(["s2", "s3"]);
  await expectOneAfterList(bench, server);
});

test("★ TB-25: a session in which a call was lost, cancelled or cut off by a crash is not left behind", async () => {
  for (const end of ["lost", "cancelled", "crash"]) {
    const called = Promise.withResolvers<ServerResponse>();
    const server = await sessionServer({
      before: ({ rpc, headers }, response) => {
        const isHeld = rpc === "tools/call" && headers["mcp-session-id"] === "s2";
        if (isHeld) called.resolve(response);
        return isHeld;
      },
    });
    const bench = await benchAt(server, [[look], ["Done."], [look], ["Done."], ["Done."], ["Done."]]);
    await say(bench);
    server.open.clear();
    bench.send("Again");
    const response = await called.promise;
    if (end === "lost") response.destroy();
    else if (end === "cancelled") bench.ok("cancel");
    else bench.crash();
    await bench.idle();
    expect([...server.open]).toEqual(["s2"]);
    await expectOneAfterList(bench, server);
  }
});

test("★ TB-25: a session whose list a crash cut off, or whose handshake or list failed, is not left behind", async () => {
  for (const end of ["crash", "handshake", "list"]) {
    const listed = Promise.withResolvers<void>();
    const failing = end === "handshake" ? "notifications/initialized" : "tools/list";
    const server = await sessionServer({
      before: ({ rpc, headers }, response) => {
        if (rpc !== failing || headers["mcp-session-id"] !== "s1") return false;
        listed.resolve();
        if (end !== "crash") response.writeHead(500).end();
        return true;
      },
    });
    const bench = await benchAt(server, [["Done."], ["Done."], ["Done."]]);
    bench.send("Go");
    await listed.promise;
    if (end === "crash") bench.crash();
    await bench.idle();
    await expectOneAfterList(bench, server);
  }
});

test("★ TB-25: a list that comes after another run's list, whose session is in use by then, leaves no session behind", async () => {
  const used = Promise.withResolvers<void>();
  const server = await sessionServer({
    call: () => {
      used.resolve();
      return textResult("seen");
    },
    before: ({ rpc, id, headers }, response) => {
      if (rpc !== "tools/list" || headers["mcp-session-id"] !== "s2") return false;
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { tools: [textTool("look")] } });
      response.writeHead(200, { "content-type": "application/json" });
      void used.promise.then(() => response.end(answer));
      return true;
    },
  });
  const { bench } = await crew(
    [
      lead(
        [said(spawn([task("coder"), task("writer")])), said("Done."), said(delegate("coder")), said("Done.")],
        "delegation: { may_call: ['*'] }",
      ),
      coder([said(look), said("Done.")], "toolboxes: [sea]"),
      writer([said(look), said("Done.")], "toolboxes: [sea]"),
    ],
    {
      team: `egress: { allow_http: true }\nmcp_servers: [{ name: sea, url: "${server.url}", protocol: "2025" }]`,
      env: { LIMPET_PRIVATE_EGRESS: server.host },
    },
  );
  await say(bench);
  expect(server.begun()).toBe(2);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
  await expectOneAfterList(bench, server);
});

/** A server with one tool and one at another address that has one more, to which a bench moves between its runs. */
const movingServer = async (
  entry: string,
  last: Partial<McpServerOptions>,
  turns: Parameters<typeof servedBench>[0]["turns"],
) => {
  const read = { ...textTool("look"), annotations: { readOnlyHint: true } };
  const old = await sessionServer({ tools: () => [read] });
  const other = await sessionServer({ ...last, tools: () => [read, textTool("see")] });
  const options = (url: string): Parameters<typeof servedBench>[0] => ({
    servers: [`{ name: sea, url: "${url}", protocol: "2025", new_tools: allow${entry} }`],
    toolboxes: "[sea]",
    turns,
    hosts: [old.host, other.host],
  });
  const bench = await servedBench(options(old.url));
  return { bench, old, other, move: () => deployServed(bench, options(other.url)) };
};

const see = ["sea__see", {}] as const;

test("★ TB-25: a server that moves to another address is greeted there, sees no session of the old one, and is listed anew", async () => {
  const turns = [[look], ["Done."], [look], ["Done."], [see], ["Done."]];
  const { bench, old, other, move } = await movingServer("", {}, turns);
  await say(bench);
  const before = old.seen.length;
  await move();
  await say(bench, "Again");
  expect(other.seen.map(({ rpc, headers }) => [rpc, headers["mcp-session-id"]])).toEqual([
    ["initialize", undefined],
    ["notifications/initialized", "s1"],
    ["tools/call", "s1"],
  ]);
  await say(bench, "And again");
  expect(eventsOf(bench, "tool_call_end").map(({ output }) => output)).toEqual(["seen", "seen", "seen"]);
  await expect.poll(() => [...other.open]).toEqual(["s2"]);
  expect(other.seen.filter(({ http }) => http === "DELETE")).toHaveLength(1);
  expect(old.seen).toHaveLength(before);
});

test("★ TB-25: a server that moves is listed anew also if its first call there is lost or cut off by a crash", async () => {
  for (const end of ["lost", "crash"]) {
    let first = true;
    const called = Promise.withResolvers<ServerResponse>();
    const before = ({ rpc }: SeenRequest, response: ServerResponse): boolean => {
      const isHeld = rpc === "tools/call" && first;
      if (!isHeld) return false;
      first = false;
      called.resolve(response);
      return true;
    };
    const turns = [[look], ["Done."], [look], ["Done."], [see], ["Done."]];
    const { bench, move } = await movingServer(", trust: true", { before }, turns);
    await say(bench);
    await move();
    bench.send("Again");
    const response = await called.promise;
    if (end === "lost") response.destroy();
    else bench.crash();
    await bench.idle();
    await say(bench, "And again");
    expect([end, lastEvent(bench, "tool_call_end")["output"]]).toEqual([end, "seen"]);
  }
});

test("★ TB-25: another secret in a server's address is no other address, and its session is ended as any", async () => {
  const server = await sessionServer();
  const options = (key: string): Parameters<typeof servedBench>[0] => ({
    servers: [`{ name: sea, url: "${server.url}?key=\${KEY}", protocol: "2025" }`],
    toolboxes: "[sea]",
    turns: [[look], ["Done."], [look], ["Done."], ["Done."]],
    hosts: [server.host],
    env: { KEY: key },
  });
  const bench = await servedBench(options("one-secret-key"));
  await say(bench);
  await deployServed(bench, options("another-secret-key"));
  await say(bench, "Again");
  expect(server.begun()).toBe(1);
  await expectOneAfterList(bench, server);
});
