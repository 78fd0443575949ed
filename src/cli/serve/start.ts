import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { createFront } from "./front.ts";
import type { FrontOptions } from "./front.ts";

/** This file implements `npm start`: wrangler serves a team on this machine, behind a front that names the client. */

const root = resolve(import.meta.dirname, "../../..");

interface Option {
  /** Holds the last value given, or null if there is none. */
  readonly value: string | null;
  /** Holds the arguments without it. */
  readonly rest: readonly string[];
}

const takeOption = (args: readonly string[], name: string): Option => {
  let value: string | null = null;
  const rest: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const argument = args[at] ?? "";
    if (argument === name) value = args[(at += 1)] ?? "";
    else if (argument.startsWith(`${name}=`)) value = argument.slice(name.length + 1);
    else rest.push(argument);
  }
  return { value, rest };
};

/** Reads the port in the section `[dev]` of wrangler's configuration. */
const configuredPort = (): string => {
  const [, section = ""] = /^\[dev\]\n([^[]*)/m.exec(readFileSync(join(root, "wrangler.toml"), "utf8")) ?? [];
  return /^port\s*=\s*(\d+)/m.exec(section)?.[1] ?? "8787";
};

const listen = async (server: Server, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

/** Finds a port of this machine that nothing listens on. */
const freePort = async (): Promise<number> => {
  const server = createServer();
  const port = await listen(server, 0, "127.0.0.1");
  server.close();
  await once(server, "close");
  return port;
};

const isMissingAddress = (fault: unknown): boolean =>
  fault instanceof Error && "code" in fault && fault.code === "EADDRNOTAVAIL";

/** Listens on every local address of a host, because localhost may mean IPv4, IPv6 or both. */
const openFronts = async (host: string, wanted: number, options: FrontOptions): Promise<number> => {
  let port: number | null = null;
  let missing: unknown = null;
  for (const { address } of await lookup(host, { all: true })) {
    try {
      port = await listen(createFront(options), port ?? wanted, address);
    } catch (fault) {
      if (!isMissingAddress(fault)) throw fault;
      missing = fault;
    }
  }
  if (port === null) throw missing;
  return port;
};

/**
 * These settings keep workerd's memory small. Its allocator hardly returns memory, so what 1,000 sockets need at once
 * stays with the process. Wrangler's trace collector runs in that process and adds about 60 KB to each socket; V8 lets
 * the garbage of an isolate grow to many times its live data.
 */
const memory = {
  X_LOCAL_OBSERVABILITY: "false",
  MINIFLARE_WORKERD_V8_FLAGS: "--max-semi-space-size=1 --initial-old-space-size=4",
};

const relayLines = async (from: Readable, to: Writable, replace: (line: string) => string): Promise<void> => {
  for await (const line of createInterface({ input: from })) to.write(`${replace(line)}\n`);
};

/** Starts wrangler behind the front; `shown` is an address of the front for each line that names wrangler's own. */
const startWrangler = (
  args: readonly string[],
  { target, voucher }: FrontOptions,
  shown: (line: string) => string,
): ChildProcess => {
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const vars = ["--var", "LIMPET_DEV:1", "--var", `LIMPET_FRONT:${voucher}`];
  const own = ["--ip", "127.0.0.1", "--port", String(target), ...vars];
  const child = spawn(process.execPath, [wrangler, "dev", ...args, ...own], {
    cwd: root,
    stdio: ["inherit", "pipe", "pipe"],
    env: { ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}), ...memory, ...process.env },
  });
  void relayLines(child.stdout, process.stdout, shown);
  void relayLines(child.stderr, process.stderr, shown);
  child.once("exit", (code) => process.exit(code ?? 1));
  // A terminal sends its interrupt to wrangler as well, which ends in its own time.
  process.on("SIGINT", () => undefined);
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return child;
};

const isListening = async (port: number): Promise<boolean> => {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
};

const { value: host, rest: others } = takeOption(process.argv.slice(2), "--ip");
const { value: wanted, rest: args } = takeOption(others, "--port");
const options = { target: await freePort(), voucher: randomBytes(24).toString("hex") };
let port = Number(wanted ?? configuredPort());
const child = startWrangler(args, options, (line) =>
  line.replaceAll(`127.0.0.1:${options.target}`, `localhost:${port}`),
);
while (!(await isListening(options.target))) await setTimeout(50);
try {
  port = await openFronts(host ?? "localhost", port, options);
} catch (fault) {
  process.stderr.write(`${String(fault)}\nnpm start -- --port 9000 serves at another port.\n`);
  child.kill();
}
