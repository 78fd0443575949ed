import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTeamFile } from "../support/built-team.ts";
import type { TeamFile } from "../support/built-team.ts";
import { runCommand } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { playing, say } from "../support/plays.ts";
import { recipeOf } from "../support/readme.ts";
import { startRuntime } from "../support/runtime.ts";

/** The recipes of config/README.md in workerd: a model and web pages on loopback, as the operator opens them. */

const canary = "canary-docs-token-0123456789";

interface Visit {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

interface Site {
  readonly port: number;
  readonly visits: Visit[];
  readonly close: () => void;
}

const page =
  "<html><head><title>no</title></head><body><h1>Tides</h1><p>High at noon. <a href='/more'>More</a></p></body></html>";
const bomb = gzipSync(Buffer.alloc(200_000_000, "tide "), { level: 1 });

/** A site that answers by path; `/to/ADDRESS` redirects there. */
const startSite = async (host: string): Promise<Site> => {
  const visits: Visit[] = [];
  const server: Server = createServer(({ url: path = "", headers }, response) => {
    visits.push({ path, headers });
    if (path.startsWith("/to/"))
      response.writeHead(302, { location: decodeURIComponent(path.slice(4)) }).end();
    else if (path === "/bomb")
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end(bomb);
    else if (path === "/endless") {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = (): void => void (response.destroyed || response.write("tide ".repeat(10_000), more));
      more();
    } else response.writeHead(200, { "content-type": "text/html", "set-cookie": "a=b" }).end(page);
  });
  await new Promise<void>((resolve) => void server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port, visits, close };
};

let provider: FakeProvider;
let docs: Site;
let other: Site;
let team: TeamFile;
/** Where the recipes are typed. */
let folder: string;
let server: DevServer;
let api: Api;

const [model, web, files, client] = [
  recipeOf("A model on this machine"),
  recipeOf("A web page, with an approval"),
  recipeOf("A file in, its change out"),
  recipeOf("A tool of the client"),
];
const [clientProvider = "", clientAgent = ""] = client.yaml.split("\nagents:\n");

/** The team of the recipes, with addresses that exist here, and the key that the fake provider insists on. */
const recipeTeam = (): string =>
  `${model.yaml}${clientProvider.replace("providers:\n", "")}\n${web.yaml}`
    .replace("http://127.0.0.1:11434/v1", provider.url("compatible"))
    .replace("model: qwen3", "model: qwen3\n    api_key: ${MODEL_KEY}")
    .replace("toolboxes: [http]", `toolboxes: [http, filesystem]\n${clientAgent}`)
    .replace("[docs.example.com]", "[127.0.0.1]")
    .replace("https://docs.example.com", `http://127.0.0.1:${docs.port}`);

/** Runs the commands of a recipe against the server here; returns what they print. */
const runRecipe = (commands: string): Promise<string> =>
  runCommand(
    "bash",
    ["-euo", "pipefail", "-c", commands.replaceAll("localhost:8787", new URL(server.url).host)],
    { cwd: folder },
  );

const docsUrl = (path: string): string => `http://127.0.0.1:${docs.port}${path}`;
const otherUrl = (path: string): string => `http://localhost:${other.port}${path}`;

beforeAll(async () => {
  provider = await startFakeProvider(
    playing({
      fetch: ({ words: [url = ""] }) => [say({ call: "http_fetch", args: { url } }), say({ text: "Read." })],
      correct: ({ words: [path = ""] }) => [
        say({ call: "fs_edit", args: { path, old_text: "nine", new_text: "ten" } }),
        say({ text: "Corrected." }),
      ],
    }),
  );
  docs = await startSite("127.0.0.1");
  other = await startSite("localhost");
  folder = mkdtempSync(join(tmpdir(), "limpet-recipes-"));
  team = await buildTeamFile(recipeTeam());
  const [line = ""] = model.commands.match(/LIMPET_PRIVATE_EGRESS=\S+/) ?? [];
  expect(line).toBe("LIMPET_PRIVATE_EGRESS=127.0.0.1:11434");
  const open = [`127.0.0.1:${provider.port}`, `127.0.0.1:${docs.port}`, `localhost:${other.port}`];
  server = await startRuntime({
    team,
    vars: {
      LIMPET_DEV: "1",
      LIMPET_PRIVATE_EGRESS: open.join(","),
      DOCS_TOKEN: canary,
      MODEL_KEY: "sk-local",
    },
  });
  api = createApi(server.url);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
  rmSync(folder, { recursive: true, force: true });
  docs?.close();
  other?.close();
  await provider?.close();
});

const fetchIn = async (session: string, url: string): Promise<void> => {
  const { status } = await api.post(`/v1/sessions/${session}/messages`, { content: `play fetch ${url}` });
  expect(status).toBe(202);
};

const endsOf = async (session: string) =>
  (await api.events(session)).filter(({ type }) => type === "run_end");

/** What the model was given of its call, once the run has ended. */
const answerOf = async (session: string): Promise<string> => {
  await expect.poll(async () => (await endsOf(session)).length).toBe(1);
  const [end] = await endsOf(session);
  expect(end?.data, JSON.stringify(end?.data)).toMatchObject({ state: "completed" });
  const messages = provider.requests.at(-1)?.body["messages"] as readonly Record<string, unknown>[];
  return String(messages.findLast(({ role }) => role === "tool")?.["content"]);
};

const asksOf = async (session: string): Promise<readonly Record<string, unknown>[]> =>
  (await api.get(`/v1/sessions/${session}/asks`)).body["data"] as readonly Record<string, unknown>[];

/** The one open approval of a session, as soon as it is there. */
const openAsk = async (session: string): Promise<Record<string, unknown>> => {
  await expect.poll(async () => (await asksOf(session)).length).toBe(1);
  return (await asksOf(session))[0] ?? {};
};

const approve = async (session: string, { id }: Record<string, unknown>): Promise<void> => {
  const { status } = await api.post(`/v1/sessions/${session}/asks/${String(id)}`, { decision: "approve" });
  expect(status).toBe(200);
};

test("★ TB-18 TB-19: a model on loopback answers, and a page of an allowed host is read with the secret of its origin", async () => {
  const session = await api.create();
  await fetchIn(session, docsUrl("/page"));
  expect(JSON.parse(await answerOf(session))).toMatchObject({
    status: 200,
    url: docsUrl("/page"),
    body: "# Tides\n\nHigh at noon. More",
    links: [{ text: "More", url: docsUrl("/more") }],
  });
  const [visit] = docs.visits;
  expect(visit?.headers).toMatchObject({ authorization: `Bearer ${canary}`, "x-limpet-hop": "1" });
  expect(JSON.stringify(await api.events(session))).not.toContain(canary);
});

test("★ TB-19: a page and a redirect to another host wait for an approval each, over the death of the server", async () => {
  const session = await api.create();
  const before = other.visits.length;
  await fetchIn(session, docsUrl(`/to/${encodeURIComponent(otherUrl("/page"))}`));
  const ask = await openAsk(session);
  expect(ask).toMatchObject({
    kind: "approval",
    approval: { tool: "http_fetch", input: { url: otherUrl("/page") }, rule: "preset sandboxed" },
  });
  expect(other.visits.length).toBe(before);
  await server.kill();
  await server.start();
  await approve(session, await openAsk(session));
  expect(JSON.parse(await answerOf(session))).toMatchObject({ url: otherUrl("/page"), status: 200 });
  expect(other.visits.length).toBe(before + 1);
  expect(JSON.stringify(other.visits)).not.toContain(canary);
  const again = await api.create();
  await fetchIn(again, otherUrl("/page"));
  await approve(again, await openAsk(again));
  expect(JSON.parse(await answerOf(again))).toMatchObject({ status: 200 });
});

test("★ TB-19 TB-8: the recipe's commands have a page of another host read after an approval, and the next without one", async () => {
  const before = other.visits.length;
  const printed = await runRecipe(
    `${web.commands.replace(/"Read (https:\S+) [^"]*"/, `"play fetch ${otherUrl("/page")}"`)}\necho $READER`,
  );
  const [resolved = "", session = ""] = printed.trim().split("\n");
  expect(JSON.parse(resolved)).toEqual(["resolved", `http://localhost:${other.port}/**`]);
  expect(JSON.parse(await answerOf(session))).toMatchObject({ url: otherUrl("/page"), status: 200 });
  await fetchIn(session, otherUrl("/more"));
  await expect.poll(() => other.visits.slice(before).map(({ path }) => path)).toEqual(["/page", "/more"]);
});

test("AP-45: the recipe's commands upload a file, show what the agent changed in it, and bring it back", async () => {
  const printed = await runRecipe(
    files.commands.replace(/"Low water is an hour later[^"]*"/, '"play correct tides.md"'),
  );
  expect(printed).toContain('"media_type":"text/markdown"');
  expect(printed).toContain("-Low water is at nine.\n+Low water is at ten.");
  expect(readFileSync(join(folder, "tides.md"), "utf8")).toBe("Low water is at ten.\n");
});

test("TB-38: the recipe's commands bring a tool, answer its call and read the session's answer", async () => {
  const printed = await runRecipe(`${client.commands}\necho " $CLIENT"`);
  expect(printed).toContain('"status":"resolved"');
  const session = printed.trim().split(" ").at(-1) ?? "";
  await expect.poll(() => endsOf(session)).toMatchObject([{ data: { state: "completed" } }]);
  const { body } = await api.get(`/v1/sessions/${session}/messages`);
  expect(JSON.stringify(body["data"])).toContain("It is blue.");
});

test("★ TB-18: 200 MB behind gzip and a body without end are cut at 1 MiB", async () => {
  for (const path of ["/bomb", "/endless"]) {
    const session = await api.create();
    await fetchIn(session, docsUrl(path));
    expect(await answerOf(session)).toContain('"cut":true');
  }
});

test("TB-18: what nobody opened is refused by the runtime, too, however it is written, approved or not", async () => {
  const listed = ["127.0.0.1", "2130706433", "0x7f.1", "①②⑦.0.0.1"];
  const asked = ["[::ffff:127.0.0.1]", "localhost", "%6cocalhost"];
  for (const host of [...listed, ...asked]) {
    const session = await api.create();
    await fetchIn(session, `http://${host}:${server.port}/v1/sessions`);
    if (asked.includes(host)) await approve(session, await openAsk(session));
    expect(await answerOf(session), host).toMatch(/^\[tool error\] egress_denied: /);
  }
});
