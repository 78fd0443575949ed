import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build } from "vite";
import { checkBody } from "../../support/fake-provider-check.ts";
import { chatFrames } from "../../support/fake-provider-reply.ts";

/** Workers AI through the binding that workerd has, in front of a server that stands for Cloudflare's. */

interface Run {
  readonly model: string | null;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly options: unknown;
}

let reply: { readonly status?: number; readonly type?: string; readonly body: string } = { body: "" };
const runs: Run[] = [];
const cloudflare = createServer((request, response) => {
  let text = "";
  request.on("data", (chunk) => (text += String(chunk)));
  request.on("end", () => {
    const { inputs, options } = JSON.parse(text) as Run;
    runs.push({ model: request.headers["mf-header-cf-consn-model-id"]?.toString() ?? null, inputs, options });
    response.writeHead(reply.status ?? 200, { "content-type": reply.type ?? "text/event-stream" });
    response.end(reply.body);
  });
});

const folder = mkdtempSync(join(tmpdir(), "workers-ai-"));
let runtime: Miniflare;

beforeAll(async () => {
  await build({
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true },
    build: {
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      ssr: true,
      target: "esnext",
      rolldownOptions: {
        input: join(import.meta.dirname, "worker.ts"),
        preserveEntrySignatures: "strict",
        output: { format: "es", entryFileNames: "worker.js", codeSplitting: false },
      },
    },
  });
  await new Promise<void>((resolve) => void cloudflare.listen(0, "127.0.0.1", resolve));
  const { port } = cloudflare.address() as AddressInfo;
  const remoteProxyConnectionString = new URL(`http://127.0.0.1:${port}`) as never;
  runtime = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      cf: false,
      modules: true,
      script: readFileSync(join(folder, "worker.js"), "utf8"),
      compatibilityDate: "2026-11-01",
      compatibilityFlags: ["nodejs_compat"],
      ai: { binding: "AI", remoteProxyConnectionString },
    }),
  );
  await runtime.ready;
});
afterAll(async () => {
  await runtime.dispose();
  cloudflare.close();
  rmSync(folder, { recursive: true, force: true });
});

const model = "@cf/zai-org/glm-5.3";
const ask = async (fields: object = {}, section: object = {}) => {
  const body = JSON.stringify({ fields, section: { model, ...section } });
  const response = await fetch(await runtime.ready, { method: "POST", body });
  const answer: Readonly<Record<"completion" | "failure" | "deltas", unknown>> = await response.json();
  return answer;
};
const lines = (...values: readonly (object | string)[]): string =>
  values.map((value) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`).join("");
const tool = { name: "fs_read", description: "Reads.", schema: { type: "object" } };

test("MO-5: workers-ai is asked through its binding, without a key, in the form of chat completions", async () => {
  reply = { body: chatFrames({ pieces: [{ text: "The tide comes in." }] }, model).join("") };
  const { completion, deltas } = await ask({ tools: [tool] });
  expect(completion).toMatchObject({
    parts: [{ type: "text", text: "The tide comes in." }],
    finish: "stop",
    usage: { input: 25, output: 15 },
  });
  expect(deltas).not.toEqual([]);
  const { inputs, options, ...asked } = runs.at(-1) ?? {};
  expect(asked).toEqual({ model });
  expect(options).toEqual({ returnRawResponse: true });
  expect(inputs).toMatchObject({ max_tokens: 1000, stream: true, tools: [{ type: "function" }] });
  expect(checkBody({ model, ...inputs }, "compatible")).toBeNull();
});

test("MO-5: the older lines of Workers AI are read: text, whole calls, usage, [DONE] as their end", async () => {
  reply = {
    body: lines(
      { response: "Let me ", p: "abd" },
      { response: "look." },
      { response: 7 },
      { tool_calls: [{ name: "fs_read", arguments: { path: "a" } }], response: null },
      { response: "", usage: { prompt_tokens: 20, completion_tokens: 6, total_tokens: 26 } },
      "[DONE]",
    ),
  };
  expect((await ask({ tools: [tool] })).completion).toMatchObject({
    parts: [
      { type: "text", text: "Let me look.7" },
      { type: "tool_call", name: "fs_read", args: '{"path":"a"}' },
    ],
    finish: "tool_calls",
    usage: { input: 20, output: 6, total: 26 },
  });
  reply = { body: lines({ response: "Half" }) };
  expect((await ask()).failure).toMatchObject({ code: "truncated_stream" });
});

test("MO-25: errors of Workers AI are typed, and what is missing is named", async () => {
  reply = {
    status: 400,
    type: "application/json",
    body: JSON.stringify({
      errors: [
        {
          code: 5021,
          message:
            "AiError: The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).",
        },
      ],
    }),
  };
  expect((await ask()).failure).toMatchObject({ code: "context_overflow", status: 400 });
  reply = {
    status: 429,
    type: "application/json",
    body: JSON.stringify({ errors: [{ code: 3040, message: "Capacity temporarily exceeded" }] }),
  };
  expect((await ask()).failure).toMatchObject({ code: "rate_limited", retryable: true });
  expect((await ask({}, { binding: "MODELS" })).failure).toMatchObject({
    code: "auth",
    message:
      'this deployment has no MODELS binding; add ai = { binding = "MODELS" } to its environment in wrangler.toml',
  });
});
