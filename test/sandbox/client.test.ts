import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { createSandbox } from "../../src/sandbox/client.ts";
import { sandboxId } from "../../src/sandbox/id.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import { collect, freshKey, never } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

const script = "for i in 1 2 3 4; do echo out $i; echo err $i >&2; done; echo x >> log; exit 3";
const expected = {
  stdout: "out 1\nout 2\nout 3\nout 4\n",
  stderr: "err 1\nerr 2\nerr 3\nerr 4\n",
  code: 3,
  reason: "exited",
};
const request = () => ({ argv: ["sh", "-c", script], execId: freshKey(), timeoutMs: 5000 });

/** Passes a body on up to a byte, then breaks the connection or ends it. */
function cutAt(response: Response, bytes: number, how: "error" | "end"): Response {
  let left = bytes;
  const reader = response.body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || value === undefined) return controller.close();
      controller.enqueue(value.slice(0, left));
      left -= value.length;
      if (left > 0) return;
      await reader?.cancel();
      if (how === "error") controller.error(new Error("connection reset"));
      else controller.close();
    },
  });
  return new Response(body, { headers: response.headers });
}

/** Passes the head of an answer on, and the first byte of its body. */
function stallIn(response: Response): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Uint8Array.of(123)),
  });
  return new Response(body, response);
}

test("TB-29: cut at every byte of the answer, the output is whole and the command ran once", async () => {
  const whole = createLocalWorkspace();
  const body = JSON.stringify({ argv: ["sh", "-c", script], exec_id: "a" });
  const answer = await whole.fetch(new Request("http://s/v1/sandbox/a/exec", { method: "POST", body }));
  const length = (await answer.arrayBuffer()).byteLength;
  for (let at = 1; at < length; at += 7) {
    const workspace = createLocalWorkspace();
    let posts = 0;
    const fetcher: Fetcher = {
      fetch: async (asked) => {
        const response = await workspace.fetch(asked);
        if (asked.method !== "POST") return response;
        posts += 1;
        return cutAt(response, at, at % 2 === 0 ? "error" : "end");
      },
    };
    const sandbox = createSandbox(fetcher, "a");
    const outcome = await collect(sandbox.exec(request(), never));
    expect(outcome).toMatchObject(expected);
    expect([posts, new TextDecoder().decode(await sandbox.read("log"))]).toEqual([1, "x\n"]);
  }
});

test("TB-29: a request that never arrived is sent again; one whose answer was lost is found", async () => {
  for (const arrives of [false, true]) {
    const workspace = createLocalWorkspace();
    let failures = 1;
    const sandbox = createSandbox(
      {
        fetch: async (asked) => {
          if (asked.method !== "POST" || failures === 0) return workspace.fetch(asked);
          failures -= 1;
          if (arrives) await workspace.fetch(asked);
          throw new Error("connection refused");
        },
      },
      "a",
    );
    await sandbox.instance();
    expect(await collect(sandbox.exec(request(), never))).toMatchObject(expected);
    expect(new TextDecoder().decode(await sandbox.read("log"))).toBe("x\n");
  }
});

test("TB-29: a lost answer from a sandbox whose memory is new gives lost, and nothing runs twice", async () => {
  const first = createLocalWorkspace();
  let current = first;
  let posts = 0;
  const sandbox = createSandbox(
    {
      fetch: async (asked) => {
        if (asked.method !== "POST") return current.fetch(asked);
        posts += 1;
        current = createLocalWorkspace();
        throw new Error("the machine is gone");
      },
    },
    "a",
  );
  await sandbox.instance();
  expect(await collect(sandbox.exec(request(), never))).toMatchObject({ reason: "lost", code: -1 });
  expect(posts).toBe(1);
});

test("TB-29: a sandbox that never answers is given up after the time-out and its grace", async () => {
  const silent: Fetcher = { fetch: () => new Promise(() => undefined) };
  const sandbox = createSandbox(silent, "a", { graceMs: 30 });
  const outcome = await collect(sandbox.exec({ ...request(), timeoutMs: 20 }, never));
  expect(outcome).toMatchObject({ reason: "lost", code: -1, stdout: "" });
});

test("TB-29: a command that turns out at the last look never to have arrived is not started that late", async () => {
  const workspace = createLocalWorkspace();
  let posts = 0;
  const sandbox = createSandbox(
    {
      fetch: (asked) => {
        if (asked.method !== "POST") return workspace.fetch(asked);
        posts += 1;
        return new Promise(() => undefined);
      },
    },
    "a",
    { graceMs: 400 },
  );
  await sandbox.instance();
  const outcome = await collect(sandbox.exec({ ...request(), timeoutMs: 20 }, never));
  expect([outcome.reason, posts]).toEqual(["lost", 1]);
});

test("TB-29: a command that hangs silently on the wire is given up too, with what it printed", async () => {
  const workspace = createLocalWorkspace();
  const hanging: Fetcher = {
    fetch: async (asked) => {
      const response = await workspace.fetch(asked);
      const reader = response.body?.getReader();
      let reads = 0;
      const body = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          const { value } = (await reader?.read()) ?? {};
          reads += 1;
          if (reads > 2 || value === undefined) await new Promise(() => undefined);
          else controller.enqueue(value);
        },
      });
      return new Response(body, { headers: response.headers });
    },
  };
  const sandbox = createSandbox(hanging, "a", { graceMs: 40 });
  const outcome = await collect(sandbox.exec({ ...request(), timeoutMs: 60 }, never));
  expect(outcome.reason).toBe("lost");
});

test("TB-28: an abort stops reading at once and the command goes on until it is killed", async () => {
  const workspace = createLocalWorkspace();
  const sandbox = createSandbox(workspace, "a");
  const abort = new AbortController();
  const execId = freshKey();
  const read = collect(sandbox.exec({ argv: ["sleep", "30"], execId, timeoutMs: 60_000 }, abort.signal));
  await sandbox.capabilities();
  abort.abort(new Error("cancelled"));
  await expect(read).rejects.toThrow("cancelled");
  expect(workspace.server.expire()).not.toBeNull();
  await sandbox.kill(execId);
  expect((await collect(sandbox.attach(execId, 0, Date.now() + 2000, never))).reason).toBe("killed");
});

test("TB-28: the status decides, the code only refines; an answer without JSON is still an error", async () => {
  const answering = (status: number, body: string) =>
    createSandbox({ fetch: async () => new Response(body, { status }) }, "a").stat("x");
  await expect(answering(404, '{"error":"gone","code":"exec_transport_error"}')).rejects.toMatchObject({
    code: "workspace_read_not_found",
    message: "gone",
  });
  await expect(answering(409, '{"error":"e","code":"exec_id_reused"}')).rejects.toMatchObject({
    code: "exec_id_reused",
  });
  await expect(answering(503, "<html>")).rejects.toMatchObject({ code: "capacity_exceeded" });
  await expect(answering(503, "null")).rejects.toMatchObject({ code: "capacity_exceeded" });
  await expect(answering(500, "oops")).rejects.toMatchObject({ code: "exec_transport_error", status: 500 });
  const broken = createSandbox({ fetch: async () => Promise.reject(new Error("secret host 10.0.0.1")) }, "a");
  await expect(broken.stat("x")).rejects.toMatchObject({
    code: "exec_transport_error",
    status: 0,
    message: expect.not.stringContaining("10.0.0.1"),
  });
});

test("toolboxes §6: sandbox ids are base32, prefix-free over their names, and say where they are kept", () => {
  const at = (tenant: string) => ({ tenant, jurisdiction: null });
  const id = sandboxId("worker", at("tenant"), "session");
  expect(id).toMatch(/^[a-z2-7]{52}$/);
  expect(
    new Set([id, sandboxId("workert", at("enant"), "session"), sandboxId("worker", at("tenants"), "ession")])
      .size,
  ).toBe(3);
  const european = sandboxId("worker", { tenant: "tenant", jurisdiction: "eu" }, "session");
  expect(european).toMatch(/^eu-[a-z2-7]{52}$/);
  expect(european).not.toContain(id);
});

test("TB-28 TB-32 TB-33: the team's settings reach the sandbox once, before anything else", async () => {
  const workspace = createLocalWorkspace();
  const asked: string[] = [];
  let broken = true;
  const fetcher: Fetcher = {
    fetch: async (request) => {
      asked.push(`${request.method} ${new URL(request.url).pathname}`);
      if (broken) return Response.json({ error: "not now", code: "capacity_exceeded" }, { status: 503 });
      return workspace.fetch(request);
    },
  };
  const limits = { wall: 60_000, output: 1024, processes: 4, disk: 10_000, file: 5 };
  const sandbox = createSandbox(fetcher, "a", { settings: { limits, env: { SHELL_FISH: "limpet" } } });
  await expect(sandbox.stat(".")).rejects.toMatchObject({ code: "capacity_exceeded" });
  broken = false;
  const outcomes = await Promise.all([
    collect(sandbox.exec({ argv: ["sh", "-c", "echo $SHELL_FISH"], execId: freshKey() }, never)),
    collect(sandbox.as("other").exec({ argv: ["true"], execId: freshKey() }, never)),
  ]);
  expect(outcomes[0].stdout).toBe("limpet\n");
  await expect(sandbox.write("big", "123456", { key: freshKey() })).rejects.toMatchObject({
    code: "payload_too_large",
  });
  expect((await sandbox.capabilities()).limits).toEqual(limits);
  expect(asked.filter((line) => line.startsWith("PUT /v1/sandbox/a"))).toEqual([
    "PUT /v1/sandbox/a",
    "PUT /v1/sandbox/a",
    "PUT /v1/sandbox/a/file/workspace/big",
  ]);
  await sandbox.destroy();
  expect(asked.at(-1)).toBe("DELETE /v1/sandbox/a");
});

test("TB-34: skills that meet no capacity are placed with the next request", async () => {
  const workspace = createLocalWorkspace();
  let crowded = true;
  const fetcher: Fetcher = {
    fetch: async (request) => {
      if (!crowded || !request.url.endsWith("/skills")) return workspace.fetch(request);
      crowded = false;
      return Response.json({ error: "no room", code: "capacity_exceeded" }, { status: 503 });
    },
  };
  const limits = { wall: 60_000, output: 1024, processes: 4, disk: 100_000, file: 1000 };
  const skills = () => ({ digest: "d1", files: { "maps/legend.txt": "Blue." } });
  const sandbox = createSandbox(fetcher, "a", { settings: { limits, env: {} }, skills });
  await expect(sandbox.stat(".")).rejects.toMatchObject({ code: "capacity_exceeded" });
  expect(new TextDecoder().decode(await sandbox.read(".skills/maps/legend.txt"))).toBe("Blue.");
});

test("RE-12 MO-41: a fault of the sandbox is logged as JSON without content, and its caller learns no more", async () => {
  const files = new DatabaseSync(":memory:");
  const workspace = createLocalWorkspace(files);
  await createSandbox(workspace, "a").write("canary", "x", { key: freshKey() });
  files.close();
  const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const failed = createSandbox(workspace, "a").stat("canary");
  await expect(failed).rejects.toMatchObject({ status: 502, message: "the sandbox failed" });
  const lines = said.mock.calls.map(([line]) => JSON.parse(String(line)) as unknown);
  said.mockRestore();
  const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  expect(lines[0]).toEqual({ at, level: "error", msg: "sandbox_failed", fault: "Error" });
  expect(JSON.stringify(lines)).not.toContain("canary");
});

test("TB-29: an answer that breaks off in its body is no answer, whatever is read", async () => {
  const workspace = createLocalWorkspace();
  let isCut = false;
  const fetcher: Fetcher = {
    fetch: async (sent) => {
      const answer = await workspace.fetch(sent);
      return isCut ? cutAt(answer, 1, "error") : answer;
    },
  };
  const sandbox = createSandbox(fetcher, "s");
  await sandbox.write("f", "text", { key: freshKey() });
  isCut = true;
  const unreachable = { name: "SandboxError", code: "exec_transport_error" };
  await expect(sandbox.read("f")).rejects.toMatchObject(unreachable);
  await expect(sandbox.stat("f")).rejects.toMatchObject(unreachable);
  await expect(sandbox.write("f", "other", { key: freshKey() })).rejects.toMatchObject(unreachable);
});

test("TB-28: a sandbox that stalls in the body of an answer is given up, whatever was asked", async () => {
  const workspace = createLocalWorkspace();
  const sandbox = createSandbox(workspace, "s");
  await sandbox.write("f", "text", { key: freshKey() });
  const stalled = createSandbox({ fetch: async (sent) => stallIn(await workspace.fetch(sent)) }, "s");
  const files = createWorkspaceFiles({ fetch: async (sent) => stallIn(await workspace.fetch(sent)) }, "s");
  const key = freshKey();
  const asked: readonly (() => Promise<unknown>)[] = [
    () => stalled.settle(key),
    () => stalled.read("f"),
    () => stalled.write("f", "more", { key }),
    () => stalled.change("mkdir", { path: "d" }, { key: freshKey() }),
    () => stalled.stat("f"),
    () => stalled.list("."),
    () => stalled.diff("f", "f"),
    () => stalled.searchFiles({ pattern: "*", directory: ".", max_results: 1 }),
    () => stalled.git("status", { short: true }, { signal: never }),
    () => stalled.capabilities(),
    () => files.list(".", { limit: 5 }),
    () => files.remove("f", { recursive: false, key: freshKey() }),
  ];
  for (const ask of asked) {
    vi.useFakeTimers();
    let end: unknown = "still waiting";
    ask().catch((error: unknown) => (end = error));
    await vi.advanceTimersByTimeAsync(240_000);
    vi.useRealTimers();
    expect(end, ask.toString()).toMatchObject({
      code: "exec_transport_error",
      message: expect.stringContaining("no answer in time"),
    });
  }
});
