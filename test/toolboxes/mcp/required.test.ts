import { expect, test } from "vitest";
import { eventsOf, lastEvent } from "../../engine/harness.ts";
import { coder, lead, mission, spawn, task } from "../../support/crew.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { said } from "../../support/scripts.ts";
import { serverOf } from "./support.ts";

/** A child that requires a server which its caller uses and knows as failed. */

const crew = async (fails: (rpc: string | null, calls: number) => boolean) => {
  let calls = 0;
  const server = await serverOf({
    tools: () => [textTool("look")],
    call: () => textResult("seen"),
    before: ({ rpc }, response) => {
      if (rpc === "tools/call") calls += 1;
      const isDown = fails(rpc, calls);
      if (isDown) response.writeHead(404).end();
      return isDown;
    },
  });
  const { bench } = await mission(
    [
      lead(
        [said(["sea__look", {}]), said(spawn([task("coder")])), said(["sea__look", {}]), said("Done.")],
        "toolboxes: [sea]\ndelegation: { may_call: ['*'] }",
      ),
      coder([said(["sea__look", {}]), said("Done.")], "toolboxes: [sea]"),
    ],
    {
      team: `egress: { allow_http: true }\nmcp_servers: [{ name: sea, url: "${server.url}", required: true }]`,
      env: { LIMPET_PRIVATE_EGRESS: server.host },
    },
  );
  return bench;
};

type Started = Awaited<ReturnType<typeof crew>>;

const looks = (bench: Started): unknown[] =>
  eventsOf(bench, "tool_call_end")
    .filter(({ tool }) => tool === "sea__look")
    .map(({ outcome }) => outcome);

test("TB-25: a child stops if a server that it requires is still down, though its caller uses it and goes on", async () => {
  const bench = await crew((_rpc, calls) => calls > 0);
  const [child] = bench.events().filter(({ type, thread }) => type === "run_end" && thread !== "main");
  expect(child?.data).toMatchObject({ state: "failed", reason: "mcp_error" });
  expect(looks(bench)).toEqual(["error", "error"]);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});

test("TB-25: if the required server answers a child again, both use it at once", async () => {
  let isUp = false;
  const bench = await crew((rpc, calls) => {
    const isDown = calls > 0 && !isUp;
    // The last that the caller's client tries is a request without a message.
    isUp ||= isDown && rpc === null;
    return isDown;
  });
  expect(looks(bench)).toEqual(["error", "ok", "ok"]);
  expect(eventsOf(bench, "mcp_status").map(({ state }) => state)).toEqual([
    "connected",
    "failed",
    "connected",
  ]);
});
