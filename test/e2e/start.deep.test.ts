import { networkInterfaces, tmpdir } from "node:os";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import { freePort, startGroup } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { launchChromium } from "../support/chromium.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";
import { sendRaw } from "../support/raw-http.ts";

/** `npm start`, reached from everywhere: who works here needs no key, and nobody else goes without one (AP-14). */

let project: ProjectCopy;
let group: Group;
let port: number;
const storage = mkdtempSync(join(tmpdir(), "limpet-start-"));

beforeAll(async () => {
  project = copyProject({ packages: true });
  port = await freePort();
  const args = ["start", "--", "--ip", "0.0.0.0", "--port", String(port), `--persist-to=${storage}`];
  group = startGroup("npm", args, { cwd: project.folder });
  await group.until("the server answers", async () => {
    const answer = await fetch(`http://localhost:${port}/healthz`).catch(() => null);
    return answer?.ok === true ? true : null;
  });
});
afterAll(async () => {
  await group?.kill();
  project?.remove();
  rmSync(storage, { recursive: true, force: true });
});

/** An address of this machine that others reach it at; on a machine without a network there is none. */
const [outside] = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .filter(({ family, internal }) => family === "IPv4" && !internal)
  .map(({ address }) => address);

const asked = async (host: string, ...headers: readonly string[]): Promise<number> =>
  (await sendRaw({ host, port }, ["GET /v1/keys HTTP/1.1", ...headers])).status;

test("AP-14: from this machine no key is needed, by any loopback name, over HTTP and a socket", async () => {
  for (const host of ["localhost", "127.0.0.1"]) {
    const url = `http://${host}:${port}`;
    const api = createApi(url);
    expect((await api.get("/v1/keys")).status, host).toBe(200);
    expect((await fetch(`${url}/console`)).status).toBe(200);
    const session = await api.create({ input: "hello" });
    const socket = watchSession(url, session);
    await socket.event("run_end");
    socket.close();
  }
  const [, said = ""] = group.output().split(/^(?=Building default)/m);
  expect(said).toBe(
    [
      "Building default …",
      "Starting the server …",
      `Limpet is at  http://localhost:${port}`,
      `console       http://localhost:${port}/console`,
      ...(outside === undefined
        ? []
        : [`network       http://${outside}:${port}, only with a key: npx limpet keys create --help`]),
      "team          default: config/default/team.yaml, whose changes are served at once",
      "sandbox       connected",
      "stop          Ctrl-C",
      "",
    ].join("\n"),
  );
});

test("AP-14 AP-54: a browser on this machine has the console without a key", async () => {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`http://localhost:${port}`);
    expect(page.url()).toBe(`http://localhost:${port}/console`);
    await page.locator("#composer").fill("slow");
    await page.locator("#composer").press("Enter");
    await page.locator(".log", { hasText: "The tide comes in" }).waitFor();
  } finally {
    await browser.close();
  }
});

test.runIf(outside !== undefined)(
  "AP-14: from another address a key is needed, whatever it says",
  async () => {
    const other = outside ?? "";
    const claims: readonly (readonly string[])[] = [
      [],
      ["CF-Connecting-IP: 127.0.0.1"],
      ["cf-connecting-ip: ::1"],
      ["MF-Original-URL: http://localhost/v1/keys"],
      ['MF-CF-Blob: {"clientIp":"127.0.0.1:1"}'],
      ["X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http", "Forwarded: for=127.0.0.1"],
      ["Limpet-Front: true", "CF-Connecting-IP: 127.0.0.1"],
    ];
    for (const claim of claims) {
      expect(await asked(other, "Host: localhost", ...claim), claim.join()).toBe(401);
      expect(await asked(other, `Host: localhost:${port}`, ...claim), claim.join()).toBe(401);
    }
    for (const path of ["/cdn-cgi/explorer/", "/./cdn-cgi/local/explorer/api/local/workers", "/cdn-cgi"]) {
      const head = [`GET ${path} HTTP/1.1`, `Host: localhost:${port}`];
      const { status, body } = await sendRaw({ host: other, port }, head);
      expect([status, body], "wrangler's own pages show what is stored").toEqual([
        403,
        expect.stringContaining("only from this machine"),
      ]);
      expect((await sendRaw({ host: "127.0.0.1", port }, head)).status, path).not.toBe(403);
    }
    const { body } = await createApi(`http://localhost:${port}`).post("/v1/keys", { scopes: ["admin"] });
    expect(await asked(other, "Host: localhost", `Authorization: Bearer ${String(body["key"])}`)).toBe(200);
  },
);

test("AP-14: a page whose name was pointed at this machine reads nothing, and neither does another site's", async () => {
  const evil = `Host: evil.example:${port}`;
  const url = `http://localhost:${port}/v1/keys`;
  expect(await asked("127.0.0.1", evil)).toBe(401);
  expect(await asked("127.0.0.1", evil, `MF-Original-URL: ${url}`)).toBe(401);
  expect(await asked("127.0.0.1", evil, "X-Forwarded-Proto: http", "X-Forwarded-Host: localhost")).toBe(401);
  const own = `Host: localhost:${port}`;
  expect(await asked("127.0.0.1", own, "Sec-Fetch-Site: cross-site")).toBe(401);
  expect(await asked("127.0.0.1", own, "Origin: http://evil.example")).toBe(403);
  expect(
    await asked("127.0.0.1", own, `Origin: http://localhost:${port}`, "Sec-Fetch-Site: same-origin"),
  ).toBe(200);
  const absolute = await sendRaw({ host: "127.0.0.1", port }, [`GET ${url} HTTP/1.1`, evil]);
  expect(absolute.status).toBe(400);
});

test("AP-70 CF-30: a team that is wrong at its first start is told so alone, and served once it is mended", async () => {
  const other = copyProject({ packages: true, console: true });
  const place = await freePort();
  const file = join(other.folder, "config/default/team.yaml");
  const good = readFileSync(file, "utf8");
  writeFileSync(file, good.replace("    instructions: |", "    instructions: Be kind: always"));
  const args = ["-s", "start", "--", "--port", String(place), `--persist-to=${storage}-second`];
  const env = { CLOUDFLARE_ENV: "assistant" };
  const started = startGroup("npm", args, { cwd: other.folder, env });
  try {
    await started.until("it waits for the fix", () => /Fix it:/.test(started.output()) || null);
    expect(started.output().replaceAll(/^npm warn .*\n/gm, "")).toBe(
      "Building default …\n" +
        'config/default/team.yaml:39:19 error yaml_syntax: quote the text: it contains a colon; write "Be kind: always"\n' +
        "Fix it: the server starts once config/default is valid.\n",
    );
    writeFileSync(file, good);
    await started.until("it serves", () => /^stop +Ctrl-C$/m.test(started.output()) || null);
    const { body } = await createApi(`http://localhost:${place}`).get("/v1/agents");
    expect(JSON.stringify(body), "the team that was printed").toContain('"guide"');
  } finally {
    await started.kill();
    other.remove();
    rmSync(`${storage}-second`, { recursive: true, force: true });
  }
});

test("AP-70: Ctrl-C while it starts ends it without a word, and what a start itself asks is not told", async () => {
  const other = copyProject({ packages: true, console: true });
  const place = await freePort();
  const args = ["-s", "start", "--", "--env", "assistant", "--port", String(place)];
  const start = (): Group =>
    startGroup("npm", [...args, `--persist-to=${join(other.folder, ".storage")}`], { cwd: other.folder });
  const said = (started: Group): string => started.output().replaceAll(/^npm warn .*\n/gm, "");
  const stopped = start();
  let served: Group | null = null;
  try {
    await stopped.until("wrangler starts", () => existsSync(join(other.folder, ".wrangler")) || null);
    process.kill(-(stopped.child.pid ?? 0), "SIGINT");
    await stopped.ended;
    expect(said(stopped)).toBe("Building assistant …\nStarting the server …\n");
    const again = start();
    served = again;
    await again.until("it serves", () => /^stop +Ctrl-C$/m.test(again.output()) || null);
    expect(said(again)).toMatch(
      /^Starting the server …\nLimpet is at .*\n(.*\n){3}secrets +missing: .*ANTHROPIC_API_KEY/,
    );
  } finally {
    await stopped.kill();
    await served?.kill();
    other.remove();
  }
});

test("AP-70: a second server on the same sessions is refused, with where the first one is", async () => {
  const args = ["-s", "start", "--", "--port", String(await freePort()), `--persist-to=${storage}`];
  const started = startGroup("npm", args, { cwd: project.folder });
  expect(await started.ended).toBe(1);
  expect(started.output()).toMatch(
    new RegExp(
      `^The server at http://localhost:${port} uses the sessions in ${storage}: stop it first, or keep others with npm start -- --port \\d+ --persist-to ${storage}-2$`,
      "m",
    ),
  );
});

test("AP-70: a port that is taken is told before anything starts, with a command for the same team that works", async () => {
  const args = ["-s", "start", "--", "--env", "assistant", "--port", String(port)];
  const started = startGroup("npm", args, { cwd: project.folder });
  expect(await started.ended).toBe(1);
  const [, free = "0"] =
    /^Port \d+ is taken; npm start -- --env assistant --port (\d+) serves at another\.$/m.exec(
      started.output(),
    ) ?? [];
  expect([0, port]).not.toContain(Number(free));
});

test("AP-70: the team default is served by its name, too", async () => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-start-"));
  const options = ["--env", "default", "--port", String(await freePort()), `--persist-to=${folder}`];
  const started = startGroup("npm", ["-s", "start", "--", ...options], { cwd: project.folder });
  try {
    const served = started.until("it serves", () => /^team +default: /m.test(started.output()) || null);
    expect(await Promise.race([served, started.ended])).toBe(true);
  } finally {
    await started.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});

test("AP-70: a team that does not exist is an error with the way out, even at a port that is taken", async () => {
  const args = ["-s", "start", "--", "--env", "nobody", "--port", String(port)];
  const started = startGroup("npm", args, { cwd: project.folder });
  expect(await started.ended).toBe(1);
  expect(started.output()).toMatch(
    /^There is no team nobody\. There are .*\bassistant\b.*; npx limpet new-team nobody creates it\.$/m,
  );
});
