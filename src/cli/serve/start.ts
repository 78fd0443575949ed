import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { readDeclaredNames, readDevPort, readWranglerFile } from "../bindings.ts";
import { findAddresses } from "./addresses.ts";
import type { ServedAddresses } from "./addresses.ts";
import { claimFolder } from "./claim.ts";
import { awaitFirstBuild, findTeamProblem } from "./first-build.ts";
import { createFront } from "./front.ts";
import type { FrontOptions } from "./front.ts";
import { keepRunning } from "./keep-running.ts";
import type { RunningWrangler } from "./keep-running.ts";
import { watchStart } from "./slow-start.ts";
import { ownTrace, relayOutput, startOptions } from "./output.ts";
import type { OutputNews } from "./output.ts";
import { createTypeReport } from "./type-report.ts";
import { InvalidFileError } from "../usage.ts";

/** Implements `npm start`: wrangler serves a team on this machine, behind a front that names the client. */

const root = resolve(import.meta.dirname, "../../..");

const helpText = `npm start [-- options]    serve a team on this machine; a change of config/ is served at once

  --env <team>           the team, a folder of config/; without it default, which needs no key
  --port <number>        the port; without it the one of wrangler.toml, 8787
  --ip <address>         where to listen; without it localhost, which no other machine reaches; 0.0.0.0 is every address
  --persist-to <folder>  where sessions and workspaces are kept; without it .wrangler/state/<team>
  --help                 this text

Ctrl-C stops it. Other options go to wrangler as they are; npx wrangler dev --help lists them.`;

interface Option {
  /** Last value given, or null if there is none. */
  readonly value: string | null;
  /** Arguments without it. */
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

/**
 * Describes options before a `--`, which npm keeps for itself: their names are in the environment, and only their
 * values arrive here.
 */
const describeKeptOptions = (args: readonly string[]): string | null => {
  const kept = startOptions.flatMap((name) => {
    const value = process.env[`npm_config_${name.replaceAll("-", "_")}`];
    return value === undefined || takeOption(args, `--${name}`).value !== null ? [] : { name, value };
  });
  if (kept.length === 0) return null;
  const last = args.at(-1) ?? "";
  const words = kept.map(({ name, value }) => {
    const given = kept.length === 1 && !last.startsWith("-") ? last : "…";
    return `--${name} ${value === "true" ? given : value}`;
  });
  return `npm keeps options that come before a -- for itself: write npm start -- ${words.join(" ")}`;
};

const listen = async (server: Server, port: number, host: string): Promise<number> => {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

/** Finds a port at an address of this machine that nothing listens on. */
const freePort = async (address = "127.0.0.1"): Promise<number> => {
  const server = createServer();
  const port = await listen(server, 0, address);
  server.close();
  await once(server, "close");
  return port;
};

const isMissingAddress = (fault: unknown): boolean =>
  fault instanceof Error && "code" in fault && fault.code === "EADDRNOTAVAIL";

/** Listens on every local address of a host, because localhost may mean IPv4, IPv6 or both. */
const openFronts = async (host: string, port: number, options: FrontOptions): Promise<void> => {
  const missing: unknown[] = [];
  const addresses = await lookup(host, { all: true });
  for (const { address } of addresses) {
    try {
      await listen(createFront(options), port, address);
    } catch (fault) {
      if (!isMissingAddress(fault)) throw fault;
      missing.push(fault);
    }
  }
  if (missing.length === addresses.length) throw missing[0];
};

/**
 * Settings that keep workerd's memory small. Its allocator hardly returns memory, so the peak need of 1,000 sockets
 * stays with the process. Wrangler's trace collector runs in that process and adds about 60 KB to each socket; V8
 * lets the garbage of an isolate grow to many times its live data.
 */
const memory = {
  X_LOCAL_OBSERVABILITY: "false",
  MINIFLARE_WORKERD_V8_FLAGS: "--max-semi-space-size=1 --initial-old-space-size=4",
};

/** Variable for Node's cache of wrangler's compiled code: compiling it takes a second of each start. */
const compileCache = { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled") };

/** Reads the port from wrangler's message to its parent once it serves; returns null for any other message. */
const readReadyPort = (message: unknown): number | null => {
  const [, port] = /"event":"DEV_SERVER_READY".*"port":(\d+)/.exec(String(message)) ?? [];
  return port === undefined ? null : Number(port);
};

/**
 * Starts wrangler at a port that the system chooses: one that was looked for before could be taken until wrangler
 * listens. `onPort` takes it, and null when wrangler ends; `show` takes the lines worth reading.
 */
const startWrangler = (
  args: readonly string[],
  vars: readonly string[],
  onPort: (port: number | null) => void,
  show: (line: string) => void,
  news: OutputNews,
): RunningWrangler => {
  const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
  const own = ["--ip", "127.0.0.1", "--port", "0", ...vars.flatMap((each) => ["--var", each])];
  const child = spawn(process.execPath, [wrangler, "dev", ...args, ...own], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // Wrangler would take this for the environment where the command line names none.
    env: { ...memory, ...compileCache, ...process.env, CLOUDFLARE_ENV: undefined },
  });
  child.on("message", (message) => {
    const port = readReadyPort(message);
    if (port !== null) onPort(port);
  });
  child.once("exit", () => onPort(null));
  const kept = [child.stdout, child.stderr].flatMap((stream) =>
    stream === null ? [] : [relayOutput(stream, show, news)],
  );
  return { child, lastLines: () => kept.flat() };
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

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Asks wrangler's server as the front does for a request from this machine; returns null if it does not answer. */
const readReadiness = async ({ target, voucher }: FrontOptions): Promise<Readiness | null> => {
  const headers = { "CF-Connecting-IP": "127.0.0.1", "Limpet-Front": voucher, ...ownTrace };
  const port = target();
  if (port === null) return null;
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { headers });
    return await answer.json<Readiness>();
  } catch {
    return null;
  }
};

interface Readiness {
  readonly missing_secrets: readonly string[];
  readonly sandbox: string;
}

/** Waits until the Worker answers, which may be a while after wrangler is ready; returns null if it has ended. */
const waitUntilReady = async (options: FrontOptions, isRunning: () => boolean): Promise<Readiness | null> => {
  while (isRunning()) {
    const readiness = await readReadiness(options);
    if (readiness !== null) return readiness;
    await setTimeout(50);
  }
  return null;
};

/** Returns the secrets that the team's environment lists; null if it lists none, or while its file is being edited. */
const listedSecrets = (team: string): ReadonlySet<string> | null => {
  try {
    return readDeclaredNames(readWranglerFile(root), team).secrets;
  } catch (fault) {
    if (fault instanceof InvalidFileError) return null;
    throw fault;
  }
};

/**
 * Returns where secrets have to be written: wrangler gives a Worker no value whose name its environment does not
 * declare.
 */
const explainMissing = (team: string, missing: readonly string[]): string => {
  const variables = team === "default" ? ".dev.vars" : `.dev.vars.${team}`;
  const secrets = listedSecrets(team);
  const undeclared = missing.filter((name) => secrets?.has(name) === false);
  const first = undeclared.length === 0 ? "" : `add ${undeclared.join(", ")} to secrets in wrangler.toml, `;
  const them = missing.length === 1 ? "it" : "them";
  return `missing: ${missing.join(", ")}; ${first}write ${them} into ${variables} and start again`;
};

/** Creates a report of missing secrets, which is silent while they are the same as in the last report. */
const createSecretReport = (team: string): ((readiness: Readiness | null) => void) => {
  let told = "";
  return (readiness) => {
    if (readiness === null) return;
    const { missing_secrets: missing } = readiness;
    const words = missing.length === 0 ? "" : explainMissing(team, missing);
    if (words !== told && words !== "") print(`secrets       ${words}`);
    told = words;
  };
};

/** Reports that a new build is served, and what does not work yet: sessions of agents, or calls of tools. */
const describeRebuild = (team: string, readiness: Readiness | null): string => {
  const missing = readiness?.missing_secrets ?? [];
  if (missing.length === 0) return `${team} was rebuilt; new sessions begin with it`;
  return `${team} was rebuilt; whatever needs ${missing.join(", ")} is refused until it is set`;
};

/** Prints where the server is, and how to stop it. */
const printReady = (
  team: string,
  { url, network }: ServedAddresses,
  readiness: Readiness,
  reportSecrets: (readiness: Readiness) => void,
): void => {
  print(`Limpet is at  ${url}`);
  print(`console       ${url}/console`);
  if (network !== null) print(`network       ${network}, only with a key: npx limpet keys create --help`);
  print(`team          ${team}: config/${team}/team.yaml, whose changes are served at once`);
  print(`sandbox       ${readiness.sandbox}`);
  reportSecrets(readiness);
  print("stop          Ctrl-C");
};

/** Reads the port to serve at; returns null, with a sentence printed, if it is invalid. */
const readPort = (wanted: string): number | null => {
  const port = /^\d{1,5}$/.test(wanted) ? Number(wanted) : 0;
  if (port >= 1 && port <= 65_535) return port;
  print(
    `--port takes a whole number from 1 to 65535, not "${wanted}"; npm start -- --port 9000 serves at that port.`,
  );
  return null;
};

/** Returns whether a host is this machine; prints a sentence if it is not. */
const isOwnAddress = async (host: string): Promise<boolean> => {
  const addresses = await lookup(host, { all: true }).catch(() => []);
  for (const { address } of addresses) if (await freePort(address).then(Boolean, () => false)) return true;
  print(`--ip takes an address of this machine, not "${host}"; without it the server is at localhost.`);
  return false;
};

/** Returns what is wrong with arguments that would be ignored, or name nothing; null if nothing is. */
const findArgumentProblem = (args: readonly string[]): string | null => {
  const empty = ["--env", "-e", "--ip", "--persist-to"].find((name) => takeOption(args, name).value === "");
  if (empty !== undefined) return `${empty} needs a value; npm start -- --help lists the options.`;
  // A word behind an option without "=" may be its value.
  const word = args.find((each, at) => !each.startsWith("-") && !/^--?[\w-]+$/.test(args[at - 1] ?? ""));
  return word === undefined
    ? null
    : `npm start takes no "${word}"; npm start -- --env ${word} serves a team.`;
};

/** Returns the command that serves a team at a port that is free now. */
const commandFor = async (team: string): Promise<string> => {
  const environment = team === "default" ? "" : ` --env ${team}`;
  return `npm start --${environment} --port ${await freePort()}`;
};

/** Returns whether a team can be served at a host; prints a sentence about what is wrong. */
const isServable = async (team: string, host: string): Promise<boolean> => {
  const problem = findTeamProblem(root, team);
  if (problem === null) return isOwnAddress(host);
  print(problem);
  return false;
};

/** Claims the folder of sessions and returns whether it and the port are free; prints a sentence about what is not. */
const isFree = async (team: string, sessions: string, port: number, url: string): Promise<boolean> => {
  const user = await claimFolder(resolve(root, sessions), url);
  if (user !== null)
    print(
      `The server at ${user} uses the sessions in ${sessions}: stop it first, or keep others with ${await commandFor(team)} --persist-to ${sessions}-2`,
    );
  else if (await isListening(port))
    print(`Port ${port} is taken; ${await commandFor(team)} serves at another.`);
  else return true;
  return false;
};

/** Takes the team out of the options, and gives wrangler its environment: the team default has none. */
const takeTeam = (given: readonly string[]): { readonly team: string; readonly rest: readonly string[] } => {
  const { value: long, rest: others } = takeOption(given, "--env");
  const { value: short, rest } = takeOption(others, "-e");
  const team = long ?? short ?? "default";
  return { team, rest: team === "default" ? rest : [...rest, "--env", team] };
};

/** Serves the team until wrangler is stopped. */
const serve = async (given: readonly string[]): Promise<void> => {
  const { value: ip, rest: others } = takeOption(given, "--ip");
  const host = ip ?? "localhost";
  const { value: wanted, rest: more } = takeOption(others, "--port");
  const { value: folder, rest: most } = takeOption(more, "--persist-to");
  const { team, rest } = takeTeam(most);
  const sessions = folder ?? `.wrangler/state/${team}`;
  const args = [...rest, "--persist-to", sessions];
  const port = readPort(wanted ?? readDevPort(readWranglerFile(root)) ?? "8787");
  if (port === null || !(await isServable(team, host))) process.exit(1);
  const addresses = findAddresses(host, port);
  if (!(await isFree(team, sessions, port, addresses.url))) process.exit(1);
  await awaitFirstBuild(root, team, print);
  print("Starting the server …");
  const reportTypes = createTypeReport(root, team, print);
  const reportSecrets = createSecretReport(team);
  let target: number | null = null;
  let running: RunningWrangler | null = null;
  const options = { target: () => target, voucher: randomBytes(24).toString("hex") };
  const vars = ["LIMPET_DEV:1", `LIMPET_FRONT:${options.voucher}`, `LIMPET_ORIGIN:${addresses.url}`];
  const tellReload = async (rebuilt: string | null): Promise<void> => {
    const readiness = await readReadiness(options);
    if (rebuilt !== null) print(describeRebuild(rebuilt, readiness));
    reportSecrets(readiness);
    if (rebuilt !== null) void reportTypes();
  };
  const news = { onReload: (rebuilt: string | null) => void tellReload(rebuilt) };
  const markReady = keepRunning({
    root,
    settings: args.filter((_, at) => args[at - 1] === "-c"),
    start: (show) => (running = startWrangler(args, vars, (found) => (target = found), show, news)),
    awaitAnswer: async (isRunning) => (await waitUntilReady(options, isRunning)) !== null,
    print,
  });
  const stopWatching = watchStart(() => running, print);
  const readiness = await waitUntilReady(options, () => true);
  stopWatching();
  if (readiness === null) return;
  try {
    await openFronts(host, port, options);
    markReady();
    printReady(team, addresses, readiness, reportSecrets);
    void reportTypes();
  } catch (fault) {
    print(`${String(fault)}\n${await commandFor(team)} serves at another port.`);
    process.kill(process.pid, "SIGTERM");
  }
};

/** Serves a team, or prints which of wrangler's files is invalid. */
const serveGuarded = async (given: readonly string[]): Promise<void> => {
  try {
    await serve(given);
  } catch (fault) {
    if (!(fault instanceof InvalidFileError)) throw fault;
    print(fault.message);
    process.exit(1);
  }
};

const given = process.argv.slice(2);
const problem = describeKeptOptions(given) ?? findArgumentProblem(given);
if (given.includes("--help") || given.includes("-h")) print(helpText);
else if (problem === null) await serveGuarded(given);
else {
  print(problem);
  process.exit(1);
}
