import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { benchOf, eventsOf, lastEvent, lastText, refused } from "../engine/harness.ts";
import { httpFetch } from "../../src/toolboxes/http/http-fetch.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { insist, settleSoon } from "../support/power-cut.ts";
import { done, replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";

/** A web of fixed answers, and every request that it got. */
type Answer = (request: Request) => Response | Promise<Response>;
interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const webOf = (answers: Readonly<Record<string, Answer>>) => {
  const sent: Sent[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { url, method } = request;
    sent.push({
      url,
      method,
      headers: Object.fromEntries(request.headers),
      body: await request.clone().text(),
    });
    const answer = answers[url.replace(/\?.*/, "")];
    return answer === undefined ? new Response("not here", { status: 404 }) : answer(request);
  };
  return { sent, fetch };
};

const page =
  (html: string, type = "text/html; charset=utf-8"): Answer =>
  () =>
    new Response(html, { headers: { "content-type": type, "set-cookie": "sid=1", etag: '"7"' } });

const redirect =
  (location: string, status = 302): Answer =>
  () =>
    new Response(null, { status, headers: { location } });

interface Play {
  readonly web?: Readonly<Record<string, Answer>>;
  readonly agent?: string;
  readonly team?: string;
  readonly env?: Record<string, unknown>;
  readonly create?: object;
}

const teamYaml = (calls: readonly object[], { agent = "", team = "" }: Play): string =>
  scripted(replies(said(...calls.map((args) => ["http_fetch", args] as const)), done), agent, team)
    .replace("toolboxes: [probe]", "toolboxes: [http]")
    .replace("    permissions: { preset: open }\n", "");

/** A session whose agent makes these calls at once, up to its first rest. */
const play = async (calls: readonly object[], given: Play = {}) => {
  const { sent, fetch } = webOf(given.web ?? {});
  const bench = await benchOf(teamYaml(calls, given), { fetch, env: given.env ?? {} }, given.create ?? {});
  bench.send("Go");
  await bench.idle();
  return { bench, sent };
};

const openTeam = "permissions: { preset: open }";

/** What one call gave back, in a team that allows everything. */
const fetched = async (args: object, given: Play = {}) => {
  const { bench, sent } = await play([args], { ...given, team: `${openTeam}\n${given.team ?? ""}` });
  return { text: lastText(bench, "tool"), bench, sent };
};

const answered = async (args: object, given: Play = {}): Promise<Record<string, unknown>> =>
  JSON.parse((await fetched(args, given)).text) as Record<string, unknown>;

const asks = (bench: Bench) => Object.values(bench.state().asks);
const answer = async (bench: Bench, decision: string, more: object = {}, at = 0): Promise<void> => {
  bench.ok("answer", { ask: asks(bench)[at]?.id, decision, ...more });
  await bench.idle();
};

const site = "https://harbour.example/";

test("TB-19: a page comes as readable text with its links; scripts, styles and cookies do not", async () => {
  const html = `<html><head><title>Tides</title><style>p{}</style><base href="/tables/"></head><body>
    <h1>Tides &amp; currents</h1><script>alert("<p>no</p>")</script><noscript>no</noscript>
    <p>High   water<br>at <b>noon</b>. See <a href="may?full=1#top">the table</a>,
    <a href="https://moon.example/">the moon</a>, <a href="javascript:no()">nothing</a>.</p>
    <ul><li>one<li>two</ul><table><tr><td>a</td><td>b</td></tr></table><pre>  kept
    as is</pre><svg><title>no</title></svg><template>no</template><iframe src="/no">no</iframe></body></html>`;
  expect(await answered({ url: site }, { web: { [site]: page(html) } })).toEqual({
    status: 200,
    url: site,
    headers: { "content-type": "text/html; charset=utf-8", etag: '"7"' },
    body: [
      "# Tides & currents",
      "High water\nat noon. See the table, the moon, nothing.",
      "- one\n- two",
      "a | b",
      "  kept\n    as is",
    ].join("\n\n"),
    links: [
      { text: "the table", url: "https://harbour.example/tables/may?full=1" },
      { text: "the moon", url: "https://moon.example/" },
    ],
  });
});

test("TB-19: other text comes as it is, in its charset, and an error status is an answer, too", async () => {
  const json = await answered(
    { url: site },
    { web: { [site]: page('{"a":1}', "application/problem+json") } },
  );
  expect(json).toMatchObject({ status: 200, body: '{"a":1}' });
  expect(json).not.toHaveProperty("links");
  const latin = () =>
    new Response(new Uint8Array([0x46, 0xfc, 0x72]), {
      headers: { "content-type": "text/plain;charset=ISO-8859-1" },
    });
  expect(await answered({ url: site }, { web: { [site]: latin } })).toMatchObject({ body: "Für" });
  const typeless = () => new Response(new TextEncoder().encode("plain"));
  expect(await answered({ url: site }, { web: { [site]: typeless } })).toMatchObject({ body: "plain" });
  const missing = await fetched({ url: site });
  expect(JSON.parse(missing.text)).toMatchObject({ status: 404, body: "not here" });
  expect(eventsOf(missing.bench, "tool_call_end")[0]).toMatchObject({ outcome: "ok" });
});

test("TB-19: of what is no text, type and size are told", async () => {
  const image = () => new Response(new Uint8Array(700), { headers: { "content-type": "image/png" } });
  expect(await answered({ url: site }, { web: { [site]: image } })).toMatchObject({
    body: "[image/png, 700 bytes]",
  });
  const large = () => new Response(new Uint8Array(2_000_000), { headers: { "content-type": "video/mp4" } });
  expect(await answered({ url: site }, { web: { [site]: large } })).toMatchObject({
    cut: true,
    body: "[video/mp4, more than 1048576 bytes]",
  });
  const nameless = () => new Response(new Uint8Array([1, 0, 2]));
  expect(await answered({ url: site }, { web: { [site]: nameless } })).toMatchObject({
    body: "[unknown type, 3 bytes]",
  });
});

test("★ TB-19: an answer is cut at 1 MiB and says so, and its rest is not read", async () => {
  let given = 0;
  const chunk = new TextEncoder().encode("tide ".repeat(13_107));
  const endless = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => {
          given += chunk.length;
          controller.enqueue(chunk);
        },
      }),
      { headers: { "content-type": "text/plain" } },
    );
  const { bench } = await fetched({ url: site }, { web: { [site]: endless } });
  const call = eventsOf(bench, "tool_call_end")[0];
  expect(call).toMatchObject({ outcome: "ok" });
  expect(lastText(bench, "tool")).toContain('"cut":true');
  expect(given).toBeLessThan(1_300_000);
});

test("★ TB-18: a body of one byte a second ends at the deadline of 30 s", async () => {
  let cancelled = false;
  const slow = () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array([65])),
        cancel: () => void (cancelled = true),
      }),
    );
  const { sent, fetch } = webOf({ [site]: slow });
  const bench = await benchOf(teamYaml([{ url: site }], { team: openTeam }), { fetch, env: {} }, {});
  bench.send("Go");
  await bench.steps();
  expect(sent).toHaveLength(1);
  for (let second = 1; second < 30; second++) await bench.tick(1_000);
  expect(eventsOf(bench, "tool_call_end")).toEqual([]);
  await bench.tick(1_000);
  await bench.idle();
  expect(lastText(bench, "tool")).toBe("timeout: http_fetch took longer than 30 s and was stopped");
  expect(cancelled).toBe(false);
});

test("TB-19: what a model may send is bounded, and every refusal names the field and the way out", async () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ url: "harbour.example" }, /url: write an absolute address/],
    [{ url: "file:///etc/passwd" }, /url: write an absolute address/],
    [{ url: `${site}?${"a".repeat(2_049)}` }, /url: the query may have at most 2048 bytes/],
    [{ url: site, method: "TRACE" }, /method/],
    [{ url: site, headers: { authorization: "Bearer x" } }, /only accept, accept-language/],
    [{ url: site, headers: { Cookie: "a=b" } }, /only accept, accept-language/],
    [{ url: site, headers: { accept: "a\r\nx: y" } }, /printable ASCII/],
    [{ url: site, body: "x" }, /body: GET and HEAD have no body/],
  ];
  for (const [args, why] of wrong) {
    const { text, sent } = await fetched(args);
    expect(text).toMatch(/^invalid_arguments: /);
    expect(text).toMatch(why);
    expect(sent).toEqual([]);
  }
  const posted = (length: number) =>
    httpFetch.params.safeParse({ url: site, method: "POST", body: "ü".repeat(length) });
  expect(posted(524_288).success).toBe(true);
  expect(posted(524_289).error?.message).toContain("a body may have at most 1048576 bytes");
  const headers = {
    Accept: "text/plain",
    "If-None-Match": '"7"',
    Range: "bytes=0-9",
    "accept-language": "de",
  };
  const { sent } = await fetched({ url: `${site}?${"a".repeat(2_048)}`, headers });
  expect(sent[0]?.headers).toMatchObject({
    accept: "text/plain",
    "if-none-match": '"7"',
    range: "bytes=0-9",
  });
});

test("TB-18: private addresses are refused before anything is sent, whatever the preset", async () => {
  for (const url of [
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://[::ffff:169.254.169.254]/",
    "http://harbour.example/",
  ]) {
    const { text, sent } = await fetched({ url });
    expect(text).toMatch(/^egress_denied: /);
    expect(sent).toEqual([]);
  }
  const team = "egress: { deny: [harbour.example] }";
  expect((await fetched({ url: site }, { team })).text).toBe(
    "egress_denied: harbour.example is in egress.deny.",
  );
});

test("★ TB-6: by the default preset a host of egress.allow is fetched, another one asks first", async () => {
  const web = { [site]: page("listed"), "https://other.example/a": page("other") };
  const calls = [{ url: site }, { url: "https://other.example/a?key=1" }];
  const { bench, sent } = await play(calls, { web, team: "egress: { allow: [harbour.example] }" });
  expect(sent.map(({ url }) => url)).toEqual([site]);
  expect(asks(bench).map(({ approval }) => approval)).toEqual([
    {
      tool: "http_fetch",
      input: { url: "https://other.example/a?key=1" },
      rule: "preset sandboxed",
      remember: { tool: "http_fetch", pattern: "https://other.example:443/**" },
    },
  ]);
  await answer(bench, "approve");
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(sent).toHaveLength(2);
});

test("★ TB-8: five calls to one new host ask five times, and one answer for the session settles all", async () => {
  const calls = [1, 2, 3, 4, 5].map((at) => ({ url: `${site}${at}` }));
  const { bench, sent } = await play(calls);
  expect(asks(bench)).toHaveLength(5);
  await answer(bench, "approve", { remember: "session" }, 2);
  expect(asks(bench)).toEqual([]);
  expect(sent).toHaveLength(5);
});

test("TB-7: an act rule on egress binds http_fetch by host and path, whatever the preset", async () => {
  const team = `permissions: { preset: open, rules: [
    { act: egress, match: "https://harbour.example/private/**", action: deny, reason: Not for agents. },
    { act: egress, match: "https://*.bank.example/**", action: ask } ] }`;
  const calls = ["private/a", "%70rivate/b?x", "x/../private/c", "public"].map((path) => ({
    url: `${site}${path}`,
  }));
  const { bench, sent } = await play([...calls, { url: "https://my.bank.example/" }], { team });
  expect(sent.map(({ url }) => url)).toEqual([`${site}public`]);
  expect(
    eventsOf(bench, "tool_call_end")
      .map(({ outcome }) => outcome)
      .filter((each) => each === "denied"),
  ).toHaveLength(3);
  expect(asks(bench)).toHaveLength(1);
});

test("TB-6: a host that a deploy takes off egress.allow asks in sessions that are there already", async () => {
  const { sent, fetch } = webOf({ [site]: page("open") });
  const twice = replies(said(["http_fetch", { url: site }]), done, said(["http_fetch", { url: site }]), done);
  const engine = async (team: string) =>
    engineOf(
      scripted(twice, "", team)
        .replace("[probe]", "[http]")
        .replace("    permissions: { preset: open }\n", ""),
      { fetch, env: {} },
    );
  const bench = openBench({ engine: await engine("egress: { allow: [harbour.example] }") });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  expect(sent).toHaveLength(1);
  bench.deploy(await engine(""));
  bench.send("Again");
  await bench.idle();
  expect(asks(bench)).toHaveLength(1);
  expect(sent).toHaveLength(1);
});

test("TB-18: redirects are followed with their method, each as a call of its own, at most five", async () => {
  const web = {
    [site]: redirect("/login", 303),
    "https://harbour.example/login": redirect("https://dock.example/in?token=1", 307),
    "https://dock.example/in": page("in"),
  };
  const { text, sent, bench } = await fetched(
    { url: site, method: "POST", body: "b", headers: { "content-type": "text/plain", accept: "*/*" } },
    { web },
  );
  expect(JSON.parse(text)).toMatchObject({ status: 200, url: "https://dock.example/in?token=1", body: "in" });
  expect(sent.map(({ method, body }) => [method, body])).toEqual([
    ["POST", "b"],
    ["GET", ""],
    ["GET", ""],
  ]);
  expect(sent[2]?.headers).toMatchObject({ accept: "*/*" });
  expect(sent[2]?.headers).not.toHaveProperty("content-type");
  expect(eventsOf(bench, "tool_call_end")[0]).toMatchObject({
    details: { redirects: ["https://harbour.example:443/", "https://harbour.example:443/login"] },
  });
  expect(eventsOf(bench, "tool_call_start")).toHaveLength(1);
  const loop = await fetched({ url: site }, { web: { [site]: redirect("/") } });
  expect(loop.text).toBe("failed: more than 5 redirects.");
  expect(loop.sent).toHaveLength(6);
});

test("★ TB-18: a redirect to a private address, to http or to a denied host is refused", async () => {
  for (const target of [
    "https://127.0.0.1/",
    "http://dock.example/",
    "https://[::1]/",
    "https://denied.example/",
  ]) {
    const team = "egress: { deny: [denied.example] }";
    const { text, sent } = await fetched({ url: site }, { web: { [site]: redirect(target) }, team });
    expect(text).toMatch(/^egress_denied: /);
    expect(sent).toHaveLength(1);
  }
});

const toDock = {
  [site]: redirect("https://dock.example/page"),
  "https://dock.example/page": page("at the dock"),
};
const listed = "egress: { allow: [harbour.example] }";

test("★ TB-19: a redirect to a host that needs asking asks, and the answer survives a crash", async () => {
  const { bench, sent } = await play([{ url: site }], { web: toDock, team: listed });
  expect(sent).toHaveLength(1);
  const [ask] = asks(bench);
  expect(ask?.approval).toMatchObject({
    input: { url: "https://dock.example/page", method: "GET" },
    rule: "preset sandboxed",
    remember: { tool: "http_fetch", pattern: "https://dock.example:443/**" },
  });
  bench.crash();
  await bench.idle();
  expect(sent).toHaveLength(1);
  await answer(bench, "approve");
  expect(sent.map(({ url }) => url)).toEqual([site, "https://dock.example/page"]);
  expect(JSON.parse(lastText(bench, "tool"))).toMatchObject({
    url: "https://dock.example/page",
    body: "at the dock",
  });
});

test("★ RE-C39 TB-19: a redirect that asks survives a power cut at every write: one ask, one answer, one result", async () => {
  const run = async (cut: number | null) => {
    const { sent, fetch } = webOf(toDock);
    const engine = await engineOf(teamYaml([{ url: site }], { team: listed }), { fetch, env: {} });
    const bench = openBench({ engine });
    bench.ok("create");
    const before = bench.writes();
    bench.cutAt(cut);
    insist(bench, "send", { id: "i1", content: "Go" }, "i1");
    await settleSoon(bench);
    const [ask, ...more] = asks(bench);
    expect(more).toEqual([]);
    insist(bench, "answer", { ask: ask?.id, decision: "approve" }, "a1");
    await settleSoon(bench);
    expect(JSON.parse(lastText(bench, "tool"))).toMatchObject({ body: "at the dock" });
    expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
    expect(bench.events().filter(({ type }) => type === "tool_call_end")).toHaveLength(1);
    expect(new Set(sent.map(({ url }) => url))).toEqual(new Set([site, "https://dock.example/page"]));
    return bench.writes() - before;
  };
  const total = await run(null);
  for (let cut = 1; cut <= total; cut++) await run(cut);
});

test("TB-19: a redirect that nobody approves, or that a rule denies, ends as denied", async () => {
  const { bench, sent } = await play([{ url: site }], { web: toDock, team: listed });
  await answer(bench, "deny", { message: "Not there." });
  expect(lastText(bench, "tool")).toBe("denied: Not there.");
  const alone = await play([{ url: site }], { web: toDock, team: listed, create: { interactive: false } });
  expect(lastText(alone.bench, "tool")).toBe("denied: this call was not approved in time.");
  const rules = `${listed}
permissions: { rules: [{ act: egress, match: "https://dock.example/**", action: deny }] }`;
  const ruled = await play([{ url: site }], { web: toDock, team: rules });
  expect(lastText(ruled.bench, "tool")).toMatch(/^denied: a rule forbids this call \(rule deny act egress/);
  for (const each of [sent, alone.sent, ruled.sent]) expect(each).toHaveLength(1);
});

test("TB-9: an approver's edit of a redirect is judged, and what was remembered settles the redirects it covers", async () => {
  const { bench, sent } = await play([{ url: site }, { url: site }, { url: site }], {
    web: toDock,
    team: listed,
  });
  expect(
    refused(bench, "answer", { ask: asks(bench)[0]?.id, decision: "edit", input: { url: "dock" } }).code,
  ).toBe("answer_invalid");
  await answer(bench, "approve", { remember: "session" });
  expect(asks(bench)).toEqual([]);
  expect(sent).toHaveLength(6);
});

test("TB-19: an approved POST that a redirect moves on is approved for that place only", async () => {
  const web = {
    [site]: redirect("https://dock.example/page", 307),
    "https://dock.example/page": page("posted"),
  };
  const { bench, sent } = await play([{ url: site, method: "POST", body: "b" }], { web });
  await answer(bench, "approve");
  expect(asks(bench)[0]?.approval?.input).toEqual({
    url: "https://dock.example/page",
    method: "POST",
    headers: {},
    body: "b",
  });
  await answer(bench, "approve");
  expect(sent.map(({ method, body }) => [method, body])).toEqual([
    ["POST", "b"],
    ["POST", "b"],
  ]);
});

test("TB-19: where a redirect leads from a POST to a GET that is not made, the POST may have taken effect, and the model is told so", async () => {
  const posted = { url: site, method: "POST", body: "b" };
  const broken = { ...toDock, "https://dock.example/page": () => Promise.reject(new Error("broken")) };
  const { bench } = await play([posted], {
    web: { ...toDock, [site]: redirect("https://dock.example/page", 303) },
    team: listed,
  });
  await answer(bench, "deny", { message: "Not there." });
  expect(lastText(bench, "tool")).toMatch(/^unknown: [^]*denied: Not there\.$/);
  for (const status of [302, 303]) {
    const web = { ...broken, [site]: redirect("https://dock.example/page", status) };
    const { text, bench: ended, sent } = await fetched(posted, { web });
    expect(sent.map(({ method }) => method)).toEqual(["POST", "GET"]);
    expect([text, lastEvent(ended, "tool_call_end")["outcome"]]).toEqual([
      expect.stringMatching(/^unknown: the connection broke/),
      "unknown",
    ]);
  }
  const read = await fetched({ url: site }, { web: broken });
  expect(read.text).toBe(
    "unavailable: the connection to dock.example failed; check the address, or try later",
  );
});

const canary = "canary-token-0123456789";
const bound = `http: { headers: { "https://harbour.example": { Authorization: "Bearer \${HARBOUR_TOKEN}", X-Team: limpet } } }`;

test("★ TB-19 RE-T8: a configured secret reaches its own origin and nothing else", async () => {
  const echo: Answer = (request) => new Response(`you sent ${request.headers.get("authorization")}`);
  const web = {
    [site]: redirect("/echo"),
    "https://harbour.example/echo": echo,
    "https://harbour.example/away": redirect("https://dock.example/"),
    "https://dock.example/": echo,
    "https://harbour.example:8443/": echo,
    "http://harbour.example/": echo,
    "https://sub.harbour.example/": echo,
  };
  const team = `${bound}\negress: { allow_http: true }`;
  const env = { HARBOUR_TOKEN: canary };
  const own = await fetched({ url: site }, { web, team, env });
  expect(own.sent.map(({ headers }) => headers["authorization"])).toEqual([
    `Bearer ${canary}`,
    `Bearer ${canary}`,
  ]);
  expect(own.sent[0]?.headers).toMatchObject({ "x-team": "limpet", "x-limpet-hop": "1" });
  expect(own.text).toContain("you sent Bearer [secret:HARBOUR_TOKEN]");
  expect(JSON.stringify([own.bench.events(), own.bench.rows("messages"), own.bench.state()])).not.toContain(
    canary,
  );
  for (const url of [
    "https://harbour.example/away",
    "https://harbour.example:8443/",
    "http://harbour.example/",
    "https://sub.harbour.example/",
  ]) {
    const { sent, text } = await fetched({ url }, { web, team, env });
    expect(JSON.stringify(sent.at(-1))).not.toContain(canary);
    expect(text).toContain("you sent null");
  }
});

test("CF-20: an unset secret of http.headers is unavailable with the way out, and nothing is sent", async () => {
  const { text, sent } = await fetched({ url: site }, { team: bound });
  expect(text).toBe(
    'unavailable: the secret of http.headers["https://harbour.example"].Authorization is not set; GET /readyz tells an administrator which one',
  );
  expect(sent).toEqual([]);
});

test("★ TB-18: 200 MB behind gzip cost no more than 1 MiB", async () => {
  const bomb = gzipSync(Buffer.alloc(200_000_000, "tide "), { level: 1 });
  const { createServer } = await import("node:http");
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-type": "text/plain" });
    response.end(bomb);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const env = { LIMPET_PRIVATE_EGRESS: `127.0.0.1:${port}` };
  const bench = await benchOf(
    teamYaml([{ url: `http://127.0.0.1:${port}/` }], { team: openTeam }),
    { env },
    {},
  );
  bench.send("Go");
  await bench.idle();
  server.closeAllConnections();
  server.close();
  expect(lastText(bench, "tool")).toContain('"cut":true');
});

test.each([
  ["before its answer", () => Promise.reject(new Error("connection lost"))],
  [
    "in the middle of its answer",
    () =>
      new Response(
        new ReadableStream({ pull: (controller) => controller.error(new Error("connection lost")) }),
      ),
  ],
])(
  "★ TB-19 RE-P5: a POST whose connection breaks %s has an unknown outcome; a GET is an error that may be repeated",
  async (_, answer) => {
    const given = { web: { [site]: answer }, team: openTeam };
    const post = await play([{ url: site, method: "POST", body: "one" }], given);
    expect(lastEvent(post.bench, "tool_call_end")).toMatchObject({ outcome: "unknown" });
    expect(lastText(post.bench, "tool")).toMatch(/^unknown: .*check before repeating it\.$/);
    const get = await play([{ url: site }], given);
    expect(lastText(get.bench, "tool")).toMatch(/connection (lost|to harbour.example failed)/);
  },
);
