import { expect, test } from "vitest";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf, never } from "./bench.ts";

/** A repository with one commit. */
const begin = "git init -q; echo one > a; git add a; git commit -q -m first";

/** Git in the sandbox: as a command, and behind its routes. */
export function gitGroup(connect: () => Fetcher): void {
  test("TB-17: git works in a shell, on branches, stashes and merges", async () => {
    const { run } = bench(connect);
    const { stdout, stderr, code } = await run(
      [
        `${begin} && git checkout -b side && echo two > b && git add b && git commit -m second`,
        "git checkout main && git merge side && echo three >> a && git stash && git stash pop",
        "git status --short && git log --oneline | cut -d' ' -f2 && git -C . rev-parse HEAD",
      ].join(" && "),
    );
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("fatal")]);
    expect(stdout).toMatch(/ M a\nsecond\nfirst\n[0-9a-f]{40}\n$/);
  });

  test("TB-17: commits are by the author of the environment, else by Limpet", async () => {
    const { run } = bench(connect);
    const { stdout } = await run(
      `${begin}; export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.com; echo x >> a; git commit -am x >/dev/null; git log --format='%an <%ae>'`,
    );
    expect(stdout).toBe("Ada <ada@example.com>\nLimpet <agent@localhost>\n");
  });

  test("TB-17: no hook, alias, filter or helper of a repository runs, and no remote is reached", async () => {
    const { run } = bench(connect);
    const planted = [
      "mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch ran\\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit",
      "git config alias.x '!touch ran'; git config core.fsmonitor 'touch ran'; git config diff.external 'touch ran'",
      "echo two >> a; git x; git diff; git commit -am two; git clone ext::'touch ran' y; ls ran",
    ];
    const { stdout } = await run(`${begin}; ${planted.join("; ")}`);
    expect(stdout).not.toMatch(/^ran$/m);
    const { egress } = await bench(connect).sandbox.capabilities();
    if (egress === "open") return;
    expect((await run("git clone https://example.com/x.git")).code).not.toBe(0);
  });

  test("TB-17: commits that come at the same time all arrive", async () => {
    const { run } = bench(connect);
    await run(begin);
    const names = Array.from({ length: 8 }, (_, index) => `f${index}`);
    const done = await Promise.all(
      names.map((name) => run(`echo ${name} > ${name}; git add ${name} && git commit -m ${name}`)),
    );
    const commits = done.filter(({ code }) => code === 0).length;
    const { stdout } = await run("git log --oneline | wc -l; git ls-files | wc -l; git status --short");
    expect(stdout.trim().split(/\s+/).map(Number)).toEqual([commits + 1, names.length + 1]);
  });

  test("TB-28: git answers behind its routes, and names what is wrong", async () => {
    const { raw, run, sandbox } = bench(connect);
    const options = { signal: never };
    if (!(await sandbox.capabilities()).git) return;
    await run(`${begin}; echo two >> a; echo b > b`);
    expect(await sandbox.git("status", { short: true }, options)).toBe(" M a\n?? b\n");
    expect(await sandbox.git("diff", { path: "a" }, options)).toMatch(/\n\+two\n$/);
    const hash = await sandbox.git("commit", { message: "second", files: ["b"] }, options);
    expect(await sandbox.git("log", { count: 1 }, options)).toBe(`${hash} second\n`);
    expect(await codeOf(sandbox.git("diff", { path: "../a" }, options))).toBe("path_outside");
    expect(await codeOf(sandbox.git("status", { directory: "/etc" }, options))).toBe("path_outside");
    expect(await codeOf(sandbox.git("commit", { message: "-m", all: true }, options))).toBe(
      "invalid_request",
    );
    expect(await codeOf(sandbox.git("commit", { message: "x" }, options))).toBe("invalid_request");
    expect(await codeOf(sandbox.git("log", { count: 500 }, options))).toBe("invalid_request");
    expect((await raw("POST", "/git/push", { body: "{}" })).status).toBe(501);
    await run("rm -rf .git");
    expect(await codeOf(sandbox.git("log", {}, options))).toBe("workspace_read_not_found");
  });

  test("TB-33: git in a large repository keeps nobody waiting, and ends with its time-out", async () => {
    const { run, sandbox, put } = bench(connect);
    const lines = (step: number): string =>
      Array.from(
        { length: 20_000 },
        (_, index) => `words that differ ${index % step === 0 ? -index : index}\n`,
      ).join("");
    await put("big", lines(1000));
    expect((await run("git init -q; git add big && git commit -q -m big && git status --short")).stdout).toBe(
      "",
    );
    await put("big", lines(999));
    expect((await run("git diff | grep -c '^+words'")).stdout).toBe("39\n");
    const running = run("while true; do git diff > /dev/null; done", { timeoutMs: 1500 });
    const asked = performance.now();
    expect((await sandbox.stat("big")).type).toBe("file");
    expect(performance.now() - asked).toBeLessThan(1000);
    expect((await running).reason).toBe("timeout");
    expect(performance.now() - asked).toBeLessThan(6000);
    await put("big", Array.from({ length: 200_000 }, (_, index) => `none is the same ${index}\n`).join(""));
    const long = await run("git diff > /dev/null; git status --short", { timeoutMs: 5000 });
    expect(["exited", "limit", "timeout"]).toContain(long.reason);
    expect((await run("echo alive")).stdout).toBe("alive\n");
  });
}
