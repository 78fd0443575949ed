import { expect, test, vi } from "vitest";
import type { JsonObject } from "../../src/chat/json.ts";
import type { DevtoolsSocket } from "../../src/toolboxes/browser/devtools.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { benchOf, eventsOf, lastEvent, lastText } from "../engine/harness.ts";

/** How long a connection with the platform's browsers lives, with browsers that answer by a script. */

type Command = (method: string, params: JsonObject) => JsonObject | Error | null;

interface FakeSocket extends DevtoolsSocket {
  readonly accept: () => void;
  readonly closed: () => boolean;
  readonly sent: readonly string[];
  /** The browser contexts that it was told to end. */
  readonly disposed: readonly unknown[];
}

/** Speaks the protocol of Chrome: an error is answered as one, null is never answered. */
const openSocket = (answer: Command): FakeSocket => {
  const sent: string[] = [];
  const disposed: unknown[] = [];
  const listeners: ((event: Event) => void)[] = [];
  let closed = false;
  const reply = (id: number, result: JsonObject | Error | null): void => {
    if (result === null) return;
    const data = result instanceof Error ? { id, error: { message: result.message } } : { id, result };
    for (const each of listeners) each(new MessageEvent("message", { data: JSON.stringify(data) }));
  };
  return {
    sent,
    disposed,
    accept: () => undefined,
    closed: () => closed,
    close: () => void (closed = true),
    addEventListener: (type, on) => void (type === "message" && listeners.push(on)),
    send: (data) => {
      const { id, method, params } = JSON.parse(data) as { id: number; method: string; params: JsonObject };
      sent.push(method);
      if (method === "Target.disposeBrowserContext") disposed.push(params["browserContextId"]);
      queueMicrotask(() => reply(id, answer(method, params)));
    },
  };
};

const upgraded = (socket: FakeSocket): Response => Object.assign(new Response(null), { webSocket: socket });

const answers: Readonly<Record<string, JsonObject>> = {
  "Target.createBrowserContext": { browserContextId: "c1" },
  "Target.createTarget": { targetId: "t1" },
  "Target.attachToTarget": { sessionId: "s1" },
  "Target.getTargetInfo": { targetInfo: { url: "https://a.example/" } },
  "Runtime.evaluate": {
    result: { value: { html: "<p>Hello</p>", url: "https://a.example/", title: "A" } },
  },
};

const working: Command = (method) => answers[method] ?? {};

const failing =
  (broken: string): Command =>
  (method, params) =>
    method === broken ? new Error("no") : working(method, params);

const stalling =
  (broken: string): Command =>
  (method, params) =>
    method === broken ? null : working(method, params);

/** Answers each request, named by its method and path, by the next answer for it. */
const platform = (
  script: Readonly<Record<string, readonly (() => Response | Promise<Response>)[]>>,
): { readonly seen: string[]; readonly env: object } => {
  const seen: string[] = [];
  const left = Object.fromEntries(Object.entries(script).map(([name, list]) => [name, [...list]]));
  const fetch = async (request: Request): Promise<Response> => {
    const name = `${request.method} ${new URL(request.url).pathname.replace("/v1/devtools/browser", "")}`;
    seen.push(name);
    return left[name.trim()]?.shift()?.() ?? new Response("gone", { status: 404 });
  };
  return { seen, env: { BROWSER: { fetch } } };
};

const opening = (id: string) => () => Response.json({ sessionId: id });

const calling = (...calls: readonly string[]): string =>
  `${scripted(
    `replies: [${[...calls.map((call) => `{ reply: [{ call: ${call} }] }`), "{ reply: [{ text: done }] }"].join(", ")}]`,
  ).replace(
    "toolboxes: [probe]\n    permissions: { preset: open }",
    "toolboxes: [browser]",
  )}\npermissions: { preset: open }\n`;

const navigate = "browser_navigate, args: { url: 'https://a.example/' }";
const extract = "browser_extract, args: {}";

const start = async (env: object, ...calls: readonly string[]): Promise<Bench> =>
  benchOf(calling(...calls), { env: { ...env } }, {});

const seconds = async (bench: Bench, count: number): Promise<void> => {
  for (let second = 0; second < count; second += 1) await bench.tick(1_000);
};

/** Lets a run go on to its end: a page settles in real time, by the clock of the bench. */
const finish = async (bench: Bench): Promise<void> => {
  bench.send("Look");
  await vi.waitFor(
    async () => {
      await bench.tick(200);
      expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
    },
    { interval: 20, timeout: 8_000 },
  );
};

test.each(["Target.createBrowserContext", "Target.createTarget", "Target.attachToTarget", "Fetch.enable"])(
  "TB-20: a connection whose %s fails is closed, and the next call connects with the same browser",
  async (broken) => {
    const first = openSocket(failing(broken));
    const second = openSocket(working);
    const { seen, env } = platform({
      POST: [opening("b1")],
      "GET /b1": [() => upgraded(first), () => upgraded(second)],
    });
    const bench = await start(env, navigate, navigate);
    await finish(bench);
    expect(seen.filter((each) => each.startsWith("POST"))).toHaveLength(1);
    expect([first.closed(), second.closed()]).toEqual([true, true]);
    expect(second.sent).toContain("Page.navigate");
  },
);

test("TB-20: a browser that says nothing is left at the deadline, and the next call gets its turn", async () => {
  const first = openSocket(stalling("Target.createTarget"));
  const second = openSocket(working);
  const { env } = platform({
    POST: [opening("b1")],
    "GET /b1": [() => upgraded(first), () => upgraded(second)],
  });
  const bench = await start(env, navigate, navigate);
  bench.send("Look");
  await seconds(bench, 29);
  expect([first.closed(), second.sent]).toEqual([false, []]);
  await seconds(bench, 2);
  expect(first.closed()).toBe(true);
  expect(second.sent).toContain("Target.createTarget");
  bench.perform("cancel");
  await bench.steps();
  expect(second.closed()).toBe(true);
});

const refuse = (): Response => new Response("too many", { status: 429, headers: { "Retry-After": "0" } });

test("TB-20: a call that was cancelled asks for no further browser", async () => {
  const { seen, env } = platform({ POST: [refuse, refuse, refuse] });
  const bench = await start(env, navigate);
  bench.send("Look");
  await bench.steps();
  expect(seen).toHaveLength(1);
  bench.perform("cancel");
  await bench.steps();
  await seconds(bench, 5);
  expect(seen).toHaveLength(1);
});

test("TB-20: a browser that comes after its call was cancelled is closed at once", async () => {
  const late = Promise.withResolvers<Response>();
  const { seen, env } = platform({ POST: [() => late.promise] });
  const bench = await start(env, navigate);
  bench.send("Look");
  await bench.steps();
  bench.perform("cancel");
  await bench.steps();
  late.resolve(Response.json({ sessionId: "b1" }));
  await bench.steps();
  expect(seen.map((each) => each.trim())).toEqual(["POST", "DELETE /b1"]);
});

test("TB-20: a browser that cannot be reached is closed before another takes its place", async () => {
  const fail = (): Response => new Response("broken", { status: 500 });
  const { seen, env } = platform({
    POST: [opening("b1"), opening("b2")],
    "GET /b1": [() => upgraded(openSocket(working)), fail, fail, fail, fail],
    "GET /b2": [() => upgraded(openSocket(working))],
  });
  const bench = await start(env, navigate, extract);
  await finish(bench);
  expect(seen.slice(6, 9).map((each) => each.trim())).toEqual(["DELETE /b1", "POST", "GET /b2"]);
  expect(lastText(bench, "tool")).toMatch(/^\[The page was lost and has been opened again/);
});

test("TB-20: a search does not forget the address of a page whose browser was lost", async () => {
  const { env } = platform({
    POST: [opening("b1"), opening("b2")],
    "GET /b1": [() => upgraded(openSocket(working))],
    "GET /b2": [() => upgraded(openSocket(working)), () => upgraded(openSocket(working))],
  });
  const yaml = `${calling(navigate, "browser_search, args: { query: limpets }", extract)}\nbrowser: { search_url: 'https://s.example/?q={query}' }\n`;
  const bench = await benchOf(yaml, { env: { ...env } }, {});
  await finish(bench);
  expect(lastText(bench, "tool")).toMatch(/^\[The page was lost .* https:\/\/a\.example\/;/);
});

const withoutDocument: Command = (method, params) =>
  method === "Page.navigate" ? { errorText: "net::ERR_FAILED" } : working(method, params);

test("TB-20: a page that could not be opened ends with its call, the one that the session keeps does not", async () => {
  const sockets = [openSocket(withoutDocument), openSocket(working), openSocket(working)] as const;
  const { env } = platform({
    POST: [opening("b1")],
    "GET /b1": sockets.map((socket) => () => upgraded(socket)),
  });
  await finish(await start(env, navigate, navigate, extract));
  expect(sockets.map(({ disposed }) => disposed)).toEqual([["c1"], [], []]);
});

test("TB-20: the page of a search ends with its call, also if the search fails", async () => {
  const sockets = [openSocket(withoutDocument), openSocket(working)] as const;
  const { env } = platform({
    POST: [opening("b1")],
    "GET /b1": sockets.map((socket) => () => upgraded(socket)),
  });
  const search = "browser_search, args: { query: limpets }";
  const yaml = `${calling(search, search)}\nbrowser: { search_url: 'https://s.example/?q={query}' }\n`;
  await finish(await benchOf(yaml, { env: { ...env } }, {}));
  expect(sockets.map(({ disposed }) => disposed)).toEqual([["c1"], ["c1"]]);
});

test("TB-20: the pages that a browser was left with end before it opens another one", async () => {
  const lost: Command = (method, params) =>
    method === "Target.getBrowserContexts" ? { browserContextIds: ["c1", "c2"] } : working(method, params);
  const sockets = [openSocket(working), openSocket(failing("Runtime.evaluate")), openSocket(lost)] as const;
  const { env } = platform({
    POST: [opening("b1")],
    "GET /b1": sockets.map((socket) => () => upgraded(socket)),
  });
  const bench = await start(env, navigate, extract);
  await finish(bench);
  expect(lastText(bench, "tool")).toMatch(/^\[The page was lost and has been opened again/);
  expect(sockets.map(({ disposed }) => disposed)).toEqual([[], [], ["c1", "c2"]]);
  const { sent } = sockets[2];
  expect(sent.indexOf("Target.disposeBrowserContext")).toBeLessThan(sent.indexOf("Target.createTarget"));
});

const clicking = "browser_click, args: { selector: '#buy' }";
const typing = "browser_type, args: { selector: '#buy', text: one, submit: true }";

/** A page with one element in view, which takes text. */
const withElement: Command = (method, params) =>
  method === "Runtime.evaluate"
    ? { result: { value: { x: 1, y: 1, width: 9, height: 9, focused: true, url: "https://a.example/" } } }
    : working(method, params);

const failAt =
  (broken: string, nth: number): Command =>
  (method, params) =>
    method === broken && (nth -= 1) === 0 ? new Error("Target closed") : withElement(method, params);

test.each([
  ["a press", clicking, failAt("Input.dispatchMouseEvent", 2)],
  ["a release", clicking, failAt("Input.dispatchMouseEvent", 3)],
  ["a look at where the click led", clicking, failAt("Runtime.evaluate", 3)],
  ["typing", typing, failAt("Input.insertText", 1)],
  ["the key that submits", typing, failAt("Input.dispatchKeyEvent", 1)],
])(
  "★ TB-20 RE-P5: a call that is cut at %s has an unknown outcome and invites nobody to repeat it",
  async (_, call, second) => {
    const { env } = platform({
      POST: [opening("b1")],
      "GET /b1": [() => upgraded(openSocket(working)), () => upgraded(openSocket(second))],
    });
    const bench = await start(env, navigate, call);
    await finish(bench);
    expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "unknown" });
    expect(lastText(bench, "tool")).toMatch(/^unknown: .*look at the page before repeating it\.$/);
  },
);

test.each([
  ["before it moved the mouse", clicking, failAt("Input.dispatchMouseEvent", 1)],
  ["while it looked for the element", clicking, failAt("Runtime.evaluate", 2)],
])("TB-20: a click that is cut %s may be made again", async (_, call, second) => {
  const { env } = platform({
    POST: [opening("b1")],
    "GET /b1": [() => upgraded(openSocket(working)), () => upgraded(openSocket(second))],
  });
  const bench = await start(env, navigate, call);
  await finish(bench);
  expect(lastText(bench, "tool")).toBe("unavailable: the browser did not answer; try again");
});

test("★ SE-16 RE-P5: an unsafe call that runs out of time has an unknown outcome; one that only reads a time-out", async () => {
  const stuck = () => upgraded(openSocket(stalling("Target.attachToTarget")));
  const { env } = platform({
    POST: [opening("b1")],
    "GET /b1": [() => upgraded(openSocket(working)), stuck, stuck],
  });
  const bench = await start(env, navigate, clicking);
  bench.send("Look");
  await vi.waitFor(
    async () => {
      await bench.tick(200);
      expect(eventsOf(bench, "tool_call_start")).toHaveLength(2);
    },
    { interval: 20, timeout: 8_000 },
  );
  await seconds(bench, 31);
  expect(lastText(bench, "tool")).toMatch(/^unknown: browser_click took longer than 30 s/);
});
