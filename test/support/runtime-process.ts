import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import type { V4WorkerOptions } from "miniflare";

/** The process that `runtime.ts` starts: it serves Workers until it is killed. */

interface Spec {
  readonly workers: V4WorkerOptions[];
  readonly port: number;
  readonly storage: string;
}

const { workers, port, storage } = JSON.parse(process.argv[2] ?? "") as Spec;
const shared = { host: "127.0.0.1", port, cf: false, logRequests: false, resourcePersistencePath: storage };
const runtime = new Miniflare(convertV4MiniflareOptions({ ...shared, workers }));
console.log(`Ready on ${(await runtime.ready).origin}`);
