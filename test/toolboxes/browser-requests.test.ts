import { expect, test } from "vitest";
import { createEgress } from "../../src/tools/egress/egress.ts";
import type { Egress } from "../../src/tools/egress/egress.ts";
import { createReach } from "../../src/tools/reach.ts";
import { createTimeLimits } from "../../src/sandbox/time-limit.ts";
import type { JsonObject } from "../../src/chat/json.ts";
import type { DevtoolsEvent } from "../../src/toolboxes/browser/devtools.ts";
import { followPage } from "../../src/toolboxes/browser/page-events.ts";
import { createRequests } from "../../src/toolboxes/browser/requests.ts";
import type { PageRequest } from "../../src/toolboxes/browser/requests.ts";

/** The requests of a page, made by the egress. */

const reachOf = (egress: Egress) =>
  createReach({ hosts: ["*"] }, new Map(), {
    egress,
    signal: new AbortController().signal,
    limit: createTimeLimits().start,
  });

const asking = (url: string): PageRequest => ({ url, method: "GET", headers: [], body: null });
const target = asking("https://a.example/");
const page = "https://a.example/page";

test("TB-20: pages get six answers at once, and five hundred in a call", async () => {
  let active = 0;
  let most = 0;
  const egress: Egress = async () => {
    active += 1;
    most = Math.max(most, active);
    await Promise.resolve();
    active -= 1;
    return new Response("x");
  };
  const request = createRequests(reachOf(egress), new AbortController().signal);
  const answers = await Promise.all(Array.from({ length: 510 }, () => request(target, page)));
  expect(most).toBe(6);
  expect(answers.filter(({ ok }) => ok)).toHaveLength(500);
  expect(answers.at(-1)).toMatchObject({ ok: false, denied: true });
});

test("TB-20: pages read at most 32 MiB in a call", async () => {
  const egress: Egress = async () => new Response(new Uint8Array(8 * 1_048_576));
  const request = createRequests(reachOf(egress), new AbortController().signal);
  for (let count = 0; count < 4; count += 1) expect(await request(target, page)).toMatchObject({ ok: true });
  expect(await request(target, page)).toMatchObject({ ok: false, denied: true });
});

test("TB-20: requests of a page end with its connection, and none begins afterwards", async () => {
  const connection = new AbortController();
  let sent = 0;
  const egress: Egress = (_, { signal }) => {
    sent += 1;
    const { promise, reject } = Promise.withResolvers<Response>();
    signal?.addEventListener("abort", () => reject(new Error("ended")));
    return promise;
  };
  const request = createRequests(reachOf(egress), connection.signal);
  const all = Array.from({ length: 8 }, () => request(target, page));
  connection.abort();
  expect(await Promise.all(all)).toEqual(
    Array.from({ length: 8 }, () => expect.objectContaining({ ok: false }) as object),
  );
  expect(sent).toBeLessThanOrEqual(6);
});

test("TB-18 TB-20: a public page reaches no private target that the operator opened; a private page does", async () => {
  let sent = 0;
  const egress = createEgress({
    allow: [],
    deny: [],
    ports: [443],
    allow_http: false,
    privateAllow: ["127.0.0.1:8080"],
    fetch: async () => {
      sent += 1;
      return new Response("x");
    },
  });
  const request = createRequests(reachOf(egress), new AbortController().signal);
  const inner = asking("http://127.0.0.1:8080/admin");
  expect(await request(inner, page)).toMatchObject({ ok: false, denied: true });
  expect(await request(inner, "about:blank")).toMatchObject({ ok: false, denied: true });
  expect(sent).toBe(0);
  expect(await request(inner, "http://127.0.0.1:8080/")).toMatchObject({ ok: true });
});

test("TB-7 TB-20: a rule that denies binds what a page loads, its frames and where it goes", async () => {
  const asked: string[] = [];
  const failed: unknown[] = [];
  let listener: (event: DevtoolsEvent) => void = () => undefined;
  const devtools = {
    send: async (method: string, params: JsonObject) => {
      if (method === "Fetch.failRequest") failed.push(params["errorReason"]);
      return {};
    },
    listen: (given: typeof listener) => void (listener = given),
    ended: new AbortController().signal,
  };
  const context = {
    now: () => 0,
    egress: async (url: string) => {
      asked.push(url);
      return new Response("x");
    },
  };
  const mayLoad = (url: string, isMain: boolean): boolean =>
    !url.includes("denied") && !(isMain && url.includes("asks"));
  const followed = { devtools, context, url: page, target: "T", mayLoad };
  const progress = followPage(followed as unknown as Parameters<typeof followPage>[0]);
  const load = (resourceType: string, frameId: string, url: string): void =>
    listener({
      method: "Fetch.requestPaused",
      session: "s",
      params: { requestId: "1", resourceType, frameId, request: { url, method: "POST", headers: {} } },
    });
  load("Fetch", "T", "https://denied.example/script");
  load("Document", "FRAME", "https://denied.example/frame");
  load("Document", "T", "https://denied.example/");
  load("Document", "T", "https://asks.example/");
  load("Fetch", "T", "https://asks.example/script");
  await expect.poll(() => asked).toEqual(["https://asks.example/script"]);
  expect(failed).toEqual(["BlockedByClient", "BlockedByClient", "Aborted", "Aborted"]);
  expect(progress.refused).toBe("https://asks.example/");
});
