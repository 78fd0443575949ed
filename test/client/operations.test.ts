import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, expectTypeOf, test } from "vitest";
import type { Ask } from "../../src/agent/state/ask.ts";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import type { Input } from "../../src/agent/state/thread.ts";
import type { RunRecord } from "../../src/agent/state/records.ts";
import { routes as served } from "../../src/api/routes.ts";
import { printOperations } from "../../src/cli/build-client/operations.ts";
import type { SnapshotBody } from "../../src/client/fold/start.ts";
import { createClient } from "../../src/client/index.ts";
import type { AnswerOf, ClientOperationName, OperationAnswers } from "../../src/client/index.ts";
import { routes } from "../../src/client/operations/routes.ts";

/** The client's table of operations against the server's. */

const folder = resolve(import.meta.dirname, "../../src/client/operations");

test.each(Object.entries(printOperations()))(
  "AP-51: %s is what `npm run build` writes today",
  (name, text) => {
    expect(readFileSync(join(folder, name), "utf8")).toBe(text);
  },
);

/** Routes of streams, of bytes, of pages for people, and second names of others. */
const others = [
  "GET /healthz",
  "GET /readyz",
  "GET /v1/oauth/callback",
  "GET /v1/openapi.json",
  "GET /v1/asyncapi.json",
  "POST /v1/sessions/:session",
  "POST /v1/sessions/:session/respond",
  "GET /v1/sessions/:session/ws",
  "GET /v1/sessions/:session/workspace/:path",
  "PUT /v1/sessions/:session/workspace/:path",
  "PUT /v1/sessions/:session/workspace",
  "POST /v1/sessions/:session/files",
  "GET /v1/sessions/:session/files/:file",
];

test("AP-51: `call` knows every route that answers with JSON, and no other", () => {
  const known = new Set<string>(Object.values(routes));
  const all = served.map(({ method, path }) => `${method} ${path.replace(/\{.*?\}/g, "")}`);
  const isPage = (route: string): boolean => !route.includes("/v1/") && !others.includes(route);
  expect(all.filter((route) => !known.has(route) && !others.includes(route) && !isPage(route))).toEqual([]);
  expect([...known].filter((route) => !all.includes(route))).toEqual([]);
});

test("AP-51: the types of answers, from the documents' schemas, are those of the code that makes the answers", () => {
  type Row<N extends "asks" | "inputs" | "runs" | "events"> = AnswerOf<N>["data"][number];
  expectTypeOf<keyof OperationAnswers>().toEqualTypeOf<ClientOperationName>();
  expectTypeOf<Row<"asks">>().toExtend<Ask>();
  expectTypeOf<Ask>().toExtend<Row<"asks">>();
  expectTypeOf<Row<"inputs">>().toExtend<Input>();
  expectTypeOf<Input>().toExtend<Row<"inputs">>();
  expectTypeOf<Row<"runs">>().toExtend<RunRecord>();
  expectTypeOf<RunRecord>().toExtend<Row<"runs">>();
  // It has no data, which the documents say may be cut like those of any event.
  expectTypeOf<Exclude<Row<"events">, { readonly type: "turn_start" }>>().toExtend<StoredEvent>();
  expectTypeOf<StoredEvent>().toExtend<Row<"events">>();
  expectTypeOf<AnswerOf<"snapshot">>().toExtend<SnapshotBody>();
  expectTypeOf<AnswerOf<"delete">>().toBeNull();
  // @ts-expect-error A page of agents has no such rows.
  expectTypeOf<AnswerOf<"agents">["data"][number]>().toExtend<Ask>();
});

test("AP-51: an operation that needs no parameters is called without, and a name that there is not is told", async () => {
  const asked: string[] = [];
  const client = createClient({
    url: "http://limpet.test",
    fetch: async (address) => {
      asked.push(new URL(new Request(address).url).pathname);
      return Response.json({});
    },
  });
  await client.call("capabilities");
  await client.call("agents");
  expect(asked).toEqual(["/v1/capabilities", "/v1/agents"]);
  // @ts-expect-error There is no such operation.
  await expect(client.call("capability")).rejects.toThrow("there is no operation capability");
  // @ts-expect-error A session has to be named.
  await expect(client.call("get")).rejects.toThrow("session");
});
