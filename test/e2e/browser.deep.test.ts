import { createSocket } from "node:dgram";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { createChromeCache } from "../support/chrome-cache.ts";
import { startDevServer, until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { playing, say } from "../support/plays.ts";

/** The browser toolbox with a real Chromium behind wrangler's local binding, and sites on this machine. */

interface Site {
  readonly url: string;
  readonly host: string;
  /** Every request that reached it: method, path and cookies. */
  readonly seen: string[];
  readonly server: Server;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const openSite = async (answer: Answer): Promise<Site> => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.cookie ?? ""}`.trim());
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Content-Type", "text/html");
    answer(request, response);
  });
  server.on("upgrade", (request, socket) => {
    seen.push(`upgrade ${request.url}`);
    socket.destroy();
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}`, host, seen, server };
};

/** What a page tries that means to reach an address which nobody opened to it. */
const attackOn = (target: string, host: string): string => `
  <h1>Hello</h1>
  <img src="${target}/img"><iframe src="${target}/iframe"></iframe>
  <link rel="preconnect" href="${target}"><link rel="prefetch" href="${target}/prefetch">
  <script>
    const worker = 'fetch("${target}/worker").catch(() => {}); try { new WebSocket("ws://${host}/worker-ws") } catch {}';
    fetch("${target}/fetch").catch(() => {});
    fetch("/to?${target}/redirected").catch(() => {});
    new Worker("/worker.js"); try { new SharedWorker("/worker.js") } catch {}
    new Worker(URL.createObjectURL(new Blob([worker])));
    navigator.serviceWorker?.register("/worker.js").catch(() => {});
    new WebSocket("ws://${host}/ws"); new EventSource("${target}/events");
    navigator.sendBeacon("${target}/beacon", "x");
    open("${target}/window");
    const frame = document.createElement("iframe"); document.body.append(frame);
    frame.contentWindow.fetch("${target}/blank").catch(() => {});
    setInterval(() => fetch("${target}/later").catch(() => {}), 50);
    const seen = document.createElement("p"); document.body.append(seen);
    fetch("/own").then((own) => own.text()).then((text) => { seen.textContent = "own data: " + text });
  </script>`;

/** A script that keeps the scripts of the tools from cutting anything. */
const uncut = `String.prototype.slice = function () { return String(this); };
  Map.prototype.values = () => Array.from({ length: 100 }, () => ({ title: "t".repeat(5_000), url: "u" }));`;

/** A page that waits for an answer in its only thread is as lost as one that computes for ever, and costs no CPU. */
const stuck = `const stick = () => {
  for (;;) try { const never = new XMLHttpRequest(); never.open("GET", "/never", false); never.send(); } catch {}
}`;

/** Counts the datagrams that reach this machine. */
const openStun = async () => {
  const socket = createSocket("udp4");
  let heard = 0;
  socket.on("message", () => void (heard += 1));
  await new Promise<void>((done) => void socket.bind(0, "127.0.0.1", done));
  return { port: socket.address().port, heard: () => heard, close: () => socket.close() };
};

let stun: Awaited<ReturnType<typeof openStun>>;
let inner: Site;
let site: Site;
let other: Site;

const pages: Readonly<Record<string, (url: URL) => string>> = {
  "/": () => `<title>Front</title><style>p { color: red }</style><script>let x = 1</script><h1>Welcome</h1>
    <p>Read <a id="next" href="/next">the next page</a>, <a id="blank" target="_blank" href="/window">a window</a>,
    <a id="away" href="${other.url}/there">another site</a>, <a id="moved" href="/to?${other.url}/there">moved</a>.
    <svg><text>drawn</text></svg>
    <form action="/form"><input name="q" value="old"><select name="s"><option>One</option><option>Two</option></select></form>
    <div id="big" style="height: 3000px; width: 400px; background: teal"></div>`,
  "/next": () => `<title>Next</title><p>Second page</p>`,
  "/window": () => `<title>Window</title><p>In a window</p>`,
  "/form": (url) =>
    `<title>Form</title><p>q is ${url.searchParams.get("q")}, s is ${url.searchParams.get("s")}</p>`,
  "/long": () => `<title>Long</title><p>${"limpets hold on ".repeat(10_000)}</p>`,
  "/dialog": () => `<title>Dialog</title><script>alert("stop"); document.title = "Passed"</script>`,
  "/busy": () => `<title>Busy</title><button id="go" onclick="stick()">Go</button><script>${stuck}</script>`,
  "/forbidden": () => `<title>Forbidden</title>`,
  "/attack": () => attackOn(inner.url, inner.host),
  "/own": () => "yes",
  "/huge": () => `<script>${uncut}
    document.title = "x".repeat(3_000_000); history.replaceState(null, "", "/huge?" + "y".repeat(20_000));
  </script><button>Go</button>`,
  "/peers": () => `<p></p><iframe srcdoc="<p>inner</p>"></iframe><script>
    const frame = document.createElement("iframe"); document.body.append(frame);
    const kinds = [self, frame.contentWindow].map((each) => typeof each.RTCPeerConnection);
    document.querySelector("p").textContent = "peers: " + kinds.join(" ");
  </script>`,
  // Frames that a page makes after its call has ended are no part of any connection.
  "/calling": () => `<title>Calling</title><script>setInterval(() => {
    const frame = document.createElement("iframe"); document.body.append(frame);
    const Peer = frame.contentWindow.RTCPeerConnection; if (Peer === undefined) return frame.remove();
    const peer = new Peer({ iceServers: [{ urls: "stun:127.0.0.1:${stun.port}" }] });
    peer.createDataChannel("x"); peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  }, 100);</script>`,
  // Another name of the machine is another site, whose frames are parts of the browser with connections of their own.
  "/framed": () =>
    `<title>Framed</title><iframe src="${other.url.replace("127.0.0.1", "localhost")}/framed"></iframe>`,
  "/search": (url) =>
    url.searchParams.get("q") === "huge"
      ? `<script>${uncut}</script><a href="https://r.example/"><h3>Result</h3></a>`
      : url.searchParams.get("q") === "captcha"
        ? `<form action="/captcha"><p>Are you a human?</p></form>`
        : `<a href="/about"><h3>About us</h3></a>` +
          Array.from(
            { length: 40 },
            (_, at) =>
              `<article class="result"><h3><a href="https://r${at}.example/">Result ${at} for ${url.searchParams.get("q")}</a></h3><p>Snippet ${at}</p></article>`,
          ).join(""),
};

const answerSite: Answer = (request, response) => {
  const url = new URL(request.url ?? "/", site.url);
  if (url.pathname === "/to") {
    response.writeHead(302, { Location: url.search.slice(1) });
    response.end();
    return;
  }
  if (url.pathname === "/worker.js") {
    response.setHeader("Content-Type", "text/javascript");
    response.end(
      `fetch("${inner.url}/script-worker").catch(() => {}); try { new WebSocket("ws://${inner.host}/w") } catch {}`,
    );
    return;
  }
  if (url.pathname === "/never") return;
  if (url.pathname in pages) response.setHeader("Set-Cookie", `visit=${url.pathname.slice(1)}; HttpOnly`);
  response.end(pages[url.pathname]?.(url) ?? "<title>Nothing</title>");
};

let provider: FakeProvider;
let team: BuiltTeam;
let cache: ReturnType<typeof createChromeCache>;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  stun = await openStun();
  inner = await openSite((_, response) => void response.end("private"));
  site = await openSite(answerSite);
  other = await openSite(
    (_, response) =>
      void response.end(
        `<title>There</title><p>Elsewhere</p><img src="/own-picture"><script>fetch("${inner.url}/frame").catch(() => {})</script>`,
      ),
  );
  provider = await startFakeProvider(
    playing({
      do: ({ words }) => [
        ...(JSON.parse(Buffer.from(words[0] ?? "", "base64url").toString()) as Call[][]).map((calls) =>
          say(...calls.map(([call, args]) => ({ call, args }))),
        ),
        say({ text: "Done." }),
      ],
    }),
  );
  const edit = (text: string): string => text.replaceAll("http://search.example", site.url);
  team = await buildTestTeam("browser", "test", { bindings: '\n[browser]\nbinding = "BROWSER"\n', edit });
  cache = createChromeCache();
  const opened = [
    site.host,
    other.host,
    other.host.replace("127.0.0.1", "localhost"),
    `127.0.0.1:${provider.port}`,
  ];
  server = await startDevServer({
    configs: team.configs,
    vars: {
      LIMPET_ADMIN_KEY: "an-admin-key-for-the-browser-tests",
      LIMPET_PRIVATE_EGRESS: opened.join(","),
      MODEL_KEY: "sk-browser",
      MESSAGES_URL: provider.url("anthropic"),
    },
    env: { XDG_CACHE_HOME: cache.folder },
  });
  api = createApi(server.url, "an-admin-key-for-the-browser-tests");
});

afterAll(async () => {
  await server?.close();
  team?.remove();
  cache?.remove();
  await provider?.close();
  stun?.close();
  for (const each of [inner, site, other]) each?.server.close();
});

beforeEach(() => {
  for (const each of [inner, site, other]) each.seen.length = 0;
});

type Call = readonly [tool: string, args: object];

interface Ended {
  readonly outcome: string;
  readonly output: unknown;
}

const play = (turns: readonly (readonly Call[])[]): string =>
  `play do ${Buffer.from(JSON.stringify(turns)).toString("base64url")}`;

/** Makes one call after another in one run and returns how each ended. */
const browse = async (session: string, ...calls: readonly Call[]): Promise<readonly Ended[]> => {
  const before = (await api.events(session)).length;
  const content = play(calls.map((call) => [call]));
  await api.post(`/v1/sessions/${session}/messages`, { content, wait: 80 });
  const events = await until("the run ends", async () => {
    const all = (await api.events(session)).slice(before);
    return all.some(({ type }) => type === "run_end") ? all : null;
  });
  expect(events.at(-1)).toMatchObject({ type: "run_end", data: { state: "completed" } });
  return endsIn(events);
};

const endsIn = (events: readonly StoredEvent[]): readonly Ended[] =>
  events.flatMap((event) =>
    event.type === "tool_call_end" ? [{ outcome: event.data.outcome, output: event.data.output }] : [],
  );

const shown = ({ output }: Ended | undefined = { outcome: "", output: "{}" }): Record<string, unknown> =>
  JSON.parse(String(output).replace(/^\[[^\n]*\n/, "")) as Record<string, unknown>;

const navigate = (path: string): Call => ["browser_navigate", { url: `${site.url}${path}` }];

test("TB-20: a page is read without scripts, styles and drawings, with its links", async () => {
  const [first] = await browse(await api.create({ agent: "open" }), navigate("/"));
  expect(first?.outcome, String(first?.output)).toBe("ok");
  const { title, text, links, url } = shown(first);
  expect([title, url]).toEqual(["Front", `${site.url}/`]);
  expect(text).toContain("# Welcome");
  expect(text).toContain("the next page");
  expect(text).not.toMatch(/color|let x|drawn/);
  expect(links).toContainEqual({ text: "the next page", url: `${site.url}/next` });
});

test("TB-20: clicks and typing act on the page, a link to a window opens here, and a list takes an option", async () => {
  const session = await api.create({ agent: "open" });
  const ended = await browse(
    session,
    navigate("/"),
    ["browser_click", { selector: "#next" }],
    ["browser_extract", {}],
    navigate("/"),
    ["browser_click", { selector: "#blank" }],
    navigate("/"),
    ["browser_type", { selector: "select", text: "Two" }],
    ["browser_type", { selector: "input", text: "new words", submit: true }],
    ["browser_extract", { selector: "p" }],
  );
  expect(ended.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 9 }, () => "ok"));
  expect(shown(ended[1])).toMatchObject({ title: "Next", url: `${site.url}/next` });
  expect(shown(ended[2])).toMatchObject({ text: "Second page" });
  expect(shown(ended[4])).toMatchObject({ title: "Window", url: `${site.url}/window` });
  expect(shown(ended[8])).toMatchObject({ title: "Form", text: "q is new words, s is Two" });
});

test("TB-20: what is not there is an error with the way out, and no browser is opened for it", async () => {
  const session = await api.create({ agent: "open" });
  const ended = await browse(
    session,
    ["browser_click", { selector: "#next" }],
    navigate("/"),
    ["browser_click", { selector: "#nowhere" }],
    ["browser_click", { selector: "a[" }],
    ["browser_type", { selector: "h1", text: "x" }],
    ["browser_type", { selector: "select", text: "Three" }],
    ["browser_extract", { selector: "video" }],
    ["browser_navigate", { url: "file:///etc/passwd" }],
    ["browser_navigate", { url: `${inner.url}/` }],
  );
  expect(ended.map(({ output }) => String(output).split("\n")[0]?.slice(0, 90))).toEqual([
    "not_found: no page is open; open one with browser_navigate",
    expect.stringContaining('"title":"Front"'),
    "no_match: nothing on the page matches #nowhere",
    "invalid_arguments: selector: a[ is not a CSS selector",
    "failed: h1 does not accept text",
    'no_match: select has no option "Three"; it has: One, Two',
    "no_match: nothing on the page matches video",
    expect.stringContaining("invalid_arguments"),
    expect.stringMatching(/^unavailable: .* 127.0.0.1 is not a public/),
  ]);
  expect(inner.seen).toEqual([]);
});

test("TB-20 TB-18: ★ no script of a page reaches an address that is not open to it, also after redirects and calls", async () => {
  const session = await api.create({ agent: "open" });
  const ended = await browse(
    session,
    navigate("/attack"),
    ["browser_extract", { selector: "p" }],
    ["browser_navigate", { url: `${site.url}/to?${inner.url}/redirected` }],
    ["browser_extract", {}],
  );
  expect(shown(ended[1])["text"]).toBe("own data: yes");
  expect(ended[2]?.output).toContain("is not a public address");
  expect(shown(ended[3])).toMatchObject({ url: `${site.url}/attack` });
  expect(site.seen.some((each) => each.startsWith("GET /worker.js"))).toBe(true);
  expect(inner.seen).toEqual([]);
});

test("TB-20 TB-18: a frame of another site works under the same check", async () => {
  await browse(await api.create({ agent: "open" }), navigate("/framed"));
  expect(other.seen).toEqual(expect.arrayContaining(["GET /framed", "GET /own-picture"]));
  expect(inner.seen).toEqual([]);
});

test("TB-20: ★ scripts of a page find no means to speak to peers past the egress, in its frames neither", async () => {
  const session = await api.create({ agent: "open" });
  const [, ended] = await browse(session, navigate("/peers"), ["browser_extract", { selector: "p" }]);
  expect(shown(ended)["text"]).toBe("peers: undefined undefined");
});

test("TB-20: ★ a page between two calls has no network at all", async () => {
  const session = await api.create({ agent: "careful" });
  const content = play([[navigate("/attack")], [["browser_screenshot", {}]]]);
  await api.post(`/v1/sessions/${session}/messages`, { content });
  const first = await openAsk(session);
  await answer(session, first, "approve");
  const second = await openAsk(session, first);
  const asked = Date.now();
  const before = site.seen.length;
  await until("the page's timers fired many times", () => (Date.now() > asked + 1_500 ? true : null));
  expect(inner.seen).toEqual([]);
  expect(site.seen.slice(before)).toEqual([]);
  await answer(session, second, "deny");
});

test("★ TB-20: a page between two calls stands still: it speaks to no peer, by new frames neither", async () => {
  const session = await api.create({ agent: "careful" });
  const content = play([[navigate("/calling")], [["browser_extract", {}]]]);
  await api.post(`/v1/sessions/${session}/messages`, { content });
  const first = await openAsk(session);
  await answer(session, first, "approve");
  const second = await openAsk(session, first);
  const asked = Date.now();
  await until("the page's timers fired many times", () => (Date.now() > asked + 2_500 ? true : null));
  expect(stun.heard()).toBe(0);
  await answer(session, second, "approve");
  const events = await until("the run ends", async () => {
    const all = await api.events(session);
    return all.some(({ type }) => type === "run_end") ? all : null;
  });
  expect(shown(endsIn(events)[1])).toMatchObject({ title: "Calling" });
});

const answer = async (session: string, ask: string, decision: string): Promise<void> => {
  const { status, body } = await api.post(`/v1/sessions/${session}/asks/${ask}`, { decision });
  expect(status, JSON.stringify(body)).toBe(200);
};

/** The open ask of a session, other than one that was there before. */
const openAsk = (session: string, before = ""): Promise<string> =>
  until("an ask is open", async () => {
    const { body } = await api.get(`/v1/sessions/${session}/asks?status=open`);
    const asks = body["data"] as readonly { readonly id: string }[];
    return asks.find(({ id }) => id !== before)?.id ?? null;
  });

test("TB-20: ★ two sessions share no cookies, and one keeps its own between its calls", async () => {
  const [one, two] = await Promise.all([api.create({ agent: "open" }), api.create({ agent: "open" })]);
  await browse(one, navigate("/own"), navigate("/next"));
  await browse(two, navigate("/window"));
  const cookies = site.seen.filter((each) => !each.includes("favicon"));
  expect(cookies).toEqual(["GET /own", "GET /next visit=own", "GET /window"]);
});

test("TB-20: a screenshot is an image of what is in view, of one element, or of the whole page", async () => {
  const session = await api.create({ agent: "open" });
  const [, view, element, whole] = await browse(
    session,
    navigate("/"),
    ["browser_screenshot", {}],
    ["browser_screenshot", { selector: "#big" }],
    ["browser_screenshot", { full_page: true }],
  );
  const sizes = [view, element, whole].map((each) => imagesIn(each?.output));
  expect(sizes).toEqual([
    [{ media_type: "image/png", name: "screenshot" }],
    [{ media_type: "image/png", name: "screenshot" }],
    [{ media_type: "image/png", name: "screenshot" }],
  ]);
  const last = provider.requests.at(-1);
  const pictures = [...JSON.stringify(last?.body).matchAll(/"data":"([^"]+)"/g)].map(([, data = ""]) => data);
  const dimensions = pictures.map((data) => {
    const bytes = Buffer.from(data, "base64");
    return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  });
  expect(dimensions[0]).toEqual([1280, 800]);
  expect(dimensions[1]).toEqual([400, 3000]);
  expect(dimensions[2]?.[1]).toBeGreaterThan(3000);
});

/** The texts of the tool results that a request shows to the model. */
const resultsIn = (body: unknown): readonly string[] => {
  const { messages } = body as { readonly messages: readonly { readonly content: unknown }[] };
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Result[]) : []));
  return parts.flatMap(({ type, content }) => (type === "tool_result" ? [textIn(content)] : []));
};

interface Result {
  readonly type: string;
  readonly content: unknown;
}

const textIn = (content: unknown): string =>
  Array.isArray(content) ? String((content as Record<string, unknown>[])[0]?.["text"]) : String(content);

const imagesIn = (output: unknown): readonly object[] =>
  (Array.isArray(output) ? (output as readonly Record<string, unknown>[]) : [])
    .filter(({ type }) => type === "image")
    .map(({ media_type, name }) => ({ media_type, name }));

test("★ TB-20: what a page says of itself is cut, although it changed the functions that cut it there", async () => {
  const session = await api.create({ agent: "open" });
  const [page, click, found] = await browse(
    session,
    navigate("/huge"),
    ["browser_click", { selector: "button" }],
    ["browser_search", { query: "huge" }],
  );
  for (const each of [page, click]) {
    const { url, title } = shown(each);
    expect([url, String(title).length]).toEqual([`${site.url}/`, 1_000]);
  }
  const results = JSON.parse(String(found?.output)) as readonly { readonly title: string }[];
  expect([results.length, results[0]?.title.length]).toEqual([30, 300]);
  const { body } = await api.get(`/v1/sessions/${session}`);
  expect(body["status"]).toBe("idle");
});

test("TB-20: text is cut at 100 KB and marked, and a dialog holds up nothing", async () => {
  const session = await api.create({ agent: "open" });
  const [, dialog] = await browse(session, navigate("/long"), navigate("/dialog"));
  expect(shown(dialog)["title"]).toBe("Passed");
  const [page = ""] = resultsIn(provider.requests.at(-1)?.body);
  const { text, cut } = JSON.parse(page) as Record<string, unknown>;
  expect([Buffer.byteLength(String(text)), cut]).toEqual([100_000, true]);
});

test("TB-20: a page that was busy for ever, or lost with its browser, is opened again at its address, and the model is told", async () => {
  const session = await api.create({ agent: "open" });
  const ended = await browse(
    session,
    navigate("/busy"),
    ["browser_click", { selector: "#go" }],
    ["browser_extract", {}],
    ["browser_extract", {}],
  );
  expect(ended[1]).toMatchObject({
    outcome: "unknown",
    output: expect.stringMatching(/^unknown: .*before repeating it/),
  });
  expect(String(ended[2]?.output)).toMatch(/^\[The page was lost and has been opened again at .*\/busy;/);
  expect(shown(ended[2])["title"]).toBe("Busy");
  expect(String(ended[3]?.output)).toMatch(/^\{/);
});

test("TB-20: a search gives up to 30 results; a captcha is unavailable, and the open page stays", async () => {
  const session = await api.create({ agent: "careful" });
  const [found, captcha] = await browse(
    session,
    ["browser_search", { query: "limpets & tides" }],
    ["browser_search", { query: "captcha" }],
  );
  const results = JSON.parse(String(found?.output)) as readonly object[];
  expect(results).toHaveLength(30);
  expect(results[1]).toEqual({
    title: "Result 1 for limpets & tides",
    url: "https://r1.example/",
    snippet: "Snippet 1",
  });
  expect(captcha).toMatchObject({
    outcome: "error",
    output: expect.stringMatching(/^unavailable: .*captcha/),
  });
});

test("TB-20: a browser is closed when its session has no run any more", async () => {
  await until("all browsers of the tests before are closed", () =>
    cache.running().length === 0 ? true : null,
  );
  const session = await api.create({ agent: "careful" });
  const content = play([[["browser_search", { query: "limpets" }]], [navigate("/")]]);
  await api.post(`/v1/sessions/${session}/messages`, { content });
  const ask = await openAsk(session);
  expect(cache.running()).toHaveLength(1);
  await answer(session, ask, "deny");
  await until("its browser is closed", () => (cache.running().length === 0 ? true : null));
});

test("★ TB-20 RE-P14: a session that is deleted in mid-run leaves no browser open", async () => {
  const session = await api.create({ agent: "careful" });
  const content = play([[["browser_search", { query: "limpets" }]], [navigate("/")]]);
  await api.post(`/v1/sessions/${session}/messages`, { content });
  await openAsk(session);
  expect(cache.running()).toHaveLength(1);
  await api.delete(`/v1/sessions/${session}`);
  await until("its browser is closed", () => (cache.running().length === 0 ? true : null));
});

test("TB-20 TB-7: going to a host that asks is undone, going to an address that is denied as well", async () => {
  const session = await api.create({ agent: "careful" });
  const content = play([
    [navigate("/")],
    [["browser_click", { selector: "#away" }]],
    [["browser_extract", {}]],
    [["browser_navigate", { url: `${site.url}/to?${other.url}/there` }]],
  ]);
  await api.post(`/v1/sessions/${session}/messages`, { content });
  let ask = "";
  for (let asked = 0; asked < 4; asked += 1) {
    ask = await openAsk(session, ask);
    await answer(session, ask, "approve");
  }
  const events = await until("the run ends", async () => {
    const all = await api.events(session);
    return all.some(({ type }) => type === "run_end") ? all : null;
  });
  const outputs = endsIn(events).map(({ output }) => output);
  expect(outputs[1]).toContain(`not_permitted: the page leads to ${other.url}/there`);
  expect(outputs[2]).toContain("Welcome");
  expect(outputs[3]).toContain(`not_permitted: the page leads to ${other.url}/there`);
  expect(other.seen).toEqual([]);
  const [denied] = await browse(await api.create({ agent: "open" }), navigate("/to?/forbidden"));
  expect(denied?.output).toContain("not_permitted");
  expect(site.seen.filter((each) => each.startsWith("GET /forbidden"))).toEqual([]);
});
