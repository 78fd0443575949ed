import { afterEach, expect, test, vi } from "vitest";
import { createClient } from "../../src/client/index.ts";

/** What a caller in plain JavaScript, without types, is told about options that the client does not take. */

const url = "https://agents.example.com";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test.each(["key", "apiKey", "baseUrl"])(
  "AP-51: the option %s is refused with those that there are",
  (name) => {
    expect(() => createClient({ url, [name]: "lk_x" })).toThrow(
      `createClient has no option ${name}, but url, token, getToken, fetch, WebSocket`,
    );
  },
);

test.each(["localhost:8787", "agents.example.com", "ws://agents.example.com", "https://", "", undefined])(
  "AP-51: the url %j is no address, and the way to write one is told",
  (given) => {
    const options: { readonly url: string } = Object.assign({ url }, { url: given });
    expect(() => createClient(options)).toThrow(
      `url: ${given} is no address like https://agents.example.com`,
    );
  },
);

test.each([
  "https://agents.example.com/limpet",
  "https://agents.example.com/limpet/",
  "https://agents.example.com/limpet/v1",
  "https://agents.example.com/limpet/v1/",
])("AP-51: every option is taken, and the path of %s is kept, without the /v1 of the API", async (given) => {
  const asked: string[] = [];
  const client = createClient({
    url: given,
    token: "lk_x",
    getToken: () => "lt_x",
    fetch: async (address) => {
      asked.push(new Request(address).url);
      return Response.json({});
    },
    WebSocket: globalThis.WebSocket,
  });
  await client.call("agents");
  expect(asked).toEqual([`${url}/limpet/v1/agents`]);
});

test("AP-51: a request keeps the query of its path, and sends a form as one", async () => {
  const sent: Request[] = [];
  const { request } = createClient({
    url,
    fetch: async (address, init) => {
      sent.push(new Request(address, init));
      return Response.json({});
    },
  });
  const body = new FormData();
  body.set("file", new Blob(["tides"]), "notes.txt");
  await request({ method: "GET", path: "/v1/sessions/s/workspace?format=tar", query: { limit: 1 } });
  await request({ method: "POST", path: "/v1/sessions/s/files", body });
  await request({ method: "POST", path: "/v1/sessions/s/files?name=a.md", body: new Blob(["tides"]) });
  await request({ method: "POST", path: "/v1/sessions", body: { title: "Tides" } });
  expect(sent.map((each) => each.url.slice(url.length))).toEqual([
    "/v1/sessions/s/workspace?format=tar&limit=1",
    "/v1/sessions/s/files",
    "/v1/sessions/s/files?name=a.md",
    "/v1/sessions",
  ]);
  const [, form, file, fields] = sent;
  expect(form?.headers.get("Content-Type")).toMatch(/^multipart\/form-data; boundary=/);
  expect(await file?.text()).toBe("tides");
  expect([fields?.headers.get("Content-Type"), await fields?.json()]).toEqual([
    "application/json",
    { title: "Tides" },
  ]);
});

test("AP-52: a token that could not be got is asked for again with the next request", async () => {
  let asked = 0;
  const client = createClient({
    url,
    getToken: async () => {
      asked += 1;
      if (asked === 1) throw new Error("the server of tokens is away");
      return "lt_x";
    },
    fetch: async (_, init) => Response.json(new Headers(init?.headers).get("Authorization")),
  });
  await expect(client.call("agents")).rejects.toThrow("the server of tokens is away");
  expect(await client.call("agents")).toBe("Bearer lt_x");
});

test.each([
  [
    "what a deletion takes stands in the query",
    "delete_file",
    { session: "s_1", path: "tours/old", recursive: true },
    "DELETE /v1/sessions/s_1/workspace/tours%2Fold?recursive=true",
  ],
  [
    "a name with a slash is one piece of the path",
    "forget_subject",
    { subject: "org/42" },
    "DELETE /v1/memory/org%2F42",
  ],
] as const)("AP-51: %s", async (_, operation, params, expected) => {
  const asked: string[] = [];
  const client = createClient({
    url,
    fetch: async (address, init) => {
      asked.push(`${init?.method} ${new Request(address).url.slice(url.length)}`);
      expect(init?.body ?? null).toBe(null);
      return Response.json({});
    },
  });
  await client.call(operation, params);
  expect(asked).toEqual([expected]);
});

test.each([
  [undefined, `${url} cannot be reached; is a server running there?`],
  [url, `${url} cannot be reached; is a server running there?`],
  [
    "http://localhost:5173",
    `${url} cannot be reached; is a server running there, and does it allow http://localhost:5173?`,
  ],
])(
  "AP-51: what no server answered to a page of %s is told with all that may be why",
  async (origin, words) => {
    vi.stubGlobal("location", origin === undefined ? undefined : { origin });
    const client = createClient({ url, fetch: () => Promise.reject(new TypeError("Failed to fetch")) });
    await expect(client.call("agents")).rejects.toThrow(words);
  },
);

test.each([
  ["a minute", {}, 60_000],
  ["the time that it waits for the run", { wait: 30 }, 90_000],
  ["the time that much text needs", { content: "x".repeat(1_000_000) }, 110_000],
])("AP-51: a call that nobody answers is given up after %s", async (_, given, ms) => {
  vi.useFakeTimers();
  let isGivenUp = false;
  const client = createClient({ url, fetch: () => new Promise(() => undefined) });
  const sent = client.call("send", { session: "s_1", content: "hello", ...given }).catch((fault: unknown) => {
    isGivenUp = true;
    return fault;
  });
  await vi.advanceTimersByTimeAsync(ms - 1_000);
  expect(isGivenUp).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await sent).toMatchObject({ problem: { code: "server_silent", retryable: true } });
});

test("AP-51: a call that its signal ends is given up at once", async () => {
  const stop = new AbortController();
  const client = createClient({
    url,
    fetch: async (_, init) => {
      stop.abort(new Error("it was stopped"));
      init?.signal?.throwIfAborted();
      return Response.json({});
    },
  });
  await expect(client.call("agents", {}, { signal: stop.signal })).rejects.toThrow("it was stopped");
});
