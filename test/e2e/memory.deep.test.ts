import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi, watchSession } from "../support/api-client.ts";
import type { Api, Watcher } from "../support/api-client.ts";
import { freePort, runCommand, startGroup } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";

/** What sockets and sessions hold in memory, under `npm start`. */

const MB = 1_024;

let project: ProjectCopy;
let group: Group;
let url: string;
let api: Api;
const storage = mkdtempSync(join(tmpdir(), "limpet-memory-"));

beforeAll(async () => {
  project = copyProject({ packages: true, console: true });
  const port = await freePort();
  const configs = ["-c", "wrangler.toml", "-c", "src/sandbox/worker/wrangler.toml"];
  const options = [`--port=${port}`, "--inspector-port=0", `--persist-to=${storage}`];
  const args = ["src/cli/serve/start.ts", ...configs, ...options, "--show-interactive-dev-session=false"];
  group = startGroup(process.execPath, args, { cwd: project.folder });
  url = `http://localhost:${port}`;
  api = createApi(url);
  await group.until("the server answers", async () => {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    return answer?.ok === true ? true : null;
  });
});
afterAll(async () => {
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

test("AP-22: 1,000 sockets on 40 sessions leave no process of npm start with more than 400 MB", async () => {
  const watchers = await openSockets(await createSessions(40), 25);
  const open = await residentKb();
  await closeAll(watchers);
  expect(Math.max(open, await residentKb()) / MB).toBeLessThan(400);
});
