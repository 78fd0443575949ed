import { afterAll, beforeAll, expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { createApi } from "../support/api-client.ts";
import { buildTeamFile } from "../support/built-team.ts";
import type { TeamFile } from "../support/built-team.ts";
import { until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";
import { scripted } from "../support/scripts.ts";

/** A team whose sessions follow it, deployed twice, as its callers see it over HTTP. */

const key = "the-admin-key-of-the-following-team";

const script = `
scenes:
  - name: slow
    when: { input: { contains: Slow } }
    reply: [{ text: { repeat: "Slowly it comes along. ", times: 100 } }]
  - name: over
    reply: [{ text: Over. }]`;

const yamlOf = (instructions: string): string =>
  scripted(script, `instructions: ${instructions}`, "sessions: { revision: follow }")
    .replace("toolboxes: [probe]", "toolboxes: []")
    .replace("delay_ms: 0", "delay_ms: 20");

let team: TeamFile;
let server: DevServer;

beforeAll(async () => {
  team = await buildTeamFile(yamlOf("Play the first revision."));
  server = await startRuntime({ team, vars: { LIMPET_ADMIN_KEY: key } });
});
afterAll(async () => {
  await server?.close();
  team?.remove();
});

const revisionsOf = (events: readonly StoredEvent[]): readonly unknown[] =>
  events.flatMap(({ type, data }) => (type === "run_start" ? (data as { revision: string }).revision : []));

test("CF-35: sessions.revision: follow takes a session to a new deployment before its next run, a queued one too", async () => {
  const api = createApi(server.url, key);
  const post = (session: string, body: object) => api.post(`/v1/sessions/${session}/messages`, body);
  const resting = await api.create();
  expect(await post(resting, { content: "Go", wait: 60 })).toMatchObject({ status: 200 });
  const busy = await api.create();
  await post(busy, { content: "Slow" });
  await post(busy, { content: "On", on_busy: "queue" });
  const [from] = revisionsOf(await api.events(resting));
  await server.kill();
  await team.deploy(yamlOf("Play the second revision."));
  await server.start();
  expect(await post(resting, { content: "On", wait: 60 })).toMatchObject({ status: 200 });
  const moved = await api.events(resting);
  const [, to] = revisionsOf(moved);
  expect(to).not.toBe(from);
  expect(await api.get(`/v1/sessions/${resting}`)).toMatchObject({ body: { revision: to } });
  const moves = moved.flatMap(({ type, data }) => (type === "session_migrated" ? [data] : []));
  expect(moves).toEqual([{ from, to, changes: [] }]);
  const followed = await until("both runs have ended", async () => {
    const events = await api.events(busy);
    return events.filter(({ type }) => type === "run_end").length === 2 ? events : null;
  });
  expect(revisionsOf(followed)).toEqual([from, to]);
  const types = followed.map(({ type }) => type);
  expect(types.indexOf("session_migrated")).toBeGreaterThan(types.indexOf("run_end"));
  expect(types.indexOf("session_migrated")).toBeLessThan(types.lastIndexOf("run_start"));
});
