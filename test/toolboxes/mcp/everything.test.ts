import { createRequire } from "node:module";
import { expect, onTestFinished, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import { freePort, startGroup } from "../../support/dev-server.ts";
import type { Group } from "../../support/dev-server.ts";
import { servedBench } from "./support.ts";

/** The reference server of the MCP project, made with the older library, over both transports. */

const program = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);

const startEverything = async (transport: "streamableHttp" | "sse", port: number): Promise<Group> => {
  const ready = Promise.withResolvers<void>();
  const group = startGroup(process.execPath, [program, transport], {
    env: { PORT: String(port) },
    onOutput: (all) => {
      if (all.includes(String(port))) ready.resolve();
    },
  });
  onTestFinished(group.kill);
  await Promise.race([ready.promise, group.ended]);
  return group;
};

const everythingBench = (port: number, path: string, keys = ""): Promise<Bench> =>
  servedBench({
    servers: [`{ name: all, url: "http://127.0.0.1:${port}${path}"${keys} }`],
    toolboxes: "[all]",
    turns: [
      [
        ["all__echo", { message: "tides" }],
        ["all__get-sum", { a: 1, b: 2 }],
        ["all__trigger-long-running-operation", { duration: 0.2, steps: 2 }],
      ],
      ["Done."],
      [["all__echo", { message: "again" }]],
      ["Done."],
    ],
    hosts: [`127.0.0.1:${port}`],
  });

const outputs = (bench: Bench): readonly string[] =>
  eventsOf(bench, "tool_call_end").map(({ output }) => String(output));

test("TB-21 TB-22 TB-26: server-everything over streamable HTTP: tools, progress, and a session that outlives a crash", async () => {
  const port = await freePort();
  const server = await startEverything("streamableHttp", port);
  const bench = await everythingBench(port, "/mcp");
  await say(bench);
  expect(outputs(bench).toSorted()).toEqual([
    "Echo: tides",
    "Long running operation completed. Duration: 0.2 seconds, Steps: 2.",
    "The sum of 1 and 2 is 3.",
  ]);
  expect(bench.deltas.some((delta) => JSON.stringify(delta).includes("1/2"))).toBe(true);
  const declared = (bench.requests[0]?.tools ?? []).map(({ name }) => name);
  expect(declared).toContain("all__get-tiny-image");
  expect(declared).not.toContain("all__simulate-research-query");
  expect(lastEvent(bench, "mcp_status")["error"]).toContain(
    "simulate-research-query: it runs as a task only",
  );
  bench.crash();
  await server.kill();
  await startEverything("streamableHttp", port);
  await say(bench, "Again");
  expect(outputs(bench).at(-1)).toBe("Echo: again");
});

test.each([", transport: sse", ""])(
  "TB-21 TB-26: server-everything over SSE, found or named%s: tools and progress, no stream kept between calls",
  async (keys) => {
    const port = await freePort();
    await startEverything("sse", port);
    const bench = await everythingBench(port, "/sse", keys);
    await say(bench);
    expect(outputs(bench).toSorted()).toEqual([
      "Echo: tides",
      "Long running operation completed. Duration: 0.2 seconds, Steps: 2.",
      "The sum of 1 and 2 is 3.",
    ]);
    bench.crash();
    await say(bench, "Again");
    expect(outputs(bench).at(-1)).toBe("Echo: again");
  },
);
