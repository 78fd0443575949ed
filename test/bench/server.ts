import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";

/** Processes under measurement: each in its own group, so that one signal ends all of it. */

export const root = resolve(import.meta.dirname, "../..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

const started = new Set<ChildProcess>();

/** A group may be gone already. */
const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
};

/** Ends a process and everything it started, at once. */
const kill = (child: ChildProcess): Promise<void> =>
  new Promise((done) => {
    started.delete(child);
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return done();
    child.once("exit", () => done());
    killGroup(child.pid);
  });

const killAll = (): void => {
  for (const { pid } of started) if (pid !== undefined) killGroup(pid);
};
process.on("exit", killAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

/** No telemetry and no colours; wrangler's own trace collector would run inside the measured process, and charge by the span. */
const quiet = {
  X_LOCAL_OBSERVABILITY: "false",
  X_LOCAL_EXPLORER: "false",
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_LOG_SANITIZE: "true",
  NO_UPDATE_NOTIFIER: "1",
  CI: "1",
};

/** Starts a Node program in a group of its own and waits for a line of its output. */
export const start = async (
  args: readonly string[],
  ready: RegExp,
): Promise<{ child: ChildProcess; line: string; at: number }> => {
  const child = spawn(process.execPath, args, {
    cwd: root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...quiet },
  });
  started.add(child);
  const found = Promise.withResolvers<{ child: ChildProcess; line: string; at: number }>();
  let said = "";
  const take = (chunk: Buffer): void => {
    if (said.length < 20_000) said += chunk.toString("utf8");
    const line = ready.exec(said)?.[0];
    if (line !== undefined) found.resolve({ child, line, at: performance.timeOrigin + performance.now() });
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  child.once("exit", () => found.reject(new Error(`${args.join(" ")} ended:\n${said}`)));
  return found.promise;
};

/** A port of this machine that nothing listens on. */
export const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });

export interface WorkerOptions {
  readonly config: string;
  readonly port: number;
  /** Absent: any free one. */
  readonly inspectorPort?: number;
  /** Folder of its storage. */
  readonly persist: string;
  readonly vars: Readonly<Record<string, string>>;
}

export interface WorkerServer {
  readonly port: number;
  readonly options: WorkerOptions;
  /** Milliseconds since the epoch at which it said that it is ready. */
  readonly readyAt: number;
  /** CPU milliseconds that the Worker's own workerd has used. */
  cpu(): number;
  /** Resident bytes of the Worker's own workerd. */
  memory(): number;
  kill(): Promise<void>;
}

const groupOf = (pid: string): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
  } catch {
    return 0;
  }
};

const filesOf = (pid: string): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
};

/** Of a group's processes the one that holds the storage open: not wrangler, and not its proxy. */
const holderOf = (group: number, persist: string): number => {
  const found = readdirSync("/proc").find(
    (pid) =>
      /^\d+$/.test(pid) &&
      groupOf(pid) === group &&
      filesOf(pid).some((path) => path.startsWith(persist) && path.endsWith(".sqlite")),
  );
  if (found === undefined) throw new Error(`no process of group ${group} holds ${persist}`);
  return Number(found);
};

/** Threads of a process; fails if it has gone, since what was measured since then was another's work. */
const threadsOf = (pid: number): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    throw new Error(
      `workerd ${pid} ended while it was measured: it crashed, or wrangler reloaded its bundle`,
    );
  }
};

const cpuOf = (pid: number): number =>
  threadsOf(pid).reduce((sum, task) => {
    try {
      return sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1e6;
    } catch {
      return sum;
    }
  }, 0);

/** Resident bytes of a process. */
const memoryOf = (pid: number): number =>
  1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN);

/** Runs a Worker with `wrangler dev`. */
export const startWorker = async (options: WorkerOptions): Promise<WorkerServer> => {
  const { config, port, persist, vars, inspectorPort = 0 } = options;
  mkdirSync(persist, { recursive: true });
  const flags = [
    "--port",
    String(port),
    "--ip",
    "127.0.0.1",
    "--inspector-port",
    String(inspectorPort),
    "--persist-to",
    persist,
  ];
  const variables = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const { child, at } = await start(
    [
      wrangler,
      "dev",
      "-c",
      config,
      ...flags,
      "--show-interactive-dev-session=false",
      "--log-level",
      "log",
      ...variables,
    ],
    /Ready on .*/,
  );
  let holder = 0;
  const pid = (): number => (holder === 0 ? (holder = holderOf(child.pid ?? 0, persist)) : holder);
  return {
    port,
    options,
    readyAt: at,
    cpu: () => cpuOf(pid()),
    memory: () => memoryOf(pid()),
    kill: () => kill(child),
  };
};

/** Runs a wrangler command to its end and gives what it printed. */
export const runWrangler = (args: readonly string[]): Promise<string> =>
  new Promise((done, fail) => {
    const child = spawn(process.execPath, [wrangler, ...args], {
      cwd: root,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...quiet },
    });
    started.add(child);
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString("utf8")));
    child.once("exit", (code) => {
      started.delete(child);
      if (code === 0) done(said);
      else fail(new Error(said));
    });
  });
