import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { root, until } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { startRuntime } from "../support/runtime.ts";
import type { Swallower } from "../support/swallower.ts";
import { startSwallower } from "../support/swallower.ts";

/** When the processes of commands that speak with a server end. */

const adminKey = "an-admin-key-for-the-tests-of-the-processes";

let team: BuiltTeam;
let server: DevServer;
let api: Api;

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_ADMIN_KEY: adminKey } });
  api = createApi(server.url, adminKey);
});

afterAll(async () => {
  await server?.close();
  team?.remove();
});

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const openWire = async (): Promise<Swallower> => {
  const wire = await startSwallower(Number(new URL(server.url).port));
  ends.push(wire.close);
  return wire;
};

/** Starts a command as a process of its own. */
const start = (url: string, ...words: readonly string[]) => {
  const env = { ...process.env, LIMPET_URL: url, LIMPET_KEY: adminKey };
  const child = spawn(process.execPath, ["src/cli/main.ts", ...words], { cwd: root, env });
  ends.push(() => child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  const exited = once(child, "exit");
  return {
    child,
    said: () => said,
    says: (text: string) => until(`${text} in ${said}`, () => said.includes(text) || null),
    /** Its exit code and signal; null if it is still there after a while. */
    ended: () =>
      Promise.race([exited, new Promise<null>((resolve) => void setTimeout(resolve, 20_000, null).unref())]),
  };
};

test("AP-53: Ctrl-C leaves chat though the network is gone, also while a message is on its way", async () => {
  for (const line of ["", "And then?\n"]) {
    const { url, swallow, swallowed } = await openWire();
    const { child, says, ended } = start(url, "chat", "--json");
    child.stdin.write("hello\n");
    await says('"type":"run_end"');
    swallow();
    child.stdin.write(line);
    await until("it is on its way", () => swallowed().includes(line.trim()) || null);
    child.kill("SIGINT");
    expect(await ended(), line).toEqual([0, null]);
  }
});

test("AP-53: Ctrl-C leaves tail though the network is gone", async () => {
  const { url, swallow } = await openWire();
  const { child, says, ended } = start(url, "tail", await api.create(), "--all", "--after", "0");
  await says("session_created");
  swallow();
  child.kill("SIGINT");
  expect(await ended()).toEqual([0, null]);
});

test("AP-53: a command whose reader has seen enough ends, without a word", async () => {
  const session = await api.create({ input: "hello" });
  const tailed = start(server.url, "tail", session, "--all", "--after", "0");
  await tailed.says("session_created");
  const talking = start(server.url, "chat", session, "--json");
  talking.child.stdin.write("hello\n");
  await talking.says("run_end");
  for (const { child } of [tailed, talking]) child.stdout.destroy();
  const said = [tailed.said(), talking.said()];
  await api.post(`/v1/sessions/${session}/messages`, { content: "hello", on_busy: "queue" });
  for (const { ended } of [tailed, talking]) expect(await ended()).toEqual([0, null]);
  expect([tailed.said(), talking.said()]).toEqual(said);
});

test("AP-53: tail tells once that the connection is lost, and once that it is back", async () => {
  const { said, says } = start(server.url, "tail", await api.create(), "--all", "--after", "0");
  await says("session_created");
  const before = said().length;
  await server.kill();
  await says("(trying again: ");
  await server.start();
  await says("(connected again)\n");
  expect(said().slice(before)).toMatch(/^\(trying again: [^\n]+\)\n\(connected again\)\n$/);
});
