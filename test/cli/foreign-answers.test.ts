import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import { afterEach, expect, test, vi } from "vitest";
import type { Person } from "../../src/cli/client/person.ts";
import { run } from "../../src/cli/run.ts";

/** Commands against what is no Limpet, or is none at the moment: one sentence and the exit code of the help. */

const servers: Server[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const serve = async (answer: RequestListener): Promise<string> => {
  const server = createServer(answer);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

/** Runs a command as a script does; returns its exit code, and all that it prints. */
const call = async (
  line: readonly string[],
  env: Person["env"],
  hear: (line: string) => void = () => undefined,
) => {
  let said = "";
  const person: Person = {
    write: (text) => (said += text),
    warn: (text) => {
      said += `${text}\n`;
      hear(text);
    },
    async *lines() {
      yield await Promise.resolve("hello");
    },
    stopReading: () => undefined,
    onInterrupt: () => () => undefined,
    isTerminal: false,
    env,
  };
  const code = await run(line, { root: "", print: person.warn, person });
  return { code, said: said.replaceAll(env["LIMPET_URL"] ?? "", "URL") };
};

const commands = [
  "sessions",
  "asks",
  "asks s_1",
  "send new hi",
  "send s_1 hi",
  "send s_1 hi --wait",
  "tail s_1",
  "answer s_1 a_1 approve",
  "cancel s_1",
  "export s_1",
  "keys",
  "keys create --scopes sessions:read",
  "keys revoke k_1",
  "chat",
  "chat s_1",
];

const page: RequestListener = (_, response) =>
  response.setHeader("Content-Type", "text/html").end("<h1>Sign in</h1>");

test.each(commands)(
  "AP-53: a page of another server is said to be no Limpet, and nothing is believed to be done: limpet %s",
  async (line) => {
    expect(await call(line.split(" "), { LIMPET_URL: await serve(page) })).toEqual({
      code: 3,
      said: "What answers at URL is no Limpet: give the right address by --url or LIMPET_URL.\n",
    });
  },
);

test.each<readonly [string, RequestListener, string]>([
  [
    "an empty 502",
    (_, response) => response.writeHead(502).end(),
    "URL answers 502 without saying why: try again, or, if no Limpet is there, give the right address by --url or LIMPET_URL.",
  ],
  [
    "the page of a gateway",
    (_, response) => response.writeHead(504, { "Content-Type": "text/html" }).end("<h1>Gateway</h1>"),
    "URL answers 504 without saying why: try again, or, if no Limpet is there, give the right address by --url or LIMPET_URL.",
  ],
  [
    "what npm start says without a server behind it",
    (_, response) =>
      response
        .writeHead(503, { "Content-Type": "text/plain; charset=utf-8" })
        .end("Wrangler does not answer.\n"),
    "URL answers 503: Wrangler does not answer.",
  ],
  [
    "an answer that breaks off",
    (_, response) => {
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "500" });
      response.write('{"data":[', () => response.destroy());
    },
    "The answer from URL broke off before its end; try again.",
  ],
  [
    "JSON of another API",
    (_, response) => response.setHeader("Content-Type", "application/json").end('{"data":"none"}'),
    "What answers at URL is no Limpet: give the right address by --url or LIMPET_URL.",
  ],
  [
    "nothing at all",
    (_, response) => response.end(),
    "What answers at URL is no Limpet: give the right address by --url or LIMPET_URL.",
  ],
  [
    "a connection that is closed",
    (_, response) => response.destroy(),
    "No server answers at URL: is that its address? Name another by --url or LIMPET_URL.",
  ],
])("AP-53: %s is told in one sentence", async (_, answer, sentence) => {
  expect(await call(["sessions"], { LIMPET_URL: await serve(answer) })).toEqual({
    code: 3,
    said: `${sentence}\n`,
  });
});

test.each([
  ["send s_1 hi", '{"input":"in_1","status":"applied","seq":1}', "in_1 applied in s_1\n"],
  [
    "send s_1 hi --wait",
    '{"id":"run_1","state":"completed","result":{"text":"Aye.","error":null}}',
    "Aye.\n",
  ],
  ["answer s_1 a_1 approve", '{"id":"a_1","status":"resolved"}', "a_1 is resolved\n"],
])(
  "AP-53 AP-52: a command whose answer is lost goes again under its key: limpet %s",
  async (line, answer, said) => {
    const keys: unknown[] = [];
    const url = await serve(({ headers }, response) => {
      keys.push(headers["idempotency-key"]);
      if (keys.length === 1) response.destroy();
      else response.writeHead(200, { "Content-Type": "application/json", "Request-Id": "r" }).end(answer);
    });
    expect(await call(line.split(" "), { LIMPET_URL: url })).toEqual({ code: 0, said });
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  },
);

/** Answers as a Limpet does. */
const say = (response: ServerResponse, status: number, value: object): void =>
  void response
    .writeHead(status, { "Content-Type": "application/json", "Request-Id": "r" })
    .end(JSON.stringify(value));

const receipt = { input: "in_1", status: "applied", run: "run_1", seq: 1 };

test("AP-53: send --wait holds no request for longer than proxies do, and waits on for the same run", async () => {
  const asked: { readonly key: unknown; readonly wait: number }[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === "GET") return say(response, 200, { data: [], next_cursor: null });
    const { wait } = (await json(request)) as { readonly wait: number };
    asked.push({ key: request.headers["idempotency-key"], wait });
    if (asked.length < 3) say(response, 202, receipt);
    else say(response, 200, { id: "run_1", state: "completed", result: { text: "Aye.", error: null } });
  };
  const url = await serve((request, response) => void take(request, response));
  const outcome = await call(["send", "s_1", "hi", "--wait"], { LIMPET_URL: url });
  expect(outcome).toEqual({ code: 0, said: "Aye.\n" });
  expect(new Set(asked.map(({ key }) => key)).size).toBe(1);
  expect(Math.max(...asked.map(({ wait }) => wait))).toBeLessThan(60);
});

test("AP-53: send --wait with a key that may read no asks tells that somebody is asked, and not that it failed", async () => {
  const url = await serve(({ method }, response) => {
    if (method === "POST") say(response, 202, { ...receipt, asks: [{ id: "a_1", kind: "question" }] });
    else say(response, 403, { code: "scope_missing", status: 403, detail: "no", retryable: false });
  });
  expect(await call(["send", "s_1", "hi", "--wait"], { LIMPET_URL: url })).toEqual({
    code: 4,
    said: "the session waits for an answer that this key may not see\n",
  });
});

test.each(["withdrawn", "returned"])(
  "AP-53: send --wait with a message that is %s says that no run answers it",
  async (status) => {
    const url = await serve(({ method }, response) =>
      method === "POST"
        ? say(response, 202, { ...receipt, status, run: null })
        : say(response, 200, { data: [], next_cursor: null }),
    );
    expect(await call(["send", "s_1", "hi", "--wait"], { LIMPET_URL: url })).toEqual({
      code: 1,
      said: `the message was ${status}; no run answers it\n`,
    });
  },
);

test("AP-53: a server that never answers is given up, and that is told", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const url = await serve(() => vi.advanceTimersByTime(60_000));
  expect(await call(["keys"], { LIMPET_URL: url })).toEqual({
    code: 3,
    said: "URL takes the request and does not answer it: try again, or name another by --url or LIMPET_URL.\n",
  });
});

test("AP-53: a key that cannot be sent is told as that, wherever it comes from, and is not printed", async () => {
  const url = await serve(page);
  const wrong = "is not a key: it contains a blank, a line break or another character that no key has\n";
  for (const key of ["lk_one two", "lk_one\ntwo", "lk_é", " "])
    expect(await call(["sessions", "--key", key], { LIMPET_URL: url })).toEqual({
      code: 2,
      said: `--key ${wrong}`,
    });
  expect(await call(["sessions"], { LIMPET_URL: url, LIMPET_KEY: "“lk_one”" })).toEqual({
    code: 2,
    said: `LIMPET_KEY ${wrong}`,
  });
  expect(await call(["sessions", "--key", ""], { LIMPET_URL: url })).toEqual({
    code: 2,
    said: "--key is empty\n",
  });
});

test("AP-53: chat tells that it cannot follow a session before it has shown anything of it", async () => {
  let isDeleted = false;
  let isFirst = true;
  const url = await serve((_, response) => {
    if (isDeleted)
      response
        .writeHead(404, { "Content-Type": "application/problem+json", "Request-Id": "r" })
        .end(JSON.stringify({ code: "not_found", status: 404, detail: "gone", retryable: false }));
    else if (isFirst)
      response.writeHead(200, { "Content-Type": "application/json", "Request-Id": "r" }).end('{"id":"s_1"}');
    else response.destroy();
    isFirst = false;
  });
  const { code, said } = await call(["chat", "s_1"], { LIMPET_URL: url }, (line) => {
    isDeleted ||= line.startsWith("(trying again");
  });
  expect([code, said.split("\n").slice(1, -1)]).toEqual([
    1,
    [
      "(trying again: URL cannot be reached; is a server running there?)",
      "Session s_1 was not found; limpet sessions lists those that you can reach.",
    ],
  ]);
});
