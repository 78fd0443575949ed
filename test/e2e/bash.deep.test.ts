import { afterAll, beforeAll } from "vitest";
import { connectTo } from "../sandbox/bench.ts";
import { conformance } from "../sandbox/conformance.ts";
import { startDevServer } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";

/** The sandbox Worker as it is shipped, in the runtime that it is shipped for. */

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer({ configs: ["src/sandbox/worker/wrangler.toml"] });
});
afterAll(() => server?.close());

conformance("bash in workerd", () => connectTo(server.url));
