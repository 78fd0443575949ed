import { expect, test } from "vitest";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf, everything, freshKey } from "./bench.ts";

const key = () => ({ key: freshKey() });

const outsidePaths = [
  "..",
  "../x",
  "a/../../x",
  "/etc/passwd",
  "/",
  "/workspacex/y",
  "/workspace/../etc/passwd",
  "./../x",
  "a\0b",
  "//etc/passwd",
  "x/./../../y",
];

/** The jail (TB-30) and writable paths (TB-31). */
export function jailGroup(connect: () => Fetcher): void {
  test("TB-30: every way out is path_outside, for every operation", async () => {
    const { sandbox, put, raw } = bench(connect);
    await put("a/file", "x");
    for (const path of outsidePaths) {
      const attempts = [
        sandbox.stat(path),
        sandbox.list(path),
        sandbox.change("mkdir", { path }, key()),
        sandbox.change("delete", { path, recursive: true }, key()),
        sandbox.change("edit", { path, old_text: "", new_text: "x" }, key()),
        sandbox.change("move", { source: path, destination: "b" }, key()),
        sandbox.change("move", { source: "a/file", destination: path }, key()),
        sandbox.change("copy", { source: "a/file", destination: path, overwrite: true }, key()),
        sandbox.searchContent({ pattern: "x", directory: path }),
        sandbox.diff("a/file", path),
      ];
      expect(new Set(await Promise.all(attempts.map(codeOf)))).toEqual(new Set(["path_outside"]));
    }
    for (const path of ["..%2f..%2fetc%2fpasswd", "a%00b", "%2e%2e%2fx"]) {
      expect((await raw("GET", `/file/workspace/${path}`)).status).toBe(403);
      expect((await raw("PUT", `/file/workspace/${path}`, { body: "x" })).status).toBe(403);
    }
    expect((await raw("GET", "/file/etc/passwd")).status).toBe(403);
    expect(Object.keys(await everything(sandbox))).toEqual(["a/file"]);
  });

  test("TB-30: links that lead out give nothing away and take nothing, by tools and by commands", async () => {
    const { run, sandbox, put } = bench(connect);
    await put("d/inside", "inside");
    await run(
      "ln -s /etc etc; ln -s ../../.. up; ln -s /proc/self/root rootlink; ln -s d good; ln -s loop loop",
    );
    for (const path of ["etc/passwd", "up/etc/passwd", "rootlink/etc/passwd", "etc", "loop/x"]) {
      expect(["path_outside", "workspace_read_not_found", "conflict"]).toContain(
        await codeOf(sandbox.read(path)),
      );
      expect(["path_outside", "path_not_writable", "workspace_read_not_found", "conflict"]).toContain(
        await codeOf(sandbox.write(`${path}/new`, "x", key())),
      );
    }
    expect(new TextDecoder().decode(await sandbox.read("good/inside"))).toBe("inside");
    await run("cat etc/passwd > stolen; cat rootlink/etc/passwd >> stolen; cp /etc/passwd stolen2");
    expect((await run("cat stolen stolen2; env; cat /proc/self/environ")).stdout).not.toMatch(
      /root:|\/work\/|node_modules/,
    );
    const copied = await sandbox
      .change("copy", { source: ".", destination: "../x" }, key())
      .catch(() => null);
    expect(copied).toBeNull();
  });

  test("TB-30: a folder that is swapped for a link in a loop never lets a write out of bounds", async () => {
    const { run, sandbox, put } = bench(connect);
    await put("infra/secret", "secret");
    await put("src/dir/secret", "mine");
    const bounds = { writablePaths: ["src/**"] };
    const swaps = run(
      "for i in $(seq 1 60); do rm -rf src/dir; ln -s ../infra src/dir; rm src/dir; mkdir -p src/dir; done",
    );
    const writes = Array.from({ length: 60 }, () =>
      codeOf(sandbox.write("src/dir/secret", "overwritten", { ...key(), ...bounds })),
    );
    await Promise.all([swaps, ...writes]);
    expect(new TextDecoder().decode(await sandbox.read("infra/secret"))).toBe("secret");
  });

  test("TB-30: git hooks, git config and .skills are closed to file tools, also by moving around them", async () => {
    const { run, sandbox } = bench(connect);
    await run("mkdir -p .git/hooks repo/.git; echo c > .git/config; echo c > repo/.git/config");
    const before = await everything(sandbox);
    const refused = [
      sandbox.write(".git/hooks/pre-commit", "evil", key()),
      sandbox.write(".git/config", "evil", key()),
      sandbox.write("repo/.git/config", "evil", key()),
      sandbox.write("x/.git", "gitdir: evil", key()),
      sandbox.write(".skills/a/SKILL.md", "evil", key()),
      sandbox.change("delete", { path: ".git", recursive: true }, key()),
      sandbox.change("move", { source: ".git", destination: "g" }, key()),
      sandbox.change("move", { source: "repo", destination: "r" }, key()),
      sandbox.change("copy", { source: "repo", destination: "r" }, key()),
      sandbox.change("edit", { path: ".git/config", old_text: "c", new_text: "evil" }, key()),
    ];
    expect(new Set(await Promise.all(refused.map(codeOf)))).toEqual(new Set(["path_not_writable"]));
    expect(await everything(sandbox)).toEqual(before);
  });

  test("TB-31: writable paths bind every file operation, at both ends, in all shapes", async () => {
    const { put, sandbox } = bench(connect);
    await put("src/a.ts", "a");
    await put("src/in/b.ts", "b");
    await put("lib/c.ts", "c");
    await put("top.md", "t");
    const before = await everything(sandbox);
    const shapes: readonly (readonly [readonly string[], readonly string[], readonly string[]])[] = [
      [["src/**"], ["src/a.ts", "src/in/b.ts"], ["lib/c.ts", "top.md"]],
      [["*.md"], ["top.md"], ["src/a.ts", "lib/c.ts"]],
      [["**"], ["top.md", "src/in/b.ts"], []],
      [["**/b.ts"], ["src/in/b.ts"], ["src/a.ts", "top.md"]],
      [["src/**/b.ts"], ["src/in/b.ts"], ["src/a.ts"]],
      [
        ["src/*.ts", "lib/c.ts"],
        ["src/a.ts", "lib/c.ts"],
        ["src/in/b.ts", "top.md"],
      ],
      [[], [], ["src/a.ts", "top.md"]],
      [["/abs/**", "../up", "~/x", "{src,lib}/**", "a**", "a/**/b/**", ""], [], ["src/a.ts", "top.md"]],
    ];
    for (const [writablePaths, allowed, closed] of shapes) {
      for (const path of allowed) {
        const original = await sandbox.read(path);
        expect([
          writablePaths,
          path,
          await codeOf(sandbox.write(path, original, { ...key(), writablePaths })),
        ]).toEqual([writablePaths, path, "none"]);
      }
      for (const path of closed) {
        expect([
          writablePaths,
          path,
          await codeOf(sandbox.write(path, "x", { ...key(), writablePaths })),
        ]).toEqual([writablePaths, path, "path_not_writable"]);
      }
    }
    const bound = () => ({ ...key(), writablePaths: ["src/**"] });
    const refused = [
      sandbox.change("move", { source: "lib/c.ts", destination: "src/c.ts" }, bound()),
      sandbox.change("move", { source: "src/a.ts", destination: "lib/a.ts" }, bound()),
      sandbox.change("copy", { source: "src", destination: "lib/src" }, bound()),
      sandbox.change("delete", { path: "lib", recursive: true }, bound()),
      sandbox.change("mkdir", { path: "other" }, bound()),
      sandbox.change("edit", { path: "top.md", old_text: "t", new_text: "x" }, bound()),
      sandbox.change("patch", { path: "top.md", hunks: [{ old_text: "t" }] }, bound()),
      sandbox.change(
        "apply_patch",
        {
          patch:
            "*** Begin Patch\n*** Update File: src/a.ts\n*** Move to: lib/x.ts\n@@\n-a\n+b\n*** End Patch",
        },
        bound(),
      ),
    ];
    expect(new Set(await Promise.all(refused.map(codeOf)))).toEqual(new Set(["path_not_writable"]));
    expect(await everything(sandbox)).toEqual(before);
  });

  test("TB-7: what is closed to a request is neither changed nor copied nor found by it, and it follows no link", async () => {
    const { put, run, sandbox } = bench(connect);
    await put("infra/main.tf", "keep");
    await put("lib/x", "keep");
    await run("ln -s ../infra lib/link");
    const before = await everything(sandbox);
    const bound = sandbox.closing(["**/*.tf"]);
    const tree = { source: "infra", destination: "b" };
    const onto = { source: "lib", destination: "infra", overwrite: true };
    const closed = [
      bound.change("delete", { path: "infra", recursive: true }, key()),
      ...(["move", "copy"] as const).flatMap((op) => [
        bound.change(op, tree, key()),
        bound.change(op, onto, key()),
      ]),
    ];
    expect(new Set(await Promise.all(closed.map(codeOf)))).toEqual(new Set(["path_not_writable"]));
    const linked = [
      bound.read("lib/link/main.tf"),
      bound.stat("lib/link"),
      bound.list("lib/link"),
      bound.diff("lib/x", "lib/link/main.tf"),
      bound.write("lib/link/y", "y", key()),
      bound.searchFiles({ pattern: "**", directory: "lib/link" }),
    ];
    expect(new Set(await Promise.all(linked.map(codeOf)))).toEqual(new Set(["path_outside"]));
    expect((await bound.searchContent({ pattern: "keep" })).matches.map(({ path }) => path)).toEqual([
      "lib/x",
    ]);
    expect(await everything(sandbox)).toEqual(before);
    expect(await codeOf(sandbox.closing([]).change("delete", { path: "lib/link" }, key()))).toBe("none");
  });

  test("★ TB-7: what a request itself names is closed to it, too: it neither reads nor writes it", async () => {
    const { put, sandbox } = bench(connect);
    await put("infra/main.tf", "keep");
    await put("a", "1");
    const before = await everything(sandbox);
    const bound = sandbox.closing(["infra/*"]);
    const patch = "*** Begin Patch\n*** Update File: infra/main.tf\n@@\n-keep\n+x\n*** End Patch";
    const closed = [
      bound.read("infra/main.tf"),
      bound.stat("infra/main.tf"),
      bound.diff("a", "infra/main.tf"),
      bound.searchContent({ pattern: "keep", directory: "infra/main.tf" }),
      bound.write("infra/main.tf", "x", key()),
      bound.write("infra/new", "x", key()),
      bound.change("mkdir", { path: "infra/b" }, key()),
      bound.change("edit", { path: "infra/main.tf", old_text: "keep", new_text: "x" }, key()),
      bound.change("patch", { path: "infra/main.tf", hunks: [{ old_text: "keep" }] }, key()),
      bound.change("apply_patch", { patch }, key()),
    ];
    expect(await Promise.all(closed.map(codeOf))).toEqual(closed.map(() => "path_not_writable"));
    expect(await everything(sandbox)).toEqual(before);
    const reading = sandbox.closing([{ act: "write", match: "infra/*" }]);
    expect(new TextDecoder().decode(await reading.read("infra/main.tf"))).toBe("keep");
    expect(await codeOf(reading.write("infra/main.tf", "x", key()))).toBe("path_not_writable");
  });

  test("TB-7: a copy that goes through no link takes those along that stay inside", async () => {
    const { put, run, sandbox } = bench(connect);
    await put("lib/x", "1");
    await run("ln -s x lib/near; ln -s /etc/passwd lib/far");
    const { message } = await sandbox
      .closing(["infra/**"])
      .change("copy", { source: "lib", destination: "b" }, key());
    expect(message).toBe("Omitted, since they lead out of the workspace: lib/far");
    expect((await sandbox.list("b")).map(({ name }) => name)).toEqual(["near", "x"]);
  });

  test("TB-7: no folder is made on the way that is closed to a request", async () => {
    const { put, sandbox } = bench(connect);
    await put("lib/x", "1");
    const before = await everything(sandbox);
    const bound = sandbox.closing(["a/infra"]);
    const deep = { source: "lib", destination: "a/infra/b/c" };
    const made = [
      bound.change("mkdir", { path: "a/infra/b" }, key()),
      bound.write("a/infra/b/x", "x", key()),
      bound.change("edit", { path: "a/infra/x", old_text: "", new_text: "x" }, key()),
      bound.change("copy", deep, key()),
      bound.change("move", deep, key()),
      bound.change("copy", { ...deep, source: "lib/x" }, key()),
    ];
    expect(await Promise.all(made.map(codeOf))).toEqual(made.map(() => "path_not_writable"));
    expect(await everything(sandbox)).toEqual(before);
    await bound.change("mkdir", { path: "a/b/infra/c" }, key());
    await put("a/infra/x", "there");
    expect(await codeOf(bound.write("a/infra/b/x", "x", key()))).toBe("none");
  });

  test("TB-31: writable paths bind commands: redirections, mv, cp, links, hard links, editors", async () => {
    const { put, run, sandbox } = bench(connect);
    await put("src/a", "a\n");
    await put("infra/b", "b\n");
    const infra = await sandbox.stat("infra/b");
    const scripts = [
      "echo evil > infra/b",
      "echo evil >> infra/b",
      "echo evil | tee infra/b",
      "cp src/a infra/b",
      "mv src/a infra/b",
      "mv infra/b src/b",
      "rm infra/b",
      "rm -rf infra",
      "sed -i s/b/evil/ infra/b",
      "ln -s ../infra src/link; echo evil > src/link/b",
      "ln -s ../infra/b src/file; echo evil > src/file; cp src/a src/file",
      "ln infra/b src/hard; echo evil > src/hard",
      "cd infra && echo evil > b",
      "mkdir infra/new; touch infra/new2",
      "chmod 777 infra/b; mv infra infra2",
      "mv src src2",
      "(cd src; echo evil > ../infra/b)",
      "eval 'echo evil > infra/b'",
      "echo infra/b | xargs -I{} cp src/a {}",
      "find src -name a -exec cp {} infra/b \\;",
      "sh -c 'echo evil > infra/b'",
    ];
    for (const script of scripts) await run(script, { writablePaths: ["src/**"] });
    expect(await sandbox.stat("infra/b")).toMatchObject({ sha256: infra.sha256, mode: infra.mode });
    expect((await sandbox.list("infra")).map(({ name }) => name)).toEqual(["b"]);
    const allowed = await run("echo ok > src/new; mkdir src/d; mv src/new src/d/n; cat src/d/n", {
      writablePaths: ["src/**"],
    });
    expect(allowed.stdout).toBe("ok\n");
    const none = await run("echo x > anything", { writablePaths: [] });
    expect(none.code).not.toBe(0);
  });

  test("TB-31: a refused redirection fails its own command, and the script goes on, as in sh", async () => {
    const { run } = bench(connect);
    for (const [script, expected] of [
      ["echo x > closed; echo rc=$?", /^rc=[12]\n$/],
      ["echo x >> closed; echo rc=$?", /^rc=[12]\n$/],
      ["ls nothing 2> closed; echo rc=$?", /^rc=[12]\n$/],
      ["> closed; echo rc=$?", /^rc=[12]\n$/],
      ["echo a; echo x > closed && echo yes || echo no; echo end", /^a\nno\nend\n$/],
      ["if echo x > closed; then echo yes; else echo no; fi", /^no\n$/],
      ["for i in 1 2; do echo $i > closed; echo i=$i; done", /^i=1\ni=2\n$/],
      ["{ echo in; echo side; } > closed; echo rc=$?", /^rc=[12]\n$/],
      ["(echo in) > closed; echo rc=$?", /^rc=[12]\n$/],
      ["f() { echo in; }; f > closed; echo rc=$?", /^rc=[12]\n$/],
      ["echo x | cat > closed; echo rc=$?", /^rc=[12]\n$/],
      ["a=$(echo x > closed; echo inside); echo a=$a", /^a=inside\n$/],
      ["sh -c 'echo x > closed; echo inside'; echo rc=$?", /^inside\nrc=0\n$/],
      ["set -e; echo x > closed; echo never", /^$/],
    ] as const) {
      const { stdout, stderr } = await run(script, { writablePaths: ["src/**"] });
      expect(stdout, script).toMatch(expected);
      expect(stderr, script).toMatch(/closed: .*permission denied/i);
    }
  });

  test("TB-32: commands see PATH HOME LANG TZ and the sandbox's env, nothing of the host", async () => {
    const { raw, run } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ env: { NODE_ENV: "test" } }) });
    const { stdout } = await run('echo "$PATH|$HOME|$LANG|$TZ|$NODE_ENV"; env', { env: { MORE: "1" } });
    expect(stdout.split("\n")[0]).toMatch(/^[^|]+\|\/[^|]*\|C\.UTF-8\|UTC\|test$/);
    expect(stdout).toContain("MORE=1");
    expect(stdout).not.toMatch(/npm_|VITEST|CLOUDFLARE|WRANGLER|API_KEY/i);
  });
}
