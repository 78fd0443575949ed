import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api, Watcher } from "../support/api-client.ts";
import { freePort, runCommand, startGroup, until } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { openInspector } from "../support/inspector.ts";
import type { Inspector } from "../support/inspector.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";

/** What sockets and sessions hold in memory, under `npm start`: in workerd's processes, and of it in our own code's heap. */

const MB = 1_024;

let project: ProjectCopy;
let group: Group;
let url: string;
let api: Api;
let inspector: Inspector;
const storage = mkdtempSync(join(tmpdir(), "limpet-memory-"));

beforeAll(async () => {
  project = copyProject({ packages: true });
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const configs = ["-c", "wrangler.toml", "-c", "src/sandbox/worker/wrangler.toml"];
  const options = [`--port=${port}`, `--inspector-port=${inspectorPort}`, `--persist-to=${storage}`];
  const args = ["src/cli/start.ts", ...configs, ...options, "--show-interactive-dev-session=false"];
  group = startGroup(process.execPath, args, { cwd: project.folder });
  url = `http://localhost:${port}`;
  api = createApi(url);
  const early = group.ended.then(() => Promise.reject(new Error(group.output())));
  const ready = until("the server answers", async () => {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    return answer?.ok === true ? true : null;
  });
  await Promise.race([ready, early]);
  inspector = await openInspector(inspectorPort);
});
afterAll(async () => {
  inspector?.close();
  await group?.kill();
  project?.remove();
  rmSync(storage, { recursive: true, force: true });
});

/** Resident memory of the largest workerd that the server is made of, in KB. */
const residentKb = async (): Promise<number> => {
  const rows = (await runCommand("ps", ["-Ao", "pgid=,rss=,args="])).split("\n").map((row) => row.trim());
  const own = rows.filter((row) => row.startsWith(`${group.child.pid} `) && /\bworkerd serve\b/.test(row));
  return Math.max(...own.map((row) => Number(row.split(/\s+/)[1])));
};

/**
 * What is reachable in the isolate of the session's code, in KB. The inspector keeps a thousand log lines: they are
 * discarded. The isolate does what the inspector asks for only while it has requests.
 */
const reachableKb = async (): Promise<number> => {
  const measure = async (): Promise<number> => {
    await inspector.ask("Runtime.discardConsoleEntries");
    await inspector.ask("HeapProfiler.collectGarbage");
    const { usedSize } = await inspector.ask("Runtime.getHeapUsage");
    return Number(usedSize) / 1_024;
  };
  const measured = measure();
  const request = async (): Promise<null> => {
    await api.get("/healthz");
    return null;
  };
  return until("the heap is measured", () => Promise.race([measured, request()]));
};

/** So many at a time. */
const inBatches = async <T>(
  count: number,
  size: number,
  make: (index: number) => Promise<T>,
): Promise<T[]> => {
  const all: T[] = [];
  while (all.length < count) {
    const batch = Array.from({ length: Math.min(size, count - all.length) }, (_, at) =>
      make(all.length + at),
    );
    all.push(...(await Promise.all(batch)));
  }
  return all;
};

const createSessions = (count: number): Promise<string[]> => inBatches(count, 5, () => api.create());

const openSockets = (sessions: readonly string[], each: number): Promise<Watcher[]> =>
  inBatches(sessions.length * each, 10, async (index) => {
    const watcher = watchSession(url, sessions[index % sessions.length] ?? "");
    await watcher.frame("live");
    return watcher;
  });

const closeAll = (watchers: readonly Watcher[]): Promise<unknown> =>
  Promise.all(
    watchers.map((watcher) => {
      watcher.close();
      return watcher.closed;
    }),
  );

/** Objects that nobody asks for 10 s are gone with all they hold: these are awake. */
const reachableAwakeKb = async (sessions: readonly string[]): Promise<number> => {
  await Promise.all(sessions.map((session) => api.get(`/v1/sessions/${session}`)));
  return reachableKb();
};

test("AP-22: an open socket keeps less than 4 KB in the isolate, a closed one nothing", async () => {
  const sessions = await createSessions(8);
  const visit = async (): Promise<number> => {
    const watchers = await openSockets(sessions, 30);
    const open = await reachableAwakeKb(sessions);
    await closeAll(watchers);
    return open;
  };
  await visit();
  await visit();
  const rest = await reachableAwakeKb(sessions);
  expect(((await visit()) - rest) / 240).toBeLessThan(4);
  for (let times = 1; times < 5; times += 1) await visit();
  const left = ((await reachableAwakeKb(sessions)) - rest) / (5 * 240);
  expect(left).toBeLessThan(0.5);
});

test("AP-22: a session that has nothing to do keeps less than 20 KB in the isolate", async () => {
  await createSessions(20);
  const rest = await reachableKb();
  const sessions = await createSessions(100);
  const each = ((await reachableAwakeKb(sessions)) - rest) / sessions.length;
  expect(each).toBeLessThan(20);
});

test("AP-22: 1,000 sockets on 40 sessions leave no process of npm start with more than 400 MB", async () => {
  const watchers = await openSockets(await createSessions(40), 25);
  const open = await residentKb();
  await closeAll(watchers);
  expect(Math.max(open, await residentKb()) / MB).toBeLessThan(400);
});
