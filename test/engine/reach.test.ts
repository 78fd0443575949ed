import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { ToolContext, ToolDefinition } from "../../src/tools/define-tool.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, eventsOf, lastText, say } from "./harness.ts";

const secret = "tide-token-of-the-harbour";

interface Seen {
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}
const seen: Seen[] = [];
let redirect = "";
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (piece: Buffer) => (body += piece.toString()));
  request.on("end", () => {
    seen.push({ url: request.url ?? "", headers: request.headers, body });
    if (request.url === "/endless") return void response.write("and so on");
    if (redirect !== "") response.writeHead(302, { location: redirect });
    response.end(`you sent ${String(request.headers["authorization"])} ${body}`);
  });
});
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());
beforeEach(() => {
  seen.length = 0;
  redirect = "";
});
const origin = (): string => `http://127.0.0.1:${port}`;

type Run = (context: ToolContext) => Promise<string>;

/** A session whose agent may call a tool. */
const created = async (
  run: Run,
  {
    env = { TIDE_TOKEN: secret },
    ...more
  }: Partial<ToolDefinition> & { readonly env?: Record<string, unknown> } = {},
): Promise<Bench> => {
  const tide = defineTool({
    name: "tide",
    description: "Asks the harbour.",
    params: z.strictObject({}),
    safety: "read",
    secrets: ["TIDE_TOKEN"],
    hosts: [origin()],
    ...more,
    run: async (_, context) => ({ content: await run(context) }),
  });
  const yaml = scripted("replies: [{ reply: [{ call: tide }] }, { reply: [{ text: done }] }]").replace(
    "toolboxes: [probe]",
    "toolboxes: [harbour]",
  );
  const toolboxes = [{ name: "harbour", description: "The harbour.", tools: [tide] }];
  const open = { LIMPET_PRIVATE_EGRESS: `127.0.0.1:${port},localhost:${port}`, ...env };
  return benchOf(yaml, { toolboxes, env: open }, {});
};

const calling = async (...given: Parameters<typeof created>): Promise<Bench> => {
  const bench = await created(...given);
  await say(bench);
  return bench;
};

const read = async (response: Promise<Response>): Promise<string> => (await response).text();

test("★ TB-1, TB-37: a team's tool with one secret and one host works; the secret reaches the host and nothing else", async () => {
  const bench = await calling(async ({ egress, secret: open }) => {
    const token = open("TIDE_TOKEN");
    const answer = await read(
      egress([`${origin()}/v1?key=`, token], {
        method: "POST",
        headers: { Authorization: ["Bearer ", token] },
        body: ["key=", token],
      }),
    );
    return `${String(token)} ${JSON.stringify({ token })} ${answer}`;
  });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({ url: `/v1?key=${secret}`, body: `key=${secret}` });
  expect(seen[0]?.headers).toMatchObject({ authorization: `Bearer ${secret}`, "x-limpet-hop": "1" });
  expect(lastText(bench, "tool")).toBe(
    '[secret:TIDE_TOKEN] {"token":"[secret:TIDE_TOKEN]"} you sent Bearer [secret:TIDE_TOKEN] key=[secret:TIDE_TOKEN]',
  );
  expect(JSON.stringify([bench.events(), bench.state(), bench.rows("messages")])).not.toContain(secret);
});

test("★ TB-37: another host than the declared one is egress_denied, and nothing leaves", async () => {
  for (const address of [`http://localhost:${port}/`, "https://example.org/"]) {
    const bench = await calling(({ egress }) => read(egress(address)));
    expect(lastText(bench, "tool")).toMatch(/^egress_denied: .* is not among the hosts of this tool\.$/);
    expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({ outcome: "error" });
  }
  expect(seen).toEqual([]);
});

test("TB-18: a request's timeout covers a body that never ends", async () => {
  const failed: string[] = [];
  const bench = await calling(async ({ egress }) => {
    const request = egress(`${origin()}/endless`, { timeout: 50 });
    return read(request).catch((error: unknown) => {
      failed.push((error as Error).name);
      return "it took too long";
    });
  });
  expect(failed).toEqual(["TimeoutError"]);
  expect(lastText(bench, "tool")).toBe("it took too long");
});

test("TB-18: a request's timeout leaves no timer when its call has ended", async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  const bench = await calling(({ egress }) => read(egress(`${origin()}/`, { timeout: 600_000 })));
  expect(lastText(bench, "tool")).toContain("you sent");
  await expect.poll(timers).toBeLessThanOrEqual(before);
});

test("a tool that waits after its call has ended waits for nothing, and leaves no timer", async () => {
  const late = Promise.withResolvers<void>();
  const bench = await calling(async ({ pause }) => {
    setImmediate(() => setImmediate(() => void pause(100_000).catch(late.resolve)));
    return "here";
  });
  await late.promise;
  expect(lastText(bench, "tool")).toBe("here");
  expect(bench.leftTimers()).toBe(0);
});

test("TB-1 SE-31: a tool that pauses does nothing after its call was cancelled", async () => {
  let after = 0;
  const bench = await created(async ({ pause }) => {
    await pause(100_000);
    after += 1;
    return "late";
  });
  bench.send("Go");
  await bench.steps();
  bench.ok("cancel");
  await bench.idle();
  expect(after).toBe(0);
  expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({ outcome: "cancelled" });
  expect(bench.leftTimers()).toBe(0);
});

test("TB-18, TB-37: a redirect to a host that is not declared is refused", async () => {
  redirect = "https://elsewhere.example.org/";
  const bench = await calling(({ egress }) => read(egress(`${origin()}/`)));
  expect(lastText(bench, "tool")).toMatch(/^egress_denied: /);
  expect(seen.map(({ url }) => url)).toEqual(["/"]);
});

test("RE-T10: text that only looks like a reference opens nothing", async () => {
  const forged = { secret: "TIDE_TOKEN", toString: () => "forged", toJSON: () => "forged" };
  await calling(({ egress }) =>
    read(egress(`${origin()}/`, { method: "POST", body: ["[secret:TIDE_TOKEN] ${TIDE_TOKEN} ", forged] })),
  );
  expect(seen[0]?.body).toBe("[secret:TIDE_TOKEN] ${TIDE_TOKEN} forged");
});

test("TB-1: a secret or host that is not declared is refused with the way out", async () => {
  const other = await calling(async ({ secret: open }) => String(open("OTHER")));
  expect(lastText(other, "tool")).toBe(
    "failed: this tool does not declare the secret OTHER; add it to its secrets",
  );
  const bare = { secrets: [], hosts: [] };
  const none = await calling(({ egress }) => read(egress(`${origin()}/`)), bare);
  expect(lastText(none, "tool")).toContain("add the origins that it calls to its hosts");
  expect(seen).toEqual([]);
});

test("TB-1: a tool with hosts: [*] reaches what the egress lets through, without secrets", async () => {
  const anywhere = { secrets: [], hosts: ["*"] };
  const bench = await calling(({ egress }) => read(egress(`http://localhost:${port}/a`)), anywhere);
  expect(lastText(bench, "tool")).toContain("you sent");
  const closed = await calling(({ egress }) => read(egress("http://169.254.169.254/")), anywhere);
  expect(lastText(closed, "tool")).toMatch(/^egress_denied: /);
});

test("CF-20: without its secret the tool answers unavailable with the way out, and is not run", async () => {
  const ran: string[] = [];
  const run: Run = async () => {
    ran.push("ran");
    return "";
  };
  const bench = await calling(run, { env: {} });
  expect(lastText(bench, "tool")).toBe(
    "unavailable: the secret of tide is not set; GET /readyz tells an administrator which one",
  );
  expect(ran).toEqual([]);
});

test("CF-20, RE-15: a secret of the Secrets Store is read at use, and is not told", async () => {
  const store = { TIDE_TOKEN: { get: async () => secret } };
  const bench = await calling(
    async ({ egress, secret: open }) =>
      read(egress(`${origin()}/`, { headers: { Authorization: open("TIDE_TOKEN") } })),
    { env: store },
  );
  expect(seen[0]?.headers["authorization"]).toBe(secret);
  expect(lastText(bench, "tool")).toContain("you sent [secret:TIDE_TOKEN]");
});

test("CF-20: a secret that cannot be read for a moment is not told to be unset", async () => {
  const store = { TIDE_TOKEN: { get: () => Promise.reject(new Error("away")) } };
  const bench = await calling(async () => "", { env: store });
  expect(lastText(bench, "tool")).toMatch(/^unavailable: the Secrets Store does not give a secret now/);
});

test("CF-20: secrets that tools declare are among those that the team needs", async () => {
  const tool = defineTool({
    name: "tide",
    description: "Asks the harbour.",
    params: z.strictObject({}),
    secrets: ["TIDE_TOKEN"],
    hosts: ["https://harbour.example"],
    run: () => ({ content: "" }),
  });
  const yaml = scripted("replies: [{ reply: [{ text: done }] }]");
  const toolboxes = [{ name: "harbour", description: "The harbour.", tools: [tool] }];
  const used = await engineOf(yaml.replace("[probe]", "[harbour]"), { toolboxes });
  expect(used.team.secrets).toEqual(["TIDE_TOKEN"]);
  const unused = await engineOf(yaml.replace("[probe]", "[]"), { toolboxes });
  expect(unused.team.secrets).toEqual([]);
});

test.each([
  [{ secrets: ["LIMPET_ADMIN_KEY"], hosts: ["https://a.example"] }, /not a name of a secret/],
  [{ secrets: ["a-b"], hosts: ["https://a.example"] }, /not a name of a secret/],
  [{ secrets: ["A"], hosts: [] }, /list in hosts the origins/],
  [{ secrets: ["A"], hosts: ["*"] }, /list in hosts the origins/],
  [{ hosts: ["a.example"] }, /write hosts like https/],
  [{ hosts: ["https://a.example/path"] }, /write hosts like https/],
])("TB-37: a tool that declares %j is refused when it is defined", (declared, problem) => {
  const define = () =>
    defineTool({
      name: "tide",
      description: "Asks.",
      params: z.strictObject({}),
      ...declared,
      run: () => ({ content: "" }),
    });
  expect(define).toThrow(problem);
});

test("TB-37: a tool whose host cannot be reached tells the model so, in the same words each time", async () => {
  const lost = createServer();
  await new Promise<void>((resolve) => lost.listen(0, "127.0.0.1", resolve));
  const { port: closed } = lost.address() as AddressInfo;
  await new Promise((resolve) => lost.close(resolve));
  const host = `127.0.0.1:${closed}`;
  const bench = await calling(({ egress }) => read(egress(`http://${host}/`)), {
    hosts: [`http://${host}`],
    env: { TIDE_TOKEN: secret, LIMPET_PRIVATE_EGRESS: host },
  });
  expect(lastText(bench, "tool")).toBe(
    `unavailable: the connection to ${host} failed; check the address, or try later`,
  );
});

test("TB-37: a tool whose request the platform refuses, since its session sent too many, is told to try again", async () => {
  const refusal = new Error("Too many subrequests by single Worker invocation.");
  const network = vi.spyOn(globalThis, "fetch").mockRejectedValue(refusal);
  const bench = await calling(({ egress }) => read(egress("https://tide.example/")), {
    hosts: ["https://tide.example"],
  });
  network.mockRestore();
  expect(lastText(bench, "tool")).toBe(
    "unavailable: the platform permits no more requests for now; try again",
  );
});
