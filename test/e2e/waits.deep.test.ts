import { request } from "node:http";
import type { ClientRequest } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTeamFile } from "../support/built-team.ts";
import type { TeamFile } from "../support/built-team.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";
import { scripted } from "../support/scripts.ts";

/** What requests that wait for a run's end keep of the server, while they wait and once their client has gone. */

const key = "the-admin-key-of-those-who-wait";

const script = `
scenes:
  - name: slow
    reply: [{ text: { repeat: "Slowly it comes along. ", times: 50000 } }]`;

let team: TeamFile;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  team = await buildTeamFile(
    scripted(script).replace("toolboxes: [probe]", "toolboxes: []").replace("delay_ms: 0", "delay_ms: 50"),
  );
  server = await startRuntime({ team, vars: { LIMPET_ADMIN_KEY: key } });
  api = createApi(server.url, key);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
});

/** Sends a message of so many bytes at least that waits for five minutes, and leaves its answer open. */
const sendWaiting = (session: string, body: object, bytes = 0): ClientRequest => {
  const sent = request(`${server.url}/v1/sessions/${session}/messages`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Idempotency-Key": "one" },
  });
  // Its connection ends with the test.
  sent.on("error", () => undefined);
  sent.end(JSON.stringify({ ...body, wait: 300 }).padEnd(bytes));
  return sent;
};

/** Opens a socket to a session and closes it; returns the status of the answer. */
const upgrade = (session: string): Promise<number | undefined> =>
  new Promise((done, fail) => {
    const sent = request(`${server.url}/v1/sessions/${session}/ws`, {
      headers: {
        Authorization: `Bearer ${key}`,
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "bGltcGV0cyBob2xkIG9uIQ==",
      },
    });
    sent.once("upgrade", ({ statusCode }, socket) => {
      socket.destroy();
      done(statusCode);
    });
    sent.once("response", (answer) => {
      answer.resume();
      done(answer.statusCode);
    });
    sent.once("error", fail);
    sent.end();
  });

test("★ AP-18: a client that leaves while it waits gives its connection to the session back", async () => {
  const session = await api.create();
  const waiting = Array.from({ length: 32 }, () => sendWaiting(session, { content: "Go" }));
  await expect.poll(() => upgrade(session)).toBe(429);
  for (const sent of waiting) sent.socket?.resetAndDestroy();
  await expect.poll(() => upgrade(session)).toBe(101);
});

test("★ AP-8: messages that the sessions have hold no memory of the server while their senders wait", async () => {
  const sessions = await Promise.all(Array.from({ length: 5 }, () => api.create()));
  for (const session of sessions) await api.post(`/v1/sessions/${session}/messages`, { content: "Go" });
  const waiting = sessions.map((session) =>
    sendWaiting(session, { content: "On", on_busy: "queue" }, 8 * 1024 * 1024),
  );
  const statusesOf = async (session: string): Promise<readonly unknown[]> => {
    const { data } = (await api.get(`/v1/sessions/${session}/inputs`)).body;
    return (data as readonly { readonly status: unknown }[]).map(({ status }) => status);
  };
  for (const session of sessions)
    await expect.poll(() => statusesOf(session)).toEqual(["accepted", "applied"]);
  expect(await api.post("/v1/sessions", {})).toMatchObject({ status: 201 });
  for (const sent of waiting) sent.socket?.resetAndDestroy();
});
