import type { ServerResponse } from "node:http";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import type { SeenRequest } from "../../support/mcp-server.ts";
import { startMcpServer, textResult, textTool } from "../../support/mcp-server.ts";
import { settle } from "../../support/power-cut.ts";
import { eventsOf } from "../../engine/harness.ts";
import { sizeOf } from "../../support/random-size.ts";
import { servedBench } from "./support.ts";

/** Servers that fail in every way at any request, while the session crashes: each call ends once, and nothing unsafe happens twice. */

type Fault = (request: SeenRequest, response: ServerResponse) => void;

const json =
  (status: number, body: unknown, more: Record<string, string> = {}): Fault =>
  (_, response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...more })
      .end(JSON.stringify(body));

const faults: Readonly<Record<string, Fault>> = {
  "not found": json(404, { error: "no such session" }),
  "bad request": json(400, { jsonrpc: "2.0", id: null, error: { code: -32_000, message: "Bad Request" } }),
  "server error": json(500, { error: "down" }),
  "not now": json(503, {}, { "retry-after": "2" }),
  "too many": json(429, {}, { "retry-after": "40" }),
  unauthorised: json(401, {}, { "www-authenticate": "Bearer" }),
  forbidden: json(403, {}),
  accepted: (_, response) => void response.writeHead(202).end(),
  "empty list": json(200, []),
  "no object": json(200, "yes"),
  "null answer": json(200, null),
  foreign: (request, response) =>
    json(200, { jsonrpc: "2.0", id: Number(request.id) + 7, result: textResult("foreign") })(
      request,
      response,
    ),
  "error of nobody": json(200, {
    jsonrpc: "2.0",
    id: null,
    error: { code: -32_700, message: "Parse error" },
  }),
  "own error": (request, response) =>
    json(200, { jsonrpc: "2.0", id: request.id, error: { code: -32_603, message: "Internal error" } })(
      request,
      response,
    ),
  page: (_, response) =>
    void response.writeHead(200, { "content-type": "text/html" }).end("<title>Sign in</title>"),
  "cut off": (_, response) => void response.destroy(),
  "done, but cut off": (_, response) => void response.destroy(),
  "done, but the session crashes": (_, response) => void response.destroy(),
  "cut answer": (_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).write('{"jsonrpc":"2.0","id":');
    response.destroy();
  },
  "empty stream": (_, response) =>
    void response.writeHead(200, { "content-type": "text/event-stream" }).end(),
  "noisy stream": (_, response) =>
    void response.writeHead(200, { "content-type": "text/event-stream" }).end("data: hello\n\nevent: x\n\n"),
  elsewhere: (_, response) => void response.writeHead(307, { location: "http://127.0.0.1:1/mcp" }).end(),
};

/** Streams that leave a handshake without an answer, for which it waits until its deadline. */
const silent: ReadonlySet<string> = new Set(["empty stream", "noisy stream"]);

const oftenFine = (weight: number, ...often: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof(
    { weight, arbitrary: fc.constant("fine") },
    { weight: 2 * often.length, arbitrary: fc.constantFrom("fine", ...often) },
    { weight: 3, arbitrary: fc.constantFrom(...Object.keys(faults)) },
  );

/** What becomes of each call and of each other message, in order; those after them go well. */
const plan = fc.record({
  calls: fc.array(oftenFine(3, "done, but cut off", "done, but the session crashes"), { maxLength: 8 }),
  others: fc.array(oftenFine(12), { maxLength: 6 }),
});

type Planned = Readonly<Record<"calls" | "others", readonly string[]>>;

const piece = fc.constantFrom("look", "set");

const asked = fc.array(fc.array(piece, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });

const moves = fc.array(fc.constantFrom("crash", "time", "step", "cancel", "send"), { maxLength: 6 });

const protocols = fc.constantFrom("2025", "2026", "auto");

/** Turns whose calls each have another text, by which the server knows them. */
const turnsOf = (pieces: readonly (readonly string[])[]) =>
  pieces.map((each, turn) =>
    each.map((name, place): readonly [string, object] => [`sea__${name}`, { text: `${turn}.${place}` }]),
  );

/** A server with a tool that reads and one that may do anything; `done` counts what it did, by name and text. */
const startFaulty = async (planned: Planned, crash: () => void) => {
  const left = { calls: [...planned.calls], others: [...planned.others] };
  const done = new Map<string, number>();
  let sessions = 0;
  const act = (name: unknown, { text }: Readonly<Record<string, unknown>>): void => {
    const key = `${String(name)} ${String(text)}`;
    done.set(key, (done.get(key) ?? 0) + 1);
  };
  const server = await startMcpServer({
    session: () => `s${(sessions += 1)}`,
    tools: () => [textTool("look", { annotations: { readOnlyHint: true } }), textTool("set")],
    call: (name, args) => {
      act(name, args);
      return textResult("done");
    },
    before: (request, response) => {
      if (request.rpc === null) return false;
      const isCall = request.rpc === "tools/call";
      const next = left[isCall ? "calls" : "others"].shift() ?? "fine";
      if (!request.rpc.startsWith("tools/") && silent.has(next)) return false;
      const fault = faults[next];
      const { name, arguments: args } = request.params;
      if (next.startsWith("done, ") && isCall) act(name, args as Readonly<Record<string, unknown>>);
      if (next === "done, but the session crashes") crash();
      fault?.(request, response);
      return fault !== undefined;
    },
  });
  return { server, done };
};

const move = async (bench: Bench, what: string): Promise<void> => {
  await bench.steps();
  if (what === "crash") bench.crash();
  if (what === "cancel") bench.perform("cancel", {});
  if (what === "send") bench.perform("send", { content: "More", on_busy: "queue" });
  if (what === "time") await bench.tick(20_000);
};

test("TB-24 TB-25: servers that fail in any way at any request, and crashes: each call ends once, nothing unsafe happens twice", async () => {
  const outcomes = new Map<unknown, number>();
  let crashes = 0;
  await fc.assert(
    fc.asyncProperty(plan, asked, moves, protocols, async (planned, pieces, made, protocol) => {
      let bench: Bench | null = null;
      const { server, done } = await startFaulty(planned, () => {
        crashes += 1;
        bench?.crash();
      });
      try {
        bench = await servedBench({
          servers: [`{ name: sea, url: "${server.url}", protocol: "${protocol}", trust: true }`],
          toolboxes: "[sea]",
          turns: [...turnsOf(pieces), ["Done."], ["Done."]],
          hosts: [server.host],
        });
        bench.send("Hi");
        for (const what of made) await move(bench, what);
        await settle(bench);
        checkInvariants(bench, ["in_1"]);
        expect([bench.state().threads["main"]?.run, bench.state().asks]).toEqual([null, {}]);
        const repeated = [...done].filter(([key, times]) => key.startsWith("set") && times > 1);
        expect(repeated, "what may do anything is done once").toEqual([]);
        for (const { outcome, output } of eventsOf(bench, "tool_call_end")) {
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          if (outcome === "ok") expect(output, "no answer to another request").toBe("done");
        }
      } finally {
        await server.close();
      }
    }),
    sizeOf(150, 7),
  );
  // Plays in which all goes well, or nothing does, prove nothing.
  for (const outcome of ["ok", "error", "unknown"]) expect(outcomes.get(outcome), outcome).toBeGreaterThan(5);
  expect(crashes, "crashes during a call").toBeGreaterThan(5);
});
