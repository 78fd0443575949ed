import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { runCommand } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startMcpServer, textResult, textTool } from "../support/mcp-server.ts";
import type { TestMcpServer } from "../support/mcp-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";
import { recipeOf } from "../support/readme.ts";
import { startRuntime } from "../support/runtime.ts";
import { replies, said, scripted } from "../support/scripts.ts";

/** The recipe of an MCP server with a pinned list in workerd, with a real server on loopback. */

const canary = "canary-library-token-0123";

let tools = [textTool("search"), textTool("other")];
let library: TestMcpServer;
let old: TestMcpServer;
let project: ProjectCopy;
let team: BuiltTeam;
let server: DevServer;
let api: Api;
let locked = "";

const recipe = recipeOf("An MCP server, pinned");

const teamYaml = (): string =>
  scripted(
    replies(
      ...Array.from({ length: 4 }, () => [
        said(["library__search", { text: "tides" }]),
        said("Done."),
      ]).flat(),
    ),
    "",
    recipe.yaml
      .replace("https://mcp.example.com/mcp", library.url)
      .concat(`  - { name: old, url: "${old.url}", protocol: "2025", required: true }\n`),
  ).replace("toolboxes: [probe]", "toolboxes: [library, old]");

beforeAll(async () => {
  library = await startMcpServer({
    tools: () => tools,
    call: (name, { text }) => textResult(`${name}: ${String(text)}`),
  });
  old = await startMcpServer({
    tools: () => [textTool("remember")],
    call: () => textResult("remembered"),
    session: "old-session",
    before: ({ http }, response) => {
      if (http === "DELETE") response.writeHead(204).end();
      return http === "DELETE";
    },
  });
  project = copyProject({ packages: true, console: true });
  const folder = join(project.folder, "config/default");
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "team.yaml"), teamYaml());
  const env = { LIBRARY_TOKEN: canary, LIMPET_PRIVATE_EGRESS: `${library.host},${old.host}` };
  const command = recipe.commands.replace("the-token", canary).replace(" acme ", " default ");
  await runCommand("bash", ["-euc", command], { cwd: project.folder, env });
  locked = readFileSync(join(folder, "mcp.lock.json"), "utf8");
  library.seen.length = 0;
  team = await buildTestTeam("default", project.folder);
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1", ...env } });
  api = createApi(server.url);
});
afterAll(async () => {
  await server?.close();
  team?.remove();
  project?.remove();
  await library?.close();
  await old?.close();
});

const endsOf = async (session: string, type: string) =>
  (await api.events(session)).filter((event) => event.type === type);

const ask = async (session: string): Promise<string> => {
  const before = (await endsOf(session, "run_end")).length;
  const { status } = await api.post(`/v1/sessions/${session}/messages`, { content: "Search" });
  expect(status).toBe(202);
  await expect.poll(async () => (await endsOf(session, "run_end")).length).toBe(before + 1);
  const output = (await endsOf(session, "tool_call_end")).at(-1)?.data as { readonly output: unknown };
  return String(output.output);
};

test("TB-21 TB-23 TB-25: the recipe: locked by the build, called in workerd, and after a kill without a handshake", async () => {
  expect(JSON.parse(locked)).toEqual({
    version: 1,
    servers: {
      library: { library__search: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
      old: { old__remember: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    },
  });
  const session = await api.create();
  expect(await ask(session)).toBe("search: tides");
  expect(library.methods()).toEqual(["server/discover", "tools/list", "tools/call"]);
  await server.kill();
  await server.start();
  expect(await ask(session)).toBe("search: tides");
  expect(library.methods().slice(3)).toEqual(["tools/call"]);
  expect(library.seen.map(({ http }) => http)).not.toContain("GET");
  expect(new Set(library.seen.map(({ headers }) => headers.authorization))).toEqual(
    new Set([`Bearer ${canary}`]),
  );
  expect(JSON.stringify(await api.events(session))).not.toContain(canary);
});

test("TB-23: a tool that changed is quarantined, shown by GET /v1/mcp, approved by POST and used again", async () => {
  tools = [textTool("search", { description: "Another search." })];
  const session = await api.create();
  expect(await ask(session)).toMatch(/^quarantined: /);
  const { body } = await api.get("/v1/mcp");
  const [shown] = body["data"] as readonly { readonly changes: readonly { readonly found: string }[] }[];
  expect(shown).toMatchObject({
    name: "library",
    state: "quarantined",
    changes: [{ tool: "library__search" }],
  });
  const found = shown?.changes[0]?.found ?? "";
  // Who has to approve a tool sees what it says of itself now.
  expect((await api.post("/v1/mcp/library/connect", {})).body).toMatchObject({
    state: "quarantined",
    changes: [
      { tool: "library__search", found, description: "Another search.", parameters: { type: "object" } },
    ],
  });
  const path = "/v1/mcp/library/approve";
  expect((await api.post(path, { tools: { library__search: "0".repeat(64) } })).status).toBe(409);
  expect((await api.post(path, { tools: { library__search: found } })).body).toEqual({
    approved: [{ tool: "library__search", hash: found }],
  });
  expect(await ask(session)).toBe("search: tides");
  expect((await api.post("/v1/mcp/library/connect", {})).body).toMatchObject({
    state: "connected",
    tools: ["library__search"],
  });
  expect((await api.post("/v1/mcp/unknown/connect", {})).status).toBe(404);
});

test("TB-25: a deleted session ends what a server kept for it", async () => {
  const session = await api.create();
  await ask(session);
  const before = old.seen.filter(({ http }) => http === "DELETE").length;
  expect((await api.delete(`/v1/sessions/${session}`)).status).toBe(204);
  const deletes = () => old.seen.filter(({ http }) => http === "DELETE").slice(before);
  await expect.poll(() => deletes().length).toBe(1);
  expect(deletes()[0]?.headers["mcp-session-id"]).toBe("old-session");
});

test("TB-25: who only looks at what a server offers leaves no session there", async () => {
  const before = old.seen.length;
  expect((await api.post("/v1/mcp/old/connect", {})).body).toMatchObject({ state: "connected" });
  const [ended] = old.seen.slice(before).filter(({ http }) => http === "DELETE");
  expect(ended?.headers["mcp-session-id"]).toBe("old-session");
});

test("TB-25: a server that is gone: the call says so in workerd, the run ends well, and GET /v1/mcp names the reason", async () => {
  await library.close();
  const session = await api.create();
  expect(await ask(session)).toMatch(/^unknown_tool: /);
  const { body } = await api.get("/v1/mcp");
  expect(body["data"]).toMatchObject([
    { name: "library", state: "failed" },
    { name: "old", state: "connected" },
  ]);
});

test("TB-25 AP-50: without a server that it requires a run ends, and its event says why as a problem", async () => {
  await old.close();
  const session = await api.create();
  const { body } = await api.post(`/v1/sessions/${session}/messages`, { content: "Go", wait: 30 });
  expect(body).toMatchObject({ state: "failed", reason: "mcp_error" });
  const watch = watchSession(server.url, session);
  const { data } = await watch.event("run_end");
  watch.close();
  expect(data).toMatchObject({ error: { code: "mcp_error", status: 502 } });
});
