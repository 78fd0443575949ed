import type { CallToolResult, InputRequiredResult, ServerContext } from "@modelcontextprotocol/server";
import { inputRequired } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import type { TestMcpServer } from "../../support/mcp-server.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { insist } from "../../support/power-cut.ts";
import { serverOf, servedBench } from "./support.ts";

/** A 2026 server asks before it answers: a person is asked, however long that takes, and the call goes on. */

type Field = Readonly<Record<string, unknown>>;

/** A server whose tool asks by a form of these fields, and says what it was told. */
const askingServer = (
  properties: Readonly<Record<string, Field>>,
  url?: string,
  message = "Where to?",
): Promise<TestMcpServer> =>
  serverOf({
    tools: () => [textTool("deploy")],
    call: (_name, _args, { mcpReq }: ServerContext): CallToolResult | InputRequiredResult => {
      const { inputResponses = {} } = mcpReq;
      const told = inputResponses["ask"];
      if (told !== undefined) return textResult(JSON.stringify([mcpReq.requestState(), told]));
      const requestedSchema = { type: "object", properties, required: Object.keys(properties) };
      return inputRequired({
        requestState: "opaque-state",
        inputRequests: {
          ask:
            url === undefined
              ? inputRequired.elicit({ message, requestedSchema } as never)
              : inputRequired.elicitUrl({ message: "Sign in", url, elicitationId: "e1" } as never),
        },
      });
    },
  });

const deployBench = (server: TestMcpServer, create: object = {}): Promise<Bench> =>
  servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[["sea__deploy", {}]], ["Done."]],
    hosts: [server.host],
    create,
  });

const decline = "Decline to answer";

interface Asked {
  readonly id: string;
  readonly kind: string;
  readonly question?: { readonly text: string; readonly options: readonly string[] };
  readonly authorization?: object;
}

const askOf = (bench: Bench): Asked => lastEvent(bench, "ask_user")["ask"] as Asked;

const answer = async (bench: Bench, given: object): Promise<void> => {
  bench.ok("answer", { ask: askOf(bench).id, ...given });
  await bench.idle();
};

const output = (bench: Bench): unknown => lastEvent(bench, "tool_call_end")["output"];

const calls = ({ seen }: TestMcpServer) => seen.filter(({ rpc }) => rpc === "tools/call");

test("TB-26: a question becomes an ask that survives a crash; the answer goes with the server's state in one call", async () => {
  const server = await askingServer({ place: { type: "string", description: "The harbour." } });
  const bench = await deployBench(server);
  await say(bench);
  expect(askOf(bench)).toMatchObject({ kind: "question", question: { header: "sea", options: [decline] } });
  expect(askOf(bench).question?.text).toContain("Where to?");
  expect(calls(server)).toHaveLength(1);
  bench.crash();
  await answer(bench, { decision: "answer", text: "Bremen" });
  expect(output(bench)).toBe('["opaque-state",{"action":"accept","content":{"place":"Bremen"}}]');
  expect(calls(server)).toHaveLength(2);
  expect(server.methods().filter((method) => method === "server/discover")).toHaveLength(1);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});

test("★ TB-26 TB-18: a state that holds a secret goes back as it came, and neither the secret nor the state is stored or shown", async () => {
  const secret = "canary-of-the-sea-0001";
  const state = `for:${secret}:\ud800`;
  const states: unknown[] = [];
  const server = await serverOf({
    tools: () => [textTool("deploy")],
    call: (_name, _args, { mcpReq }) => {
      states.push(mcpReq.requestState());
      if (mcpReq.inputResponses !== undefined) return textResult("deployed");
      const requestedSchema = { type: "object", properties: {} };
      const ask = inputRequired.elicit({ message: "Really?", requestedSchema } as never);
      return inputRequired({ requestState: state, inputRequests: { ask } });
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", headers: { Authorization: "Bearer \${SEA_TOKEN}" } }`],
    toolboxes: "[sea]",
    turns: [[["sea__deploy", {}]], ["Done."]],
    hosts: [server.host],
    env: { SEA_TOKEN: secret, LIMPET_ADMIN_KEY: "canary-admin-key-0123456789" },
  });
  await say(bench);
  const stored = JSON.stringify([bench.lines(), bench.logs, bench.requests, bench.rows("threads")]);
  bench.crash();
  await answer(bench, { decision: "answer", text: "accept" });
  expect(output(bench)).toBe("deployed");
  expect(states).toEqual([undefined, state]);
  expect(stored).not.toContain(secret);
});

test("TB-26: choices, yes and no, numbers and forms of several fields are asked for as what they are", async () => {
  const cases: readonly (readonly [Readonly<Record<string, Field>>, readonly string[], string, object])[] = [
    [{ size: { type: "string", enum: ["small", "large"] } }, ["small", "large"], "large", { size: "large" }],
    [{ sure: { type: "boolean" } }, ["yes", "no"], "no", { sure: false }],
    [{ count: { type: "integer", minimum: 1 } }, [], "3", { count: 3 }],
    [{ a: { type: "string" }, b: { type: "number" } }, [], '{"a":"x","b":2}', { a: "x", b: 2 }],
  ];
  for (const [properties, options, text, content] of cases) {
    const bench = await deployBench(await askingServer(properties));
    await say(bench);
    expect(askOf(bench).question?.options).toEqual([...options, decline]);
    await answer(bench, { decision: "answer", text });
    expect(JSON.parse(String(output(bench)))).toEqual(["opaque-state", { action: "accept", content }]);
  }
});

test("TB-26: a message of any length leaves the fields of a form to be seen", async () => {
  const fields = { place: { type: "string" }, count: { type: "integer" } };
  const bench = await deployBench(await askingServer(fields, undefined, "Where to? ".repeat(1_000)));
  await say(bench);
  const { text = "" } = askOf(bench).question ?? {};
  expect(text).toMatch(/^Where to\? /);
  expect(text).toMatch(
    /\nAnswer with a JSON object of these fields:\n- place \[string\]\n- count \[integer\]$/,
  );
  expect(text.length).toBeLessThan(5_000);
});

test("TB-26: choices that cannot be shown as they are, or are too many, are answered in words, and checked", async () => {
  const disguised = ["yes", "no\u202eyllaer"];
  const many = Array.from({ length: 500 }, (_, index) => `place ${index}`);
  const long = ["here", "x".repeat(5_000)];
  for (const choices of [disguised, many, long]) {
    const server = await askingServer({ place: { type: "string", enum: choices } });
    const bench = await deployBench(server);
    await say(bench);
    expect(askOf(bench).question?.options).toEqual([decline]);
    expect(askOf(bench).question?.text.length).toBeLessThan(4_100);
    await answer(bench, { decision: "answer", text: "elsewhere" });
    expect(askOf(bench).question?.text).toMatch(/^The answer does not fit/);
    await answer(bench, { decision: "answer", text: choices[0] });
    expect(output(bench)).toContain(`"place":"${choices[0]}"`);
  }
});

test("TB-26: a person may decline any form, and the server is told so", async () => {
  const cases: readonly (readonly [Readonly<Record<string, Field>>, object])[] = [
    [{ place: { type: "string" } }, { text: decline }],
    [{ size: { type: "string", enum: ["small", "large"] } }, { text: decline }],
    [{ sizes: { type: "array", items: { enum: ["small", "large"] } } }, { selections: [decline] }],
    [{ a: { type: "string" }, b: { type: "number" } }, { selections: [decline] }],
    [{}, { text: "decline" }],
  ];
  for (const [properties, given] of cases) {
    const bench = await deployBench(await askingServer(properties));
    await say(bench);
    await answer(bench, { decision: "answer", ...given });
    expect(output(bench)).toBe('["opaque-state",{"action":"decline"}]');
  }
});

test("TB-26: an answer that does not fit is asked for again with the reason, and never reaches the server", async () => {
  const server = await askingServer({ count: { type: "integer", minimum: 1 } });
  const bench = await deployBench(server);
  await say(bench);
  await answer(bench, { decision: "answer", text: "many" });
  expect(askOf(bench).question?.text).toMatch(/^The answer does not fit: .*count/);
  expect(calls(server)).toHaveLength(1);
  await answer(bench, { decision: "answer", text: "2" });
  expect(output(bench)).toContain('"count":2');
});

test("TB-26 SE-28: nobody answers, or nobody can: the server is told that the question was cancelled", async () => {
  const waiting = await deployBench(await askingServer({ place: { type: "string" } }));
  await say(waiting);
  await waiting.pass(25 * 3_600_000);
  expect(output(waiting)).toBe('["opaque-state",{"action":"cancel"}]');
  const alone = await deployBench(await askingServer({ place: { type: "string" } }), { interactive: false });
  await say(alone);
  expect(output(alone)).toBe('["opaque-state",{"action":"cancel"}]');
});

test("★ TB-25 TB-26: an answer reaches its server also while a failure of another call pauses it", async () => {
  const server = await serverOf({
    tools: () => [textTool("deploy"), textTool("look")],
    call: (_name, _args, { mcpReq }) => {
      if (mcpReq.inputResponses !== undefined) return textResult("deployed");
      const requestedSchema = { type: "object", properties: {} };
      const ask = inputRequired.elicit({ message: "Really?", requestedSchema } as never);
      return inputRequired({ inputRequests: { ask } });
    },
    before: ({ rpc, params }, response) => {
      const fails = rpc === "tools/call" && params["name"] === "look";
      if (fails) response.writeHead(503).end();
      return fails;
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [
      [
        ["sea__deploy", {}],
        ["sea__look", {}],
      ],
      ["Done."],
    ],
    hosts: [server.host],
  });
  await say(bench);
  expect(lastEvent(bench, "mcp_status")["state"]).toBe("failed");
  await answer(bench, { decision: "answer", text: "accept" });
  expect(output(bench)).toBe("deployed");
});

test("TB-26: a server that asks for ever is given up, also where nobody has to answer", async () => {
  const server = await serverOf({
    tools: () => [textTool("deploy")],
    call: () =>
      inputRequired({
        requestState: "again",
        inputRequests: {
          ask: inputRequired.elicit({
            message: "Really?",
            requestedSchema: { type: "object", properties: {} },
          } as never),
        },
      }),
  });
  const bench = await deployBench(server, { interactive: false });
  await say(bench);
  expect(output(bench)).toMatch(/^unsupported: /);
  expect(calls(server).length).toBeLessThan(10);
});

test("TB-26: a server that asks for time alone is called again with its state, a few times at most", async () => {
  const busy = async (rounds: number) => {
    const states: unknown[] = [];
    const server = await serverOf({
      tools: () => [textTool("deploy")],
      call: (_name, _args, { mcpReq }) => {
        states.push(mcpReq.requestState());
        return states.length > rounds
          ? textResult("deployed")
          : inputRequired({ requestState: `later-${states.length}` });
      },
    });
    const bench = await deployBench(server);
    bench.send("Go");
    await bench.idle();
    for (let round = 0; round < 10; round++) await bench.pass(60_000);
    return { output: output(bench), states };
  };
  expect(await busy(2)).toEqual({ output: "deployed", states: [undefined, "later-1", "later-2"] });
  const endless = await busy(100);
  expect(endless.output).toMatch(/^unsupported: .*never comes to a result/);
  expect(endless.states).toHaveLength(6);
});

test("TB-26: an address to open is an authorization ask, and a denial tells the server so", async () => {
  const url = "https://sea.example/sign-in?state=1";
  for (const [decision, action] of [
    ["approve", "accept"],
    ["deny", "decline"],
  ] as const) {
    const bench = await deployBench(await askingServer({}, url));
    await say(bench);
    expect(askOf(bench)).toMatchObject({ kind: "authorization", authorization: { server: "sea", url } });
    await answer(bench, { decision });
    expect(output(bench)).toContain(`"action":"${action}"`);
  }
});

test("TB-26: an address to open is shown as it will be opened; one that misleads, is too long or is not https is refused", async () => {
  const shown = await deployBench(await askingServer({}, "https://bücher.example/\u202Egnp.exe\n"));
  await say(shown);
  expect(askOf(shown).authorization).toEqual({
    server: "sea",
    url: "https://xn--bcher-kva.example/%E2%80%AEgnp.exe",
  });
  const refused = [
    "http://sea.example/sign-in",
    "https://sea.example@evil.example/",
    `https://sea.example/${"x".repeat(8_192)}`,
  ];
  for (const url of refused) {
    const bench = await deployBench(await askingServer({}, url));
    await say(bench);
    expect(eventsOf(bench, "ask_user")).toEqual([]);
    expect(output(bench)).toMatch(/^unsupported: /);
  }
});

test("TB-26: the power cut at every write around the answer: the server gets it at most once, and the run ends", async () => {
  const server = await askingServer({ place: { type: "string" } });
  const play = async (cut: number | null): Promise<Bench> => {
    const bench = await deployBench(server);
    await say(bench);
    const given = { ask: askOf(bench).id, decision: "answer", text: "Bremen" };
    bench.cutAt(cut);
    insist(bench, "answer", given, "a1");
    await bench.idle();
    return bench;
  };
  const clean = await play(null);
  const before = clean.writes();
  expect(before).toBeGreaterThan(5);
  for (let cut = 1; cut <= 12; cut++) {
    server.seen.length = 0;
    const bench = await play(cut);
    checkInvariants(bench, []);
    expect(calls(server).length).toBeLessThanOrEqual(2);
    expect(lastEvent(bench, "tool_call_end")["outcome"]).toMatch(/^(ok|unknown)$/);
    expect(bench.types().at(-1)).toBe("run_end");
  }
});
