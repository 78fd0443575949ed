import { describe, expect, test } from "vitest";
import { createSandbox } from "../../src/sandbox/client.ts";
import {
  SandboxError,
  type ExecEvent,
  type ExecRequest,
  type Sandbox,
  type SandboxErrorCode,
} from "../../src/sandbox/contract.ts";
import { base32, sha256Hex } from "../../src/sandbox/sha256.ts";
import { EventParser, type ServerEvent } from "../../src/sandbox/sse.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";

/** The conformance suite of sandbox drivers (TB-36): black box, over the wire alone. */

const freshId = (): string => base32(crypto.getRandomValues(new Uint8Array(20)));
const never = new AbortController().signal;
let counter = 0;
const freshKey = (): string => `key-${(counter += 1)}`;

interface Bench {
  readonly id: string;
  readonly fetcher: Fetcher;
  readonly sandbox: Sandbox;
  readonly raw: (
    method: string,
    path: string,
    init?: { body?: BodyInit; headers?: Record<string, string> },
  ) => Promise<Response>;
  readonly run: (script: string, more?: Partial<ExecRequest>) => Promise<Outcome>;
  readonly text: (path: string) => Promise<string>;
  readonly put: (path: string, content: string | Uint8Array) => Promise<void>;
}

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
  readonly reason: string;
  readonly events: readonly ExecEvent[];
  readonly bytes: Uint8Array;
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(pieces.flatMap((piece) => [...piece]));

function outcomeOf(events: readonly ExecEvent[]): Outcome {
  const pieces = (stream: "stdout" | "stderr"): Uint8Array =>
    joined(events.flatMap((event) => (event.type === stream ? [event.data] : [])));
  const exit = events.find((event) => event.type === "exit");
  const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  return {
    stdout: decode(pieces("stdout")),
    stderr: decode(pieces("stderr")),
    bytes: pieces("stdout"),
    code: exit?.exitCode ?? NaN,
    reason: exit?.reason ?? "none",
    events,
  };
}

const collect = async (events: AsyncIterable<ExecEvent>): Promise<Outcome> => {
  const all: ExecEvent[] = [];
  for await (const event of events) all.push(event);
  return outcomeOf(all);
};

function bench(connect: () => Fetcher): Bench {
  const id = freshId();
  const fetcher = connect();
  const sandbox = createSandbox(fetcher, id);
  return {
    id,
    fetcher,
    sandbox,
    raw: (method, path, init = {}) =>
      fetcher.fetch(new Request(`http://sandbox/v1/sandbox/${id}${path}`, { method, ...init })),
    run: (script, more = {}) =>
      collect(
        sandbox.exec({ argv: ["sh", "-c", script], execId: freshKey(), timeoutMs: 20_000, ...more }, never),
      ),
    text: async (path) => new TextDecoder().decode(await sandbox.read(path)),
    put: async (path, content) => {
      await sandbox.write(path, content, { key: freshKey() });
    },
  };
}

/** The code of a refusal; "none" if there was none. */
const codeOf = async (promise: Promise<unknown>): Promise<SandboxErrorCode | "none"> => {
  try {
    await promise;
    return "none";
  } catch (error) {
    if (error instanceof SandboxError) return error.code;
    throw error;
  }
};

/** Reads SSE frames of one connection, at most `most` of them, then cuts it. */
async function frames(response: Response, most = Infinity): Promise<ServerEvent[]> {
  const parser = new EventParser();
  const found: ServerEvent[] = [];
  const reader = response.body?.getReader();
  if (reader === undefined) return found;
  while (found.length < most) {
    const { done, value } = await reader.read();
    if (done) break;
    found.push(...parser.push(value));
  }
  await reader.cancel();
  return found.slice(0, most);
}

/** Names of every path in the workspace, with the content of files. */
async function everything(sandbox: Sandbox): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await sandbox.list(folder)) {
      if (entry.type === "directory") await visit(entry.path);
      else
        found[entry.path] = entry.type === "file" ? ((await sandbox.stat(entry.path)).sha256 ?? "") : "link";
    }
  };
  await visit(".");
  return found;
}

function execGroup(connect: () => Fetcher): void {
  test("TB-28: stdout, stderr and exit come in their order, with ids that grow", async () => {
    const { run } = bench(connect);
    const { events, stdout, stderr, code, reason } = await run("echo one; echo two >&2; echo three; exit 7");
    expect([stdout, stderr, code, reason]).toEqual(["one\nthree\n", "two\n", 7, "exited"]);
    expect(events[0]?.type).toBe("start");
    const ids = events.flatMap((event) => ("seq" in event ? [event.seq] : []));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("TB-28: arguments reach the program as they are", async () => {
    const { sandbox } = bench(connect);
    const argv = ["echo", "a b", "$HOME", "*", "'", '"', "`id`", "x;y"];
    const { stdout } = await collect(sandbox.exec({ argv, execId: freshKey() }, never));
    expect(stdout).toBe(`${argv.slice(1).join(" ")}\n`);
  });

  test("TB-28: an unknown program ends with 127", async () => {
    const { sandbox } = bench(connect);
    const { code } = await collect(sandbox.exec({ argv: ["no-such-program"], execId: freshKey() }, never));
    expect(code).toBe(127);
  });

  test("TB-28: binary output comes byte for byte", async () => {
    const { run, put } = bench(connect);
    const bytes = Uint8Array.from({ length: 1024 }, (_, index) => index % 256);
    await put("all.bin", bytes);
    expect((await run("cat all.bin")).bytes).toEqual(bytes);
  });

  test("TB-28: stdin, cwd and env reach the command", async () => {
    const { run, put } = bench(connect);
    await put("dir/file", "x");
    const more = { stdin: "héllo\n", cwd: "dir", env: { GREETING: "hi there" } };
    const { stdout } = await run('cat; pwd; ls; echo "$GREETING"', more);
    expect(stdout).toBe("héllo\n/workspace/dir\nfile\nhi there\n");
  });

  test("TB-16: sleep 1000 with a time-out of 2 s ends as timeout within 4 s, with the output so far", async () => {
    const { run } = bench(connect);
    const started = Date.now();
    const { reason, stdout, code } = await run("echo before; sleep 1000; echo after", { timeoutMs: 2000 });
    expect([reason, stdout, code]).toEqual(["timeout", "before\n", 124]);
    expect(Date.now() - started).toBeLessThan(4000);
  });

  test("TB-16: a busy loop meets its time-out too", async () => {
    const { run } = bench(connect);
    const { reason } = await run("while true; do echo x > /dev/null; done", { timeoutMs: 300 });
    expect(["timeout", "limit"]).toContain(reason);
  });

  test("TB-28: kill ends a command and what it started, and is idempotent", async () => {
    const { sandbox, run } = bench(connect);
    const execId = freshKey();
    const script = "(sleep 60; echo child > child.txt); echo parent > parent.txt";
    await sandbox.start({ argv: ["sh", "-c", script], execId, timeoutMs: 90_000 }, never);
    await sandbox.kill(execId);
    await sandbox.kill(execId);
    const { reason } = await collect(sandbox.attach(execId, 0, Date.now() + 8000, never));
    expect(reason).toBe("killed");
    expect((await run("ls")).stdout).toBe("");
    await sandbox.kill("never-seen");
  });

  test("TB-29: the same exec_id and body attach; another body is refused", async () => {
    const { run, sandbox, text } = bench(connect);
    const execId = freshKey();
    const script = "echo x >> log; echo done";
    await run(script, { execId });
    const again = await run(script, { execId });
    expect([again.stdout, again.code]).toEqual(["done\n", 0]);
    expect(await text("log")).toBe("x\n");
    expect(await codeOf(run("echo other", { execId }))).toBe("exec_id_reused");
    expect(await codeOf(collect(sandbox.attach("unheard-of", 0, Date.now() + 1000, never)))).toBe(
      "exec_unknown",
    );
  });

  test("TB-36: 50 concurrent posts of one exec_id start the command once", async () => {
    const { run, text } = bench(connect);
    const execId = freshKey();
    const all = await Promise.all(
      Array.from({ length: 50 }, () => run("echo x >> log; sleep 0.05; echo end", { execId })),
    );
    expect(all.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 50 }, () => "end\n"));
    expect(await text("log")).toBe("x\n");
  });

  test("TB-36: cut at every event and reattached, the output is whole", async () => {
    const { raw, run } = bench(connect);
    const execId = freshKey();
    const script = "for i in 1 2 3 4 5 6; do echo line $i; echo err $i >&2; done; exit 3";
    const whole = await run(script, { execId });
    const all = await frames(await raw("GET", `/exec/${execId}?after=0`));
    expect(all.at(-1)?.event).toBe("exit");
    for (let cut = 1; cut < all.length; cut++) {
      const first = await frames(await raw("GET", `/exec/${execId}?after=0`), cut);
      const rest = await frames(await raw("GET", `/exec/${execId}?after=${first.at(-1)?.id ?? 0}`));
      const outputs = [...first, ...rest].filter(({ event }) => event === "stdout" || event === "stderr");
      const stdout = outputs.filter(({ event }) => event === "stdout").map(({ data }) => atob(data));
      expect(stdout.join("")).toBe(whole.stdout);
      expect(new Set(outputs.map(({ id }) => id)).size).toBe(outputs.length);
    }
  });

  test("TB-29: a dropped connection ends nothing", async () => {
    const { raw, sandbox, text } = bench(connect);
    const execId = freshKey();
    const body = JSON.stringify({ argv: ["sh", "-c", "sleep 0.08; echo late > late.txt"], exec_id: execId });
    await frames(await raw("POST", "/exec", { body }), 1);
    await collect(sandbox.attach(execId, 0, Date.now() + 8000, never));
    expect(await text("late.txt")).toBe("late\n");
  });

  test("TB-28: a poll gives each reader what earlier ones did not get, and the same again to the same reader", async () => {
    const { run, sandbox } = bench(connect);
    const execId = freshKey();
    await run("echo one; echo two", { execId });
    const first = outcomeOf(await sandbox.poll(execId, "reader-1"));
    const repeated = outcomeOf(await sandbox.poll(execId, "reader-1"));
    const next = outcomeOf(await sandbox.poll(execId, "reader-2"));
    expect([first.stdout, repeated.stdout, next.stdout]).toEqual(["one\ntwo\n", "one\ntwo\n", ""]);
    expect(next.reason).toBe("exited");
  });

  test("TB-33: of a huge output the first and last part are kept, and the cut is marked", async () => {
    const { run, sandbox, raw } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { output: 60_000 } }) });
    const execId = freshKey();
    await run("for i in $(seq 1 1000); do printf '%0100d\\n' $i; done", { execId });
    const { stdout, events } = await collect(sandbox.attach(execId, 0, Date.now() + 8000, never));
    expect(stdout.length).toBeLessThan(70_000);
    expect(stdout.startsWith(`${"1".padStart(100, "0")}\n`)).toBe(true);
    expect(stdout.endsWith(`${"1000".padStart(100, "0")}\n`)).toBe(true);
    expect(stdout).toMatch(/\n\[\d+ bytes omitted\]\n/);
    expect(events.at(-1)).toMatchObject({ type: "exit", truncated: true });
  });

  test("TB-28: a bad request names its field and starts nothing", async () => {
    const { raw } = bench(connect);
    for (const body of [
      "",
      "{}",
      '{"argv":[]}',
      '{"argv":"ls"}',
      '{"argv":["ls"],"nope":1}',
      '{"argv":["ls"],"exec_id":"a b"}',
    ]) {
      const response = await raw("POST", "/exec", { body });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "invalid_request", error: expect.any(String) });
    }
    expect((await raw("POST", "/exec", { body: '{"argv":["ls"],"cwd":"../.."}' })).status).toBe(403);
    expect((await raw("POST", "/exec", { body: '{"argv":["ls"],"cwd":"missing"}' })).status).toBe(404);
  });
}

function fileGroup(connect: () => Fetcher): void {
  test("TB-28: bytes come back as they went in; ranges give their part", async () => {
    const { put, sandbox, raw } = bench(connect);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    await put("deep/in/file.bin", bytes);
    expect(await sandbox.read("/workspace/deep/in/file.bin")).toEqual(bytes);
    expect(await sandbox.read("deep/in/file.bin", { offset: 100, length: 50 })).toEqual(
      bytes.slice(100, 150),
    );
    const part = await raw("GET", "/file/workspace/deep/in/file.bin", { headers: { Range: "bytes=-10" } });
    expect([part.status, part.headers.get("Content-Range")]).toEqual([206, "bytes 59990-59999/60000"]);
    expect(await codeOf(sandbox.read("deep/in/file.bin", { offset: 60_000, length: 1 }))).toBe("range");
    expect(await codeOf(sandbox.read("deep/in/missing"))).toBe("workspace_read_not_found");
  });

  test("TB-33: 32 MiB can be written and read; one byte more is refused whole", async () => {
    const { sandbox } = bench(connect);
    const bytes = new Uint8Array(32 * 1024 * 1024);
    for (let index = 0; index < bytes.length; index += 65_536) bytes.set([index >> 16, 7, 9], index);
    await sandbox.write("big.bin", bytes, { key: freshKey() });
    const tail = await sandbox.read("big.bin", { offset: bytes.length - 70_000, length: 70_000 });
    expect(sha256Hex(tail)).toBe(sha256Hex(bytes.subarray(bytes.length - 70_000)));
    expect((await sandbox.stat("big.bin")).size).toBe(bytes.length);
    const more = sandbox.write("big.bin", new Uint8Array(bytes.length + 1), { key: freshKey() });
    expect(await codeOf(more)).toBe("payload_too_large");
    expect((await sandbox.stat("big.bin")).size).toBe(bytes.length);
  });

  test("TB-28: If-Match writes only over the content it names", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("a", "one");
    const { sha256 = "" } = await sandbox.stat("a");
    expect(sha256).toBe(sha256Hex("one"));
    await sandbox.write("a", "two", { key: freshKey(), ifMatch: sha256 });
    expect(await codeOf(sandbox.write("a", "three", { key: freshKey(), ifMatch: sha256 }))).toBe("conflict");
    expect(await text("a")).toBe("two");
  });

  test("TB-12: a key works once; the repetition gets the same answer; another request with it is refused", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("a", "x");
    const key = freshKey();
    const edit = { path: "a", old_text: "x", new_text: "xx" };
    const first = await sandbox.change("edit", edit, { key });
    expect(await sandbox.change("edit", edit, { key })).toEqual(first);
    expect(await text("a")).toBe("xx");
    expect(await codeOf(sandbox.change("edit", { ...edit, new_text: "y" }, { key }))).toBe("conflict");
    const written = await sandbox.write("b", "1", { key: "once" });
    expect(await sandbox.write("b", "1", { key: "once" })).toEqual(written);
    expect(await codeOf(sandbox.write("b", "2", { key: "once" }))).toBe("conflict");
  });

  test("TB-12: 20 parallel writes to one path leave one of the 20", async () => {
    const { sandbox, text } = bench(connect);
    const contents = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(1000));
    await Promise.all(contents.map((content) => sandbox.write("race", content, { key: freshKey() })));
    expect(contents).toContain(await text("race"));
  });

  test("TB-12: a change by another thread or a command since the last look is a conflict that names who", async () => {
    const { sandbox, run, text } = bench(connect);
    const one = sandbox.as("one");
    const two = sandbox.as("two");
    await one.write("a", "1\n", { key: freshKey() });
    await two.write("a", "2\n", { key: freshKey() });
    const blind = one.write("a", "3\n", { key: freshKey() });
    await expect(blind).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("thread two"),
    });
    await one.read("a");
    await one.write("a", "3\n", { key: freshKey() });
    await run("echo more >> a");
    const over = one.change("edit", { path: "a", old_text: "3", new_text: "4" }, { key: freshKey() });
    await expect(over).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("command"),
    });
    expect(await text("a")).toBe("3\nmore\n");
  });

  test("TB-33: over the disk's limit a write fails whole, in commands too", async () => {
    const { raw, sandbox, run } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { disk: 1000, file: 800 } }) });
    await sandbox.write("a", "x".repeat(700), { key: freshKey() });
    expect(await codeOf(sandbox.write("b", "x".repeat(400), { key: freshKey() }))).toBe("limit");
    expect(await codeOf(sandbox.write("a", "x".repeat(801), { key: freshKey() }))).toBe("payload_too_large");
    expect((await run("cp a c")).code).not.toBe(0);
    await sandbox.change("delete", { path: "a" }, { key: freshKey() });
    await sandbox.write("b", "x".repeat(400), { key: freshKey() });
    expect(Object.keys(await everything(sandbox))).toEqual(["b"]);
  });
}

/** Groups in files of their own. */
export const tools = { bench, codeOf, collect, everything, freshKey, never, outcomeOf, frames };

/** Runs the suite against one driver. */
export function conformance(name: string, connect: () => Fetcher): void {
  describe(name, () => {
    execGroup(connect);
    fileGroup(connect);
  });
}
