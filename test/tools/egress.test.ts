import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { limitTime } from "../../src/sandbox/time-limit.ts";
import { createEgress, EgressError, RedirectError } from "../../src/tools/egress/egress.ts";
import type { EgressOptions } from "../../src/tools/egress/egress.ts";
import { readUpTo } from "../../src/tools/egress/body.ts";

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}
type Answers = Record<string, readonly [number, string] | undefined>;

/** A network of fixed answers: status and location by URL; everything else is 200. */
const network = (answers: Answers, rules: Partial<EgressOptions> = {}) => {
  const sent: Sent[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = Object.fromEntries(new Headers(init?.headers));
    sent.push({ url, method: init?.method ?? "GET", headers, body: init?.body });
    expect(init?.redirect).toBe("manual");
    const answer = answers[url];
    if (answer === undefined) return new Response("ok");
    return new Response(null, { status: answer[0], headers: { location: answer[1] } });
  };
  const base = { allow: [], deny: [], ports: [443, 80, 8443], allow_http: true, privateAllow: [] };
  return { sent, egress: createEgress({ ...base, ...rules, fetch }) };
};

const credentials = {
  authorization: "Bearer k",
  cookie: "a=b",
  "x-api-key": "k",
  "x-custom": "token-canary-1",
  accept: "text/plain",
};
const follow = { redirects: "follow", maxBytes: 1000 } as const;

test("TB-18 RE-T8: on another origin credentials and every configured secret are dropped", async () => {
  const { sent, egress } = network({ "https://a.example/": [302, "https://b.example/x"] });
  await egress("https://a.example/", { ...follow, headers: credentials, secrets: ["canary-1"] });
  expect(sent[0]?.headers).toMatchObject(credentials);
  expect(sent[1]?.url).toBe("https://b.example/x");
  expect(sent[1]?.headers).toEqual({ accept: "text/plain", "x-limpet-hop": "1" });
});

test("TB-18 RE-T8: another port or a subdomain is another origin, the same origin keeps its headers", async () => {
  const { sent, egress } = network({
    "https://a.example/": [307, "/two"],
    "https://a.example/two": [307, "https://a.example:8443/three"],
  });
  await egress("https://a.example/", { ...follow, headers: credentials });
  expect(sent.map(({ headers }) => headers["authorization"])).toEqual(["Bearer k", "Bearer k", undefined]);
});

test.each([
  ["https://127.0.0.1/", /not a public address/],
  ["https://[::ffff:169.254.169.254]/", /not a public address/],
  ["https://user:pw@b.example/", /user name/],
  ["https://denied.example/", /egress.deny/],
  ["https://b.example:22/", /port 22/],
  ["file:///etc/passwd", /scheme/],
  ["https://[bad", /not a valid URL/],
  ["http://b.example/", /https to http/],
])("TB-18 RE-T8: a redirect to %s is refused", async (target, why) => {
  const { sent, egress } = network({ "https://a.example/": [302, target] }, { deny: ["denied.example"] });
  await expect(egress("https://a.example/", follow)).rejects.toThrow(why);
  expect(sent.length).toBe(1);
});

test("TB-18 RE-T8: a public page cannot redirect to the operator's private target", async () => {
  const privateAllow = ["10.0.0.5:80"];
  const { egress } = network({ "https://a.example/": [302, "https://10.0.0.5:80/"] }, { privateAllow });
  await expect(egress("https://a.example/", follow)).rejects.toThrow(/not a public address/);
});

test("TB-18: among the operator's private targets redirects are followed", async () => {
  const privateAllow = ["10.0.0.5:80", "10.0.0.6:80"];
  const { sent, egress } = network({ "http://10.0.0.5/": [302, "http://10.0.0.6/x"] }, { privateAllow });
  await egress("http://10.0.0.5/", { ...follow, headers: credentials });
  expect(sent.map(({ url }) => url)).toEqual(["http://10.0.0.5/", "http://10.0.0.6/x"]);
  expect(sent[1]?.headers["authorization"]).toBeUndefined();
});

test("TB-18: a caller that decides about redirects is told where one leads, and nothing more is sent", async () => {
  const { sent, egress } = network({
    "https://a.example/": [303, "//b.example/x?y"],
    "https://a.example/loopback": [302, "https://127.0.0.1/"],
  });
  const init = { redirects: "raise", maxBytes: null, method: "POST", body: "b" } as const;
  const raised = await egress("https://a.example/", init).catch((error: unknown) => error);
  expect(raised).toBeInstanceOf(RedirectError);
  expect(raised).toMatchObject({ target: { url: "https://b.example/x?y", method: "GET" } });
  await expect(egress("https://a.example/loopback", init)).rejects.toMatchObject({ code: "egress_denied" });
  expect(sent).toHaveLength(2);
});

test("TB-18: five redirects are followed, the sixth is refused", async () => {
  const chain = (length: number): Answers =>
    Object.fromEntries(
      Array.from({ length }, (_, i) => [`https://a.example/${i}`, [302, `/${i + 1}`] as const]),
    );
  const five = network(chain(5));
  expect((await five.egress("https://a.example/0", follow)).status).toBe(200);
  const six = network(chain(6));
  await expect(six.egress("https://a.example/0", follow)).rejects.toMatchObject({
    code: "too_many_redirects",
  });
  const loop = network({ "https://a.example/": [302, "/"] });
  await expect(loop.egress("https://a.example/", follow)).rejects.toMatchObject({
    code: "too_many_redirects",
  });
  expect(loop.sent.length).toBe(6);
});

test.each([
  [301, "POST", "GET", undefined],
  [302, "POST", "GET", undefined],
  [303, "POST", "GET", undefined],
  [303, "PUT", "GET", undefined],
  [302, "PUT", "PUT", "body"],
  [307, "POST", "POST", "body"],
  [308, "POST", "POST", "body"],
])("TB-18: %i after %s becomes %s", async (status, method, then, body) => {
  const { sent, egress } = network({ "https://a.example/": [status, "/next"] });
  const headers = { "content-type": "text/plain" };
  await egress("https://a.example/", { ...follow, method, headers, body: "body" });
  expect(sent[1]).toMatchObject({ method: then, body });
  expect(sent[1]?.headers["content-type"]).toBe(body === undefined ? undefined : "text/plain");
});

test("TB-18: a secret in a body does not follow a redirect to another origin", async () => {
  const { egress } = network({ "https://a.example/": [307, "https://b.example/"] });
  const init = { ...follow, method: "POST", body: '{"key":"canary-2"}', secrets: ["canary-2"] };
  await expect(egress("https://a.example/", init)).rejects.toThrow(/secret in the body/);
});

test("MO-19: refused redirects are given back as they are and not followed", async () => {
  const { sent, egress } = network({ "https://a.example/": [307, "https://b.example/"] });
  const response = await egress("https://a.example/", { redirects: "refuse", maxBytes: null });
  expect(response.status).toBe(307);
  expect(sent.length).toBe(1);
});

test("TB-18: refusals quote no query, userinfo or secret", async () => {
  const { egress } = network({});
  for (const address of ["https://10.0.0.1/?token=canary-3", "https://u:canary-3@a.example/"])
    await expect(egress(address, follow)).rejects.not.toThrow(/canary-3/);
});

/** A loopback server, reached through the operator's private list, for what only real bytes can show. */
const withServer = async (
  answer: (path: string) => { readonly headers?: Record<string, string>; readonly body: Buffer | null },
  run: (base: string, egress: ReturnType<typeof createEgress>) => Promise<void>,
): Promise<void> => {
  const server = createServer((request, response) => {
    const { headers, body } = answer(request.url ?? "");
    response.writeHead(200, headers ?? {});
    if (body !== null) response.end(body);
    else response.flushHeaders();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const privateAllow = [`127.0.0.1:${port}`];
  try {
    await run(
      `http://127.0.0.1:${port}`,
      createEgress({ allow: [], deny: [], ports: [], allow_http: false, privateAllow }),
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
};

test("TB-18: bodies are capped after inflation, and a cut one says so", async () => {
  const bomb = gzipSync(Buffer.alloc(200_000_000), { level: 1 });
  await withServer(
    () => ({ headers: { "content-encoding": "gzip" }, body: bomb }),
    async (base, egress) => {
      const response = await egress(base, { redirects: "follow", maxBytes: 1_000_000 });
      await expect(response.arrayBuffer()).rejects.toBeInstanceOf(EgressError);
      const whole = await egress(base, { redirects: "follow", maxBytes: null });
      const { bytes, cut } = await readUpTo(whole.body, 1_000_000);
      expect([bytes.byteLength, cut]).toEqual([1_000_000, true]);
    },
  );
});

test("TB-18: a body at its cap is whole", async () => {
  await withServer(
    () => ({ body: Buffer.alloc(1000, 7) }),
    async (base, egress) => {
      const response = await egress(base, { redirects: "follow", maxBytes: 1000 });
      expect((await response.arrayBuffer()).byteLength).toBe(1000);
      const again = await egress(base, { redirects: "follow", maxBytes: null });
      expect(await readUpTo(again.body, 1000)).toMatchObject({ cut: false });
    },
  );
});

test("TB-18: the deadline covers a body that never ends", async () => {
  await withServer(
    () => ({ body: null }),
    async (base, egress) => {
      const text = limitTime(50, undefined, async (signal) =>
        (await egress(base, { redirects: "follow", maxBytes: 10, signal })).text(),
      );
      await expect(text).rejects.toMatchObject({ name: "TimeoutError" });
    },
  );
});
