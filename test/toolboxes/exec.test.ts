import { expect, test } from "vitest";
import { execIdOf } from "../../src/sandbox/commands.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import { toolBench } from "./bench.ts";

test("TB-16: stdout, then [stderr], then [exit N]; a code outside ok_codes is an error result", async () => {
  const { text, call, shown } = toolBench();
  expect(await text("exec_shell", { script: "echo out; echo err >&2" })).toBe("out\n[stderr]\nerr\n[exit 0]");
  expect(shown.join("")).toBe("out\nerr\n");
  expect(await text("exec_run", { command: "sh", args: ["-c", "exit 3"] })).toBe("ERROR [exit 3]");
  expect(await text("exec_run", { command: "sh", args: ["-c", "exit 3"], ok_codes: [0, 3] })).toBe(
    "[exit 3]",
  );
  expect(await text("exec_run", { command: "cat", stdin: "hé" })).toBe("hé\n[exit 0]");
  expect(await text("exec_run", { command: "cargo", args: ["build"] })).toMatch(
    /^ERROR \[stderr\]\n.*cargo.*\n\[exit 127\]$/,
  );
  expect(await call("exec_run", { command: "true" })).toMatchObject({
    details: { exit_code: 0, reason: "exited" },
    exitCode: 0,
  });
});

test("a line of a shell in place of a program is an error that names the way out", async () => {
  const { text } = toolBench();
  const advice =
    /^ERROR .*not found\n\[exit 127\]\n\[command is the program alone, .* exec_shell runs .*\]$/s;
  expect(await text("exec_run", { command: "ls -la" })).toMatch(advice);
  expect(await text("exec_run", { command: "cd src && ls" })).toMatch(advice);
  expect(await text("exec_run", { command: "no-such", args: ["a b"] })).toMatch(/\[exit 127\]$/);
});

test("TB-33: a command that reaches a limit says so, with the way out", async () => {
  const { text } = toolBench();
  expect(await text("exec_shell", { script: "echo a; f() { f; }; f" })).toMatch(
    /^ERROR limit: .* Do less in one call: .*\na\n\[stderr\]\nbash: f: maximum recursion depth \(\d+\) exceeded\n\[exit 126\]$/,
  );
});

test.each([
  ["the command is sent", /\/exec$/],
  ["anything is asked", /./],
])("TB-34: without capacity when %s, it is sent again after pauses, and runs once", async (_, route) => {
  let crowded = 3;
  const { text } = toolBench((workspace) => ({
    fetch: async (request) => {
      const full = route.test(new URL(request.url).pathname) && crowded > 0;
      crowded -= full ? 1 : 0;
      if (!full) return workspace.fetch(request);
      return Response.json({ error: "no room", code: "capacity_exceeded" }, { status: 503 });
    },
  }));
  const pauses: number[] = [];
  const pause = async (ms: number): Promise<void> => void pauses.push(ms);
  const script = "echo begun >> log; cat log";
  expect(await text("exec_shell", { script }, { pause })).toBe("begun\n[exit 0]");
  expect(pauses).toEqual([500, 1_000, 2_000]);
});

test("TB-16: a time-out says so, with the output so far; the model's value is clamped", async () => {
  const { text } = toolBench();
  const script = "echo before; sleep 1000";
  // The time is measured: a busy machine takes longer to end a command.
  const ended = /^ERROR timeout: the command was ended after \d\d? s\.\nbefore\n\[exit 124\]$/;
  expect(await text("exec_shell", { script, timeout: 1 })).toMatch(ended);
  const commandTimeout = { default: 1, max: 1 };
  expect(await text("exec_shell", { script }, { commandTimeout })).toMatch(ended);
});

test("TB-16 TB-33: a model that asks for more time than a command gets learns how much there is", async () => {
  const { text, call, workspace, sandbox } = toolBench();
  const script = "echo before; sleep 1000";
  const ended =
    /^ERROR timeout: the command was ended after (\d\d?) s\.\nbefore\n\[exit 124\]\n\[No command gets 600 s here: \1 s is the most\.\]$/;
  const commandTimeout = { default: 1, max: 1 };
  expect(await text("exec_shell", { script, timeout: 600 }, { commandTimeout })).toMatch(ended);
  const background = await call("exec_shell", { script, timeout: 600, background: true }, { commandTimeout });
  expect(background).toMatchObject({ content: expect.stringMatching(/^\{"exec_id":"\w+","timeout":1\}$/) });
  // A sandbox may end commands earlier than the team knows.
  const limits = JSON.stringify({ limits: { wall: 1000 } });
  await workspace.fetch(
    new Request(`http://sandbox/v1/sandbox/${sandbox.id}/`, { method: "PUT", body: limits }),
  );
  expect(
    await text("exec_shell", { script, timeout: 600 }, { commandTimeout: { default: 20, max: 900 } }),
  ).toMatch(ended);
});

test.each([0.0005, 1.0005])(
  "TB-16: a time-out of %d s is rounded to whole milliseconds, at least one",
  async (timeout) => {
    const { text } = toolBench();
    expect(await text("exec_shell", { script: "sleep 30", timeout })).toMatch(/^ERROR timeout: /);
  },
);

test("CF-14: commands start in the agent's working_dir, and a folder that they name counts from there", async () => {
  const { text } = toolBench();
  const context = { workingDir: "src/lib" };
  await text("fs_write", { path: "here", content: "x" }, context);
  expect(await text("exec_shell", { script: "pwd; ls" }, context)).toBe("/workspace/src/lib\nhere\n[exit 0]");
  for (const [cwd, found] of [
    [".", "/workspace/src/lib"],
    ["..", "/workspace/src"],
    ["/workspace/src", "/workspace/src"],
    ["/workspace", "/workspace"],
  ])
    expect(await text("exec_run", { command: "pwd", cwd }, context)).toBe(`${found}\n[exit 0]`);
  expect(await text("exec_run", { command: "pwd" }, { workingDir: "none" })).toMatch(
    /^ERROR not_found: .*none/,
  );
});

test("TB-31: writable paths of the agent bind its commands", async () => {
  const { text } = toolBench();
  const context = { writablePaths: ["src/**"] };
  expect(
    await text("exec_shell", { script: "mkdir -p src/a && echo x > src/a/ok && echo y > other" }, context),
  ).toMatch(/^ERROR .*denied/s);
  expect(JSON.parse(await text("fs_list"))).toEqual([{ name: "src", type: "directory", size: 0 }]);
});

test("SE-31: an abort ends the command in the sandbox", async () => {
  const { call, sandbox } = toolBench();
  const abort = new AbortController();
  const key = "run/aborted";
  const running = call("exec_run", { command: "sleep", args: ["30"] }, { key, signal: abort.signal });
  while ((await sandbox.poll(execIdOf(key), "probe").catch(() => null)) === null);
  abort.abort(new Error("cancelled"));
  await expect(running).rejects.toThrow("cancelled");
  const states: string[] = [];
  for await (const event of sandbox.attach(
    execIdOf(key),
    0,
    Date.now() + 5000,
    new AbortController().signal,
  )) {
    if (event.type === "exit") states.push(event.reason);
  }
  expect(states).toEqual(["killed"]);
});

test("SE-33: a call that was interrupted while its command ran gets the whole outcome; the command ran once", async () => {
  const { call, text, sandbox, memos } = toolBench();
  const key = "run/interrupted";
  const args = { script: "echo x >> log; echo done" };
  memos.set(key, await sandbox.instance());
  await sandbox.start(
    { argv: ["sh", "-c", args.script], execId: execIdOf(key), timeoutMs: 20_000 },
    new AbortController().signal,
  );
  expect(await text("exec_shell", args, { key, attempt: 2 })).toBe("done\n[exit 0]");
  expect(await text("fs_read", { path: "log" })).toBe("x\n");
  expect(await call("exec_shell", args, { key, attempt: 3 })).toMatchObject({ content: "done\n[exit 0]" });
  expect(await text("fs_read", { path: "log" })).toBe("x\n");
});

test("TB-29: 404 from the instance noted at the start means it never arrived: it starts now", async () => {
  const { text, sandbox, memos } = toolBench();
  memos.set("run/never", await sandbox.instance());
  expect(await text("exec_shell", { script: "echo now" }, { key: "run/never", attempt: 2 })).toBe(
    "now\n[exit 0]",
  );
  expect(await text("exec_shell", { script: "echo too" }, { key: "run/unnoted", attempt: 2 })).toBe(
    "too\n[exit 0]",
  );
});

test("TB-29: another instance, or a command the sandbox lost: unknown, and nothing is started", async () => {
  let workspace = createLocalWorkspace();
  const { call, text, sandbox, memos } = toolBench(() => ({ fetch: (request) => workspace.fetch(request) }));
  const unknown = {
    status: "unknown",
    isError: true,
    content: expect.stringMatching(/^unknown: .*check before repeating/),
  };
  memos.set("run/elsewhere", "another-instance");
  expect(
    await call("exec_shell", { script: "echo x > f" }, { key: "run/elsewhere", attempt: 2 }),
  ).toMatchObject(unknown);
  const key = "run/lost";
  memos.set(key, await sandbox.instance());
  const argv = ["sh", "-c", "sleep 30"];
  await sandbox.start({ argv, execId: execIdOf(key), timeoutMs: 30_000 }, new AbortController().signal);
  const before = workspace;
  workspace = workspace.restart();
  expect(await call("exec_shell", { script: "sleep 30" }, { key, attempt: 2 })).toMatchObject(unknown);
  expect(await text("fs_list")).toBe("[]");
  await before.fetch(new Request(`http://s/v1/sandbox/a/exec/${execIdOf(key)}`, { method: "DELETE" }));
});

test("TB-16: background returns at once; exec_poll tells what is new; exec_kill ends it", async () => {
  const { text, call, sandbox } = toolBench();
  const key = "run/background";
  const started = JSON.parse(
    await text("exec_shell", { script: "echo one; sleep 30; echo two", background: true }, { key }),
  ) as { exec_id: string };
  expect(started).toEqual({ exec_id: execIdOf(key) });
  const { exec_id } = started;
  for await (const event of sandbox.attach(exec_id, 0, Date.now() + 5000, new AbortController().signal)) {
    if (event.type === "stdout") break;
  }
  const first = { state: "running", exit_code: null, stdout: "one\n", stderr: "", next_poll_ms: 5000 };
  expect(JSON.parse(await text("exec_poll", { exec_id }, { key: "run/p1" }))).toEqual(first);
  expect(JSON.parse(await text("exec_poll", { exec_id }, { key: "run/p1", attempt: 2 }))).toEqual(first);
  expect(JSON.parse(await text("exec_poll", { exec_id }, { key: "run/p2" }))).toMatchObject({ stdout: "" });
  const now = 1_000_000;
  const waiting = await call("exec_poll", { exec_id, wait: 8 }, { key: "run/p3", now: () => now });
  expect(waiting).toEqual({ parked: { on: "exec", until: now + 5000 } });
  expect(await call("exec_poll", { exec_id, wait: 8 }, { key: "run/p3", now: () => now + 5000 })).toEqual({
    parked: { on: "exec", until: now + 8000 },
  });
  expect(await call("exec_poll", { exec_id, wait: 0.0005 }, { key: "run/p4", now: () => now })).toEqual({
    parked: { on: "exec", until: now + 1 },
  });
  expect(
    JSON.parse(await text("exec_poll", { exec_id, wait: 8 }, { key: "run/p3", now: () => now + 8000 })),
  ).toMatchObject({ state: "running" });
  expect(JSON.parse(await text("exec_kill", { exec_id }))).toEqual({ state: "killed", exit_code: 143 });
  expect(JSON.parse(await text("exec_kill", { exec_id }))).toEqual({ state: "killed", exit_code: 143 });
  expect(JSON.parse(await text("exec_poll", { exec_id, wait: 60 }))).toEqual({
    state: "killed",
    exit_code: 143,
    stdout: "",
    stderr: "",
    next_poll_ms: null,
  });
  expect(await text("exec_poll", { exec_id: "nope" })).toMatch(/^ERROR not_found: /);
  expect(await text("exec_kill", { exec_id: "nope" })).toMatch(/^ERROR not_found: /);
});

test("TB-16: a rerun of a background start starts nothing twice", async () => {
  const { text, sandbox } = toolBench();
  const args = { script: "echo x >> log", background: true };
  const first = await text("exec_shell", args, { key: "run/bg" });
  for await (const event of sandbox.attach(
    execIdOf("run/bg"),
    0,
    Date.now() + 5000,
    new AbortController().signal,
  ))
    void event;
  expect(await text("exec_shell", args, { key: "run/bg", attempt: 2 })).toBe(first);
  expect(await text("fs_read", { path: "log" })).toBe("x\n");
});

test("★ SE-33 TB-29: a background start whose answer is lost is found again, and told as running", async () => {
  let lost = 0;
  const { text, call, sandbox } = toolBench((fetcher) => ({
    fetch: async (request) => {
      const isStart = request.method === "POST" && request.url.endsWith("/exec");
      const response = await fetcher.fetch(request);
      if (!isStart) return response;
      lost += 1;
      throw new Error("connection reset");
    },
  }));
  const key = "run/lost";
  const started = await call("exec_shell", { script: "echo x >> log", background: true }, { key });
  const exec_id = execIdOf(key);
  expect(started).toMatchObject({ content: JSON.stringify({ exec_id }), background: { exec: exec_id } });
  for await (const event of sandbox.attach(exec_id, 0, Date.now() + 5000, new AbortController().signal))
    void event;
  expect([lost, await text("fs_read", { path: "log" })]).toEqual([1, "x\n"]);
});

test("★ TB-29: a background start is unknown if the sandbox has another memory after its lost answer", async () => {
  const other = toolBench();
  let isLost = false;
  const { call } = toolBench((fetcher) => ({
    fetch: async (request) => {
      if (isLost) return other.workspace.fetch(request);
      isLost = request.method === "POST" && request.url.endsWith("/exec");
      const response = await fetcher.fetch(request);
      if (!isLost) return response;
      throw new Error("connection reset");
    },
  }));
  const background = { script: "echo x >> log", background: true };
  expect(await call("exec_shell", background)).toMatchObject({ status: "unknown", isError: true });
  expect(await other.text("fs_list")).toBe("[]");
});
