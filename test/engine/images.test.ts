import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { ToolContext, ToolOutput } from "../../src/tools/define-tool.ts";
import { pngOf } from "../support/images.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import type { Bench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import { models } from "../support/fake-provider-client.ts";
import type { FakeProvider, FakeRequest } from "../support/fake-provider.ts";
import { benchOf, eventsOf, lastEvent, lastText, say, wireEnv } from "./harness.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const team = (kind: "anthropic" | "openai" | "responses" | "compatible"): string => `
providers:
  - name: main
    kind: ${{ anthropic: kind, openai: kind, responses: "openai\n    protocol: openai-responses", compatible: "openai-compatible" }[kind]}
    base_url: "${fake.url(kind)}"
    api_key: "\${KEY}"
    model: ${{ ...models, openai: "gpt-4.1", compatible: "house" }[kind]}
agents:
  - name: helper
    effects: []
    toolboxes: [filesystem, pictures]
    permissions: { preset: open }
    options: { cache_tool_results: true }
`;

/** A tool that draws what a test asks for. */
const pictures = (run: (context: ToolContext) => ToolOutput) => ({
  name: "pictures",
  description: "Pictures.",
  tools: [
    defineTool({
      name: "draw",
      description: "Draws.",
      params: z.strictObject({}),
      safety: "read",
      workspace: "read",
      cache: true,
      run: (_, context) => run(context),
    }),
  ],
});
const drawn = (context: ToolContext): ToolOutput => ({
  content: [{ type: "image", media_type: "image/png", blob: context.keep(Buffer.from(png, "base64")) }],
});

const open = async (kind: Parameters<typeof team>[0], run = drawn, agent = ""): Promise<Bench> => {
  const workspace = createLocalWorkspace();
  const env = { ...wireEnv(fake), SANDBOX: workspace };
  const bench = await benchOf(`${team(kind)}    ${agent}`, { env, toolboxes: [pictures(run)] }, {});
  const put = await workspace.fetch(
    new Request("http://sandbox/v1/sandbox/a/file/workspace/shot.png", {
      method: "PUT",
      body: Buffer.from(png, "base64"),
    }),
  );
  expect(put.ok).toBe(true);
  return bench;
};

/** Lets the model make these calls, then say it is done. */
const play = (...calls: readonly { readonly call: string; readonly args?: object }[]): void => {
  const left = [...calls];
  fake.play(() => {
    const next = left.shift();
    return { speech: { pieces: [next ?? { text: "Done." }] } };
  });
};

const newest = (): string => fake.requests.at(-1)?.text ?? "";
const blobs = (bench: Bench): readonly string[] => bench.rows("blobs").map(({ text }) => String(text));

test.each([
  ["anthropic", `"source":{"type":"base64","media_type":"image/png","data":"${png}"}`],
  ["openai", `"image_url":{"url":"data:image/png;base64,${png}"}`],
  ["responses", `{"type":"input_image","image_url":"data:image/png;base64,${png}","detail":"auto"}`],
] as const)(
  "toolboxes §3: fs_read shows an image to a model over %s, after a restart too",
  async (kind, wire) => {
    const bench = await open(kind);
    play({ call: "fs_read", args: { path: "shot.png" } });
    expect(await say(bench)).toMatchObject({ state: "completed" });
    expect(newest()).toContain(wire);
    expect(lastText(bench, "tool")).toBe("shot.png is a binary file: image/png, 70 bytes.");
    const [result] = bench.chat().findLast(({ role }) => role === "tool")?.parts ?? [];
    const image = result?.type === "tool_result" ? result.content[1] : undefined;
    expect(image).toMatchObject({ type: "image", media_type: "image/png", name: "shot.png" });
    expect(JSON.stringify([bench.events(), bench.chat()])).not.toContain(png);
    expect(blobs(bench)).toEqual([png]);
    bench.crash();
    play();
    await say(bench, "And now?");
    expect(newest()).toContain(wire);
  },
);

test.each([
  ["the same picture", () => png, ["ok", "ok", "ok", "ok", "denied", "denied"]],
  ["pictures that differ", (count: number) => pngOf(count, 1), ["ok", "ok", "ok", "ok", "ok", "ok"]],
] as const)("EF-31: a tool that is called again and again and draws %s", async (_, draw, outcomes) => {
  let count = 0;
  const bench = await open(
    "anthropic",
    (context) => {
      count += 1;
      const bytes = Buffer.from(draw(count), "base64");
      return { content: [{ type: "image", media_type: "image/png", blob: context.keep(bytes) }] };
    },
    "guards: { tool_loops: { warning_threshold: 3, critical_threshold: 5 } }",
  );
  play(...outcomes.map(() => ({ call: "draw" })));
  await say(bench);
  expect(eventsOf(bench, "tool_call_end").map(({ outcome }) => outcome)).toEqual(outcomes);
});

test("toolboxes §3: a model that takes no images is told type and size, and nothing is kept", async () => {
  const bench = await open("compatible");
  play({ call: "fs_read", args: { path: "shot.png" } });
  await say(bench);
  expect(lastText(bench, "tool")).toBe("shot.png is a binary file: image/png, 70 bytes.");
  expect(newest()).not.toContain(png);
  expect(bench.rows("blobs")).toEqual([]);
});

/** Whether a request already holds a result for its newest question. */
const isAnswered = ({ body }: FakeRequest): boolean => {
  const messages = body["messages"] as readonly { readonly role: string; readonly content: unknown }[];
  const asked = messages.findLastIndex(({ content }) => JSON.stringify(content).includes("Draw"));
  return messages.slice(asked).some(({ role }) => role === "tool");
};

test("★ TB-1: kept bytes are stored in the commit of the outcome that shows them, or not at all", async () => {
  const bench = await open("openai");
  fake.play((request) => ({
    speech: { pieces: [isAnswered(request) ? { text: "Done." } : { call: "draw" }] },
  }));
  for (let write = 1, cut = true; cut; write++) {
    bench.send(`Draw ${write}.`);
    const before = bench.writes();
    bench.cutAt(write);
    await bench.idle();
    bench.cutAt(null);
    cut = bench.writes() >= before + write;
    expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
    expect(newest()).toContain(png);
  }
  const drawings = eventsOf(bench, "tool_call_end");
  expect(drawings.length).toBeGreaterThan(8);
  expect(drawings.every(({ outcome }) => outcome === "ok")).toBe(true);
  expect(blobs(bench)).toEqual(drawings.map(() => png));
});

test("SE-20: an image is drawn anew each time, never out of the cache", async () => {
  let draws = 0;
  const bench = await open("openai", (context) => {
    draws += 1;
    return drawn(context);
  });
  play({ call: "draw" }, { call: "draw" });
  await say(bench);
  expect(draws).toBe(2);
  expect(blobs(bench)).toEqual([png, png]);
});

test.each([
  [
    "bytes that it did not keep",
    (): ToolOutput => ({ content: [{ type: "image", media_type: "image/png", blob: "m1" }] }),
    "failed: the tool returned an image that it did not attach",
  ],
  [
    "more than 5 MiB",
    ({ keep }: ToolContext): ToolOutput => ({
      content: [{ type: "image", media_type: "image/png", blob: keep(new Uint8Array(5_242_881)) }],
    }),
    "failed: more than 5242880 bytes cannot be kept",
  ],
  [
    "more than 20 MiB in all",
    ({ keep }: ToolContext): ToolOutput => {
      for (let each = 0; each < 5; each++) keep(new Uint8Array(5_000_000));
      return { content: "" };
    },
    "failed: a call keeps at most 20971520 bytes",
  ],
])("TB-1: a tool that gives back %s fails, and nothing is stored", async (_, run, text) => {
  const bench = await open("openai", run);
  play({ call: "draw" });
  await say(bench);
  expect(lastText(bench, "tool")).toBe(text);
  expect(bench.rows("blobs")).toEqual([]);
});
