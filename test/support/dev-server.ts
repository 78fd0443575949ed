import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** `wrangler dev` as a user runs it, on storage that outlives it: to be killed at any moment and started again. */

export const root = resolve(import.meta.dirname, "../..");
const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");

/** What the servers of one test file share and no other sees: wrangler's list of the Workers that run on this machine. */
const registry = mkdtempSync(join(tmpdir(), "limpet-registry-"));

/** Keeps wrangler off the network and quiet; its trace collector would run in the runtime, and its explorer beside it. */
const quiet = {
  X_LOCAL_OBSERVABILITY: "false",
  X_LOCAL_EXPLORER: "false",
  WRANGLER_SEND_METRICS: "false",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  NO_UPDATE_NOTIFIER: "1",
  NO_COLOR: "1",
  CI: "1",
  WRANGLER_REGISTRY_PATH: registry,
};

const running = new Set<number>();
const killGroup = (pid: number): void => {
  running.delete(pid);
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is gone already.
  }
};
const killAll = (): void => {
  for (const pid of running) killGroup(pid);
};
process.on("exit", () => {
  killAll();
  rmSync(registry, { recursive: true, force: true });
});
process.once("disconnect", killAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

/** A process in a group of its own, so that one signal ends all that it started. */
export interface Group {
  readonly child: ChildProcess;
  /** All it has printed. */
  readonly output: () => string;
  /** Exit code; null after a signal. */
  readonly ended: Promise<number | null>;
  /** Waits as `until` does; fails at once when the leader has ended, and tells what was printed. */
  readonly until: typeof until;
  /** SIGKILL to the group; resolves when its leader is gone. */
  readonly kill: () => Promise<void>;
}

export interface GroupOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: (all: string) => void;
}

export const startGroup = (command: string, args: readonly string[], options: GroupOptions = {}): Group => {
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...quiet, ...options.env },
  });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  let said = "";
  let hasEnded = false;
  const take = (chunk: Buffer): void => {
    said += chunk.toString("utf8");
    options.onOutput?.(said);
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const ended = new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("exit", (code) => {
      if (pid !== undefined) running.delete(pid);
      hasEnded = true;
      done(code);
    });
  });
  const untilHere: typeof until = async (what, ask, within) => {
    const askWhileItRuns = (): ReturnType<typeof ask> => {
      if (hasEnded) throw new Error(`it ended before this happened: ${what}`);
      return ask();
    };
    try {
      return await until(what, askWhileItRuns, within);
    } catch (fault) {
      throw new Error(`${command} ${args.join(" ")}: ${String(fault)}\n${said}`, { cause: fault });
    }
  };
  const kill = async (): Promise<void> => {
    if (pid !== undefined) killGroup(pid);
    await ended;
  };
  return { child, output: () => said, ended, until: untilHere, kill };
};

/** The 15 MB of wrangler's code are compiled once, and not at each of its starts. */
export const compiled = { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled") };

/** Runs a command to its end; what it printed, or an error with it. */
export const runCommand = async (
  command: string,
  args: readonly string[],
  options: GroupOptions = {},
): Promise<string> => {
  const group = startGroup(command, args, options);
  const code = await group.ended;
  if (code === 0) return group.output();
  throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${group.output()}`);
};

export const runWrangler = (args: readonly string[], options: GroupOptions = {}): Promise<string> =>
  runCommand(process.execPath, [wrangler, ...args], { ...options, env: compiled });

const isFree = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const server = createServer();
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });

/** A port that nothing listens on, below those that systems give away themselves: it is free while a server restarts. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    if (await isFree(port)) return port;
  }
};

const isListening = (port: number): Promise<boolean> =>
  new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean): void => {
      socket.destroy();
      done(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });

/** The first pause between two questions, and the longest, in milliseconds. */
const shortestPause = 25;
const longestPause = 200;

/** Asks again, after longer and longer pauses, until the answer is not null; fails with `what` after `within` milliseconds. */
export const until = async <T>(
  what: string,
  ask: () => Promise<T | null> | T | null,
  within = 120_000,
): Promise<T> => {
  const end = Date.now() + within;
  for (let pause = shortestPause; Date.now() < end; pause = Math.min(longestPause, 1.5 * pause)) {
    const answer = await ask();
    if (answer !== null) return answer;
    await new Promise((done) => void setTimeout(done, pause));
  }
  throw new Error(`within ${within} ms this did not happen: ${what}`);
};

/** What the system says of the workerd processes in a group. */
const runtimeProcesses = async (group: number): Promise<readonly { pid: number; memory: number }[]> => {
  const listed = await runCommand("ps", ["-A", "-o", "pgid=,pid=,rss=,comm="]);
  return [...listed.matchAll(/^ *(\d+) +(\d+) +(\d+) +workerd$/gm)]
    .filter(([, owner]) => Number(owner) === group)
    .map(([, , pid, kilobytes]) => ({ pid: Number(pid), memory: Number(kilobytes) * 1024 }));
};

const runtimeMemory = async (group: number): Promise<number> =>
  Math.max(...(await runtimeProcesses(group)).map(({ memory }) => memory));

/** The system counts a process's time in hundredths of a second. */
const runtimeCpu = async (group: number): Promise<number> => {
  const times = (await runtimeProcesses(group)).map(({ pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return 10 * (Number(fields[11]) + Number(fields[12]));
  });
  return Math.max(...times);
};

export interface DevServer {
  readonly port: number;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** Milliseconds since the epoch at which it last said that it is ready. */
  readonly readyAt: () => number;
  readonly output: () => string;
  /** Bytes that the largest of its runtime's processes holds in memory. */
  readonly memory: () => Promise<number>;
  /** Milliseconds that the busiest of its runtime's processes has computed. */
  readonly cpu: () => Promise<number>;
  /** SIGKILL of everything it is made of. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port and storage; no request is sent to it. */
  readonly start: () => Promise<void>;
  /** Ends it and removes its storage. */
  readonly close: () => Promise<void>;
}

/** A server's processes in one group, on a port and storage that stay the same whenever it is started again. */
interface ServerSpec {
  readonly port: number;
  readonly storage: string;
  readonly launch: (onOutput: (all: string) => void) => Group;
}

/** Starts a server and waits until it says that it is ready. */
export const superviseServer = async ({ port, storage, launch }: ServerSpec): Promise<DevServer> => {
  let group: Group | null = null;
  let readyAt = 0;
  const start = async (): Promise<void> => {
    const ready = Promise.withResolvers<number>();
    const started = launch((all) => /Ready on /.test(all) && ready.resolve(Date.now()));
    group = started;
    const early = started.ended.then((code): never => {
      throw new Error(`the server ended with ${code}:\n${started.output()}`);
    });
    early.catch(() => undefined);
    readyAt = await Promise.race([ready.promise, early]);
  };
  const kill = async (): Promise<void> => {
    await group?.kill();
    await until("the port is free again", async () => ((await isListening(port)) ? null : true));
  };
  await start();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    readyAt: () => readyAt,
    output: () => group?.output() ?? "",
    memory: () => runtimeMemory(group?.child.pid ?? 0),
    cpu: () => runtimeCpu(group?.child.pid ?? 0),
    kill,
    start,
    close: async () => {
      await kill();
      rmSync(storage, { recursive: true, force: true });
    },
  };
};

/** A folder for all that a server stores. */
export const newStorage = (): string => mkdtempSync(join(tmpdir(), "limpet-storage-"));

export interface DevServerOptions {
  /** Configuration files, the entry Worker's first. */
  readonly configs: readonly string[];
  readonly vars?: Readonly<Record<string, string>>;
  /** The team's environment in the entry Worker's configuration. */
  readonly environment?: string;
  /** Folder of the project; absent: this one. */
  readonly folder?: string;
  /** Variables of its own process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts `wrangler dev` on a free port and fresh storage. */
export const startDevServer = async (options: DevServerOptions): Promise<DevServer> => {
  const { configs, vars = {}, environment, folder = root, env = {} } = options;
  const [port, storage] = [await freePort(), newStorage()];
  const args = [
    wrangler,
    "dev",
    ...configs.flatMap((config) => ["-c", config]),
    "--ip=127.0.0.1",
    `--port=${port}`,
    "--inspector-port=0",
    `--persist-to=${storage}`,
    "--show-interactive-dev-session=false",
    ...(environment === undefined ? [] : [`--env=${environment}`]),
    ...Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
  ];
  const launch: ServerSpec["launch"] = (onOutput) =>
    startGroup(process.execPath, args, { cwd: folder, env: { ...compiled, ...env }, onOutput });
  return superviseServer({ port, storage, launch });
};
