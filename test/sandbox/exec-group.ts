import { expect, test } from "vitest";
import { EventParser } from "../../src/sandbox/sse.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf, collect, frames, freshKey, never, outcomeOf } from "./bench.ts";

/** Commands: order, codes, bytes, time-outs, kill, start-once, reattachment. */
export function execGroup(connect: () => Fetcher): void {
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

  test("TB-28: what a script prints goes where the one that runs it says", async () => {
    const { run, put } = bench(connect);
    await put("say.sh", "echo out\necho err >&2\n");
    await put("use.sh", 'kept=$(sh say.sh 2> /dev/null)\necho "kept $kept"\nsh say.sh > file 2>&1\n');
    const { stdout, stderr } = await run("sh use.sh; sh say.sh 2> /dev/null; cat file | wc -l");
    expect([stdout.split("\n").map((line) => line.trim()), stderr]).toEqual([
      ["kept out", "out", "2", ""],
      "",
    ]);
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

  test("TB-16: a poll of a command that prints on and on ends, and the next one begins where it ended", async () => {
    const { raw, sandbox } = bench(connect);
    const execId = freshKey();
    const script = "for i in $(seq 50); do echo $i; sleep 0.02; done";
    await sandbox.start({ argv: ["sh", "-c", script], execId, timeoutMs: 120_000 }, never);
    for await (const { type } of sandbox.attach(execId, 0, Date.now() + 100_000, never))
      if (type === "stdout") break;
    const reader = (await raw("GET", `/exec/${execId}?reader=slow`)).body?.getReader();
    const parser = new EventParser();
    let slow = "";
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
      for (const { event, data } of parser.push(part.value)) slow += event === "stdout" ? atob(data) : "";
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await collect(sandbox.attach(execId, 0, Date.now() + 100_000, never));
    const rest = outcomeOf(await sandbox.poll(execId, "next")).stdout;
    expect(slow + rest).toBe(Array.from({ length: 50 }, (_, index) => `${index + 1}\n`).join(""));
  });

  test("TB-35: cp into a folder that is there already keeps what lies in it", async () => {
    const { run, text } = bench(connect);
    const made = "mkdir -p a/s b/s; echo 1 > a/x; echo 2 > a/s/x; echo 3 > b/y; echo 4 > b/s/y; echo 0 > b/x";
    expect((await run(`${made}; cp -r a/. b/; cp -r a/s b; ls b b/s`)).stdout).toBe(
      "b:\ns\nx\ny\n\nb/s:\nx\ny\n",
    );
    expect([await text("b/x"), await text("b/s/y")]).toEqual(["1\n", "4\n"]);
    expect((await run("cp -r a/. . && cat x y; cat s/x")).stdout).toBe("1\n2\n");
    await run("echo t > t; ln -s t l; cp l c; cp x l");
    expect([await text("c"), await text("t"), (await run("readlink l")).stdout]).toEqual([
      "t\n",
      "1\n",
      "t\n",
    ]);
  });

  test.each([
    ["a folder over a filled one", "mkdir -p a b/a; echo 1 > a/x; echo kept > b/a/y; mv a b", "b/a/y"],
    ["a folder over a file", "mkdir a; echo kept > f; mv a f", "f"],
    ["a file over a folder", "mkdir -p b/f; echo kept > b/f/y; echo 1 > f; mv f b", "b/f/y"],
    ["a copied folder over a file", "mkdir a; echo kept > f; cp -r a f", "f"],
    ["a copied file over a folder", "mkdir -p b/f; echo kept > b/f/y; echo 1 > f; cp f b", "b/f/y"],
  ])("TB-35: mv and cp destroy nothing with %s", async (_, script, path) => {
    const { run, text } = bench(connect);
    expect((await run(script)).code).not.toBe(0);
    expect(await text(path)).toBe("kept\n");
  });

  test("TB-33: of a huge output the first and last part are kept, and the cut is marked", async () => {
    const { put, run, sandbox, raw } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { output: 200_000 } }) });
    await put("big", "0123456789\n".repeat(20_000));
    const execId = freshKey();
    await run("echo first; cat big; cat big; echo last", { execId });
    const { stdout, events } = await collect(sandbox.attach(execId, 0, Date.now() + 8000, never));
    expect(stdout.length).toBeLessThan(200_100);
    expect(stdout.length).toBeGreaterThan(100_000);
    expect(stdout.startsWith("first\n0123456789\n")).toBe(true);
    expect(stdout.endsWith("0123456789\nlast\n")).toBe(true);
    expect(stdout).toMatch(/\n\[\d+ bytes not kept\]\n/);
    expect(events.at(-1)).toMatchObject({ type: "exit", truncated: true });
  });

  test("★ TB-33: who follows a command from its start gets as much of a huge output as who comes later", async () => {
    const { put, run, sandbox, raw } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { output: 200_000 } }) });
    await put("big", "0123456789\n".repeat(5_000));
    const execId = freshKey();
    const script = "echo first; for i in $(seq 40); do cat big; echo $i >&2; sleep 0.01; done; echo last";
    const live = await run(script, { execId });
    const later = await collect(sandbox.attach(execId, 0, Date.now() + 8000, never));
    expect(live.stdout.length).toBeLessThan(200_100);
    expect([live.stdout, live.stderr]).toEqual([later.stdout, later.stderr]);
    expect(live.stderr).toMatch(/^1\n2\n[^]*\n40\n$/);
    expect(live.stdout.endsWith("0123456789\nlast\n")).toBe(true);
  });

  test("TB-33: an output is cut between its characters", async () => {
    const { put, run, raw } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { output: 16_384 } }) });
    await put("big", "€".repeat(20_000));
    const { stdout } = await run("cat big");
    expect(stdout).toMatch(/^€+\n\[\d+ bytes not kept\]\n€+$/);
  });

  test("TB-33: a small output limit keeps the first and last part, too", async () => {
    const { put, run, raw } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { output: 16_384 } }) });
    await put("big", `first\n${"0123456789\n".repeat(10_000)}last\n`);
    const execId = freshKey();
    await run("cat big", { execId });
    const { stdout } = await run("cat big", { execId });
    expect(stdout.length).toBeGreaterThan(8_192);
    expect(stdout.length).toBeLessThan(16_500);
    expect(stdout).toMatch(/^first\n0123456789\n[^]*\n\[\d+ bytes not kept\]\n[^]*0123456789\nlast\n$/);
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
