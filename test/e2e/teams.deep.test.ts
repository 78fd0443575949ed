import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import { startDevServer, until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";

/** Two teams of one checkout under `wrangler dev` at once, built by wrangler itself. */

const keys = { default: "the-admin-key-of-the-default-team", assistant: "the-admin-key-of-the-assistant" };

let project: ProjectCopy;
let tour: DevServer;
let assistant: DevServer;

beforeAll(async () => {
  project = copyProject({ packages: true, console: true });
  const configs = ["wrangler.toml", "src/sandbox/worker/wrangler.toml"];
  const { folder } = project;
  tour = await startDevServer({ configs, folder, vars: { LIMPET_ADMIN_KEY: keys.default } });
  assistant = await startDevServer({
    configs,
    folder,
    environment: "assistant",
    vars: { LIMPET_ADMIN_KEY: keys.assistant, ANTHROPIC_API_KEY: "sk-not-used" },
  });
});
afterAll(async () => {
  await Promise.all([tour?.close(), assistant?.close()]);
  project?.remove();
});

const agentsOf = async (server: DevServer, key: string): Promise<unknown> => {
  const { body } = await createApi(server.url, key).get("/v1/agents");
  return (body["data"] as { name: string; description: string }[] | undefined)?.map(({ name }) => name);
};

test("CF-3 AP-71: two teams served at once answer with their own agents", async () => {
  expect(await agentsOf(tour, keys.default)).toEqual(["builder", "guide", "scout"]);
  expect(await agentsOf(assistant, keys.assistant)).toEqual(["assistant"]);
});

test("AP-71: a key of one team is nothing at the other, and neither are its sessions", async () => {
  const session = await createApi(tour.url, keys.default).create();
  const own = createApi(assistant.url, keys.assistant);
  expect((await own.get(`/v1/sessions/${session}`)).status).toBe(404);
  const foreign = createApi(assistant.url, keys.default);
  expect((await foreign.get(`/v1/sessions/${session}`)).status).toBe(401);
});

test("AP-14: without LIMPET_DEV a request from this machine needs a key like any other", async () => {
  expect((await createApi(tour.url).get("/v1/agents")).status).toBe(401);
});

test("CF-3: a file broken in dev leaves the last good build serving; mended, the new one serves", async () => {
  const file = join(project.folder, "config/default/team.yaml");
  const good = readFileSync(file, "utf8");
  writeFileSync(file, good.replace("toolboxes:", "toolboxs:"));
  await until("the mistake is reported", () => /unknown_key .*toolboxs/.test(tour.output()) || null);
  expect(await agentsOf(tour, keys.default)).toEqual(["builder", "guide", "scout"]);
  writeFileSync(file, good.replace("name: guide", "name: keeper"));
  await until("the new build serves", async () => {
    const agents = await agentsOf(tour, keys.default).catch(() => null);
    return JSON.stringify(agents) === '["builder","keeper","scout"]' ? true : null;
  });
});
