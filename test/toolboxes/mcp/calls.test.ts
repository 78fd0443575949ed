import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import type { Bench } from "../../support/bench.ts";
import { textResult, textTool } from "../../support/mcp-server.ts";
import { serverOf, servedBench } from "./support.ts";

/** Calls of tools of MCP servers, from YAML through a session to a real server on loopback. */

const outputs = (bench: Bench): readonly string[] =>
  eventsOf(bench, "tool_call_end").map(({ output }) => output as string);

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("TB-21 TB-22: three pages of tools are declared as server__tool and called", async () => {
  const server = await serverOf({
    tools: () => ["one", "two.b", "three"].map((name) => textTool(name)),
    call: (name, args) => textResult(`${name} of ${String(args["text"])}`),
    pageSize: 1,
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[["sea__two_b", { text: "tides" }]], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  expect(bench.requests[0]?.tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["sea__one", "sea__two_b", "sea__three"]),
  );
  expect(outputs(bench)).toEqual(["two.b of tides"]);
  expect(lastEvent(bench, "mcp_status")).toEqual({
    server: "sea",
    state: "connected",
    tools: ["sea__one", "sea__two_b", "sea__three"],
  });
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});

test("TB-22: two servers with a tool of one name: both are declared and each is called", async () => {
  const offering = (text: string) =>
    serverOf({ tools: () => [textTool("search")], call: () => textResult(text) });
  const [sea, land] = [await offering("salt"), await offering("sand")];
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${sea.url}" }`, `{ name: land, url: "${land.url}" }`],
    toolboxes: "[sea, land]",
    turns: [
      [
        ["sea__search", {}],
        ["land__search", {}],
      ],
      ["Done."],
    ],
    hosts: [sea.host, land.host],
  });
  await say(bench);
  expect(new Set(outputs(bench))).toEqual(new Set(["salt", "sand"]));
});

test("TB-26: what a tool gives back: texts, an image, a sound, links, structured content, an error", async () => {
  const server = await serverOf({
    tools: () => ["mixed", "sight", "structured", "broken"].map((name) => textTool(name)),
    call: (name) => {
      if (name === "broken") return { ...textResult("no tide today"), isError: true };
      if (name === "structured") return { content: [], structuredContent: { high: 12 } };
      if (name === "sight") return { content: [{ type: "image", data: pixel, mimeType: "image/png" }] };
      return {
        content: [
          { type: "text", text: "first" },
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
          { type: "resource_link", name: "table", uri: "https://sea.example/table" },
          { type: "resource", resource: { uri: "file:///a.txt", text: "inside" } },
        ],
      };
    },
  });
  const names = ["sea__mixed", "sea__sight", "sea__structured", "sea__broken"];
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [names.map((name) => [name, {}]), ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  const ends = new Map(eventsOf(bench, "tool_call_end").map((end) => [end["tool"], end]));
  expect(ends.get("sea__mixed")?.["output"]).toBe(
    "first\n[audio: audio/wav, 3 bytes]\ntable: https://sea.example/table\ninside",
  );
  expect(ends.get("sea__structured")?.["output"]).toBe('{"high":12}');
  expect(ends.get("sea__broken")).toMatchObject({ outcome: "error", output: "failed: no tide today" });
  expect(JSON.stringify(ends.get("sea__sight")?.["output"])).toContain("image/png");
});

/** The header of a GIF of this size, a character for each byte. */
const gif = (width: number, height: number): string =>
  `GIF89a${String.fromCharCode(width & 255, width >> 8, height & 255, height >> 8, 0, 0, 0)}`;

const base64 = (latin1: string): string => Buffer.from(latin1, "latin1").toString("base64");

test("TB-26: an image is shown by what its bytes say, at most 20 of a result; others are told of and never sent", async () => {
  const image = (data: string, mimeType = "image/png") => ({ type: "image" as const, data, mimeType });
  const server = await serverOf({
    tools: () => ["odd", "many"].map((name) => textTool(name)),
    call: (name) =>
      name === "many"
        ? { content: Array.from({ length: 25 }, () => image(pixel)) }
        : { content: [image(base64("no image")), image(base64(gif(9_000, 5))), image(base64(gif(5, 5)))] },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [
      [
        ["sea__odd", {}],
        ["sea__many", {}],
      ],
      ["Done."],
    ],
    hosts: [server.host],
  });
  await say(bench);
  const ends = new Map(eventsOf(bench, "tool_call_end").map((end) => [end["tool"], end["output"]]));
  expect(ends.get("sea__odd")).toEqual([
    {
      type: "text",
      text: "[image: image/png, 9 bytes] Its header cannot be read, so it cannot be shown.\n[image: image/png, 15 bytes] It is more than 8000 pixels wide or high, so it cannot be shown.",
    },
    expect.objectContaining({ type: "image", media_type: "image/gif" }),
  ]);
  const many = ends.get("sea__many") as readonly { readonly type: string; readonly text?: string }[];
  expect(many.filter(({ type }) => type === "image")).toHaveLength(20);
  expect(many.at(-1)?.text).toContain("Only the first 20 images of a result are shown.");
});

test("TB-22: arguments that do not fit the server's schema are refused before they leave, by path and rule", async () => {
  const server = await serverOf({
    tools: () => [
      textTool("add", {
        inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      }),
    ],
    call: () => textResult("3"),
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[["sea__add", { a: "one" }]], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  expect(String(outputs(bench)[0])).toMatch(/^invalid_arguments: .*a/);
  expect(server.methods()).not.toContain("tools/call");
});

test("TB-26: progress is shown live, and a cancel tells the server", async () => {
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  const server = await serverOf({
    tools: () => [textTool("slow")],
    call: async (_name, _args, { mcpReq }) => {
      const { _meta: meta } = mcpReq;
      const progressToken = meta?.progressToken ?? "";
      await mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: 1, total: 2, message: "half way" },
      });
      started.resolve();
      await new Promise<void>((resolve) => mcpReq.signal.addEventListener("abort", () => resolve()));
      ended.resolve("aborted");
      return textResult("late");
    },
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[["sea__slow", {}]], ["Done."]],
    hosts: [server.host],
  });
  bench.send("Go");
  await started.promise;
  await expect
    .poll(() => bench.deltas.some((delta) => JSON.stringify(delta).includes("half way")))
    .toBe(true);
  bench.ok("cancel");
  expect(await ended.promise).toBe("aborted");
  await bench.idle();
  expect(lastEvent(bench, "run_end")["state"]).toBe("cancelled");
});

test("TB-25 TB-26: a cancelled call is no failure of its server, which is asked nothing more and can be used at once", async () => {
  for (const keys of ["", ", trust: true"]) {
    const started = Promise.withResolvers<void>();
    let isSlow = true;
    const server = await serverOf({
      tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
      call: async (_name, _args, { mcpReq }) => {
        if (!isSlow) return textResult("seen");
        isSlow = false;
        started.resolve();
        await new Promise<void>((resolve) => mcpReq.signal.addEventListener("abort", () => resolve()));
        return textResult("late");
      },
    });
    const look = ["sea__look", {}] as const;
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}"${keys} }`],
      toolboxes: "[sea]",
      turns: [[look], [look], ["Done."]],
      hosts: [server.host],
    });
    bench.send("Go");
    await started.promise;
    bench.ok("cancel");
    await bench.idle();
    await say(bench, "Again");
    expect(outputs(bench)).toEqual(["cancelled: It was running; it may have taken effect.", "seen"]);
    expect(eventsOf(bench, "mcp_status").map(({ state }) => state)).toEqual(["connected"]);
    expect(server.methods()).toEqual(["server/discover", "tools/list", "tools/call", "tools/call"]);
  }
});

test("TB-24: a stream that breaks leaves the outcome unknown; a trusted read is asked again", async () => {
  for (const trust of [false, true]) {
    let calls = 0;
    const server = await serverOf({
      tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
      call: () => textResult("seen"),
      before: ({ rpc }, response) => {
        if (rpc !== "tools/call" || calls++ > 0) return false;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": begun\n\n", () => response.destroy());
        return true;
      },
    });
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}", trust: ${trust} }`],
      toolboxes: "[sea]",
      turns: [[["sea__look", {}]], ["Done."]],
      hosts: [server.host],
    });
    await say(bench);
    const end = lastEvent(bench, "tool_call_end");
    if (trust) expect(end).toMatchObject({ outcome: "ok", output: "seen" });
    else expect(end["outcome"]).toBe("unknown");
    expect(calls).toBe(trust ? 2 : 1);
  }
});

test("TB-6 TB-24: a call of an MCP tool asks first, unless the server is trusted and says that it only reads", async () => {
  const server = await serverOf({
    tools: () => [textTool("look", { annotations: { readOnlyHint: true } })],
    call: () => textResult("seen"),
  });
  for (const trust of [false, true]) {
    const bench = await servedBench({
      servers: [`{ name: sea, url: "${server.url}", trust: ${trust} }`],
      toolboxes: "[sea]",
      turns: [[["sea__look", {}]], ["Done."]],
      hosts: [server.host],
      preset: "sandboxed",
    });
    await say(bench);
    expect(eventsOf(bench, "ask_user")).toHaveLength(trust ? 0 : 1);
  }
});

test("TB-26 RE-T21: an answer over 1 MiB is an error that says so, and the run goes on", async () => {
  const server = await serverOf({
    tools: () => [textTool("flood")],
    call: () => textResult("x".repeat(1_100_000)),
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}" }`],
    toolboxes: "[sea]",
    turns: [[["sea__flood", {}]], ["Done."]],
    hosts: [server.host],
  });
  await say(bench);
  expect(outputs(bench)).toEqual([
    "too_large: the answer is longer than 1 MiB and was not read; the call was made, so call again only if it may be done twice, for less",
  ]);
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
});

test("TB-10: what a server answers is foreign content: unsafe calls after it ask", async () => {
  const server = await serverOf({
    tools: () => [textTool("look", { annotations: { readOnlyHint: true } }), textTool("write")],
    call: () => textResult("done"),
  });
  const bench = await servedBench({
    servers: [`{ name: sea, url: "${server.url}", trust: true }`],
    toolboxes: "[sea]",
    turns: [[["sea__look", {}]], [["sea__write", {}]], ["Done."]],
    hosts: [server.host],
    agent: "",
    preset: "open",
    after: "ask",
  });
  await say(bench);
  expect(eventsOf(bench, "ask_user")).toHaveLength(1);
});
