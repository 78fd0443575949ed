import { dirname, join } from "node:path";
import { openInspector } from "../support/inspector.ts";
import { readModules, roomOf } from "./modules.ts";
import type { Modules } from "./modules.ts";
import { crowd, firstReply, loop, stream } from "./scenarios.ts";
import { freePort, startWorker } from "./server.ts";
import type { WorkerServer } from "./server.ts";
import type { Setup } from "./setup.ts";

/** Where the CPU of the workerd that runs the product goes: by room of the code, and by function. */

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}
interface Node {
  readonly id: number;
  readonly callFrame: Frame;
  readonly children?: readonly number[];
}
interface Profile {
  readonly nodes: readonly Node[];
  readonly samples: readonly number[];
}

interface Share {
  /** Samples in its own code. */
  own: number;
  /** Samples in native code that it called. */
  native: number;
}

const bundle = "worker.js";

const isIdle = ({ functionName }: Frame): boolean => functionName === "(idle)";

/** Frames without a file are native, those of another file the runtime's own: neither has lines of the bundle. */
const isBundled = ({ url }: Frame): boolean => url.endsWith(bundle);

const placeOf = (frame: Frame, modules: Modules): string => {
  const name = frame.functionName === "" ? "(anonymous)" : frame.functionName;
  return isBundled(frame) ? `${name} ${modules.atLine(frame.lineNumber)}` : `${name} (native)`;
};

/** Room of the nearest code of the bundle at or above a node; natives that nobody called go by their own name. */
const roomAbove = (path: readonly Frame[], modules: Modules): string => {
  const frame = path.find(isBundled);
  if (frame !== undefined) return roomOf(modules.atLine(frame.lineNumber));
  return `native ${path[0]?.functionName ?? ""}`;
};

const count = (shares: Map<string, Share>, key: string, isNative: boolean): void => {
  const share = shares.get(key) ?? { own: 0, native: 0 };
  share[isNative ? "native" : "own"] += 1;
  shares.set(key, share);
};

const lineOf = (name: string, { own, native }: Share, busy: number): string => {
  const percents = [own + native, own, native].map((samples) =>
    ((samples / busy) * 100).toFixed(1).padStart(6),
  );
  return `${percents.join(" ")}  ${name}`;
};

const top = (shares: ReadonlyMap<string, Share>, busy: number, most: number): string =>
  [...shares]
    .sort(([, a], [, b]) => b.own + b.native - a.own - a.native)
    .slice(0, most)
    .map(([name, share]) => lineOf(name, share, busy))
    .join("\n");

const reportOf = ({ nodes, samples }: Profile, modules: Modules): string => {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(
    nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const pathOf = (id: number): readonly Frame[] => {
    const path: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at)?.callFrame;
      if (frame !== undefined && frame.functionName !== "(root)") path.push(frame);
    }
    return path;
  };
  const rooms = new Map<string, Share>();
  const functions = new Map<string, Share>();
  let busy = 0;
  // The times between samples tell nothing: workerd takes none while the isolate waits.
  for (const id of samples) {
    const path = pathOf(id);
    const [leaf] = path;
    if (leaf === undefined || isIdle(leaf)) continue;
    busy += 1;
    const isNative = !isBundled(leaf);
    count(rooms, roomAbove(path, modules), isNative);
    count(functions, placeOf(leaf, modules), isNative);
  }
  const head = "   all    own native  %, of";
  return `${busy} samples; own: in its code, native: in what that code calls\n\n${head} room\n${top(rooms, busy, 60)}\n\n${head} function\n${top(functions, busy, 60)}`;
};

interface Work {
  readonly times: number;
  readonly run: (server: WorkerServer) => Promise<unknown>;
}

const works: Readonly<Record<string, Work>> = {
  loop: { times: 8, run: (server) => loop(server, 100, 0) },
  stream: { times: 30, run: (server) => stream(server, 2_000, 1) },
  stream50: { times: 10, run: (server) => stream(server, 2_000, 50) },
  first: { times: 100, run: firstReply },
  crowd: { times: 4, run: (server) => crowd(server, 50) },
};

/** Profiles one kind of work, warm, and prints its shares. */
export const profile = async (setup: Setup, kind: string): Promise<void> => {
  const work = works[kind];
  if (work === undefined) throw new Error(`there is no work ${kind}: ${Object.keys(works).join(", ")}`);
  const inspectorPort = await freePort();
  const options = await setup.optionsOf("limpet", "profile");
  const server = await startWorker({ ...options, inspectorPort });
  const modules = readModules(join(dirname(options.config), bundle));
  for (let count = 0; count < 5; count++) await work.run(server);
  const { ask } = await openInspector(inspectorPort);
  await ask("Profiler.enable");
  await ask("Profiler.setSamplingInterval", { interval: 200 });
  await ask("Profiler.start");
  for (let count = 0; count < work.times; count++) await work.run(server);
  const stopped = (await ask("Profiler.stop")) as unknown as { readonly profile: Profile };
  process.stdout.write(`${reportOf(stopped.profile, modules)}\n`);
  await server.kill();
};
