import { expect, test } from "vitest";
import { toolBench } from "./bench.ts";

/** A workspace with a repository of one commit. */
async function repository(wrap?: Parameters<typeof toolBench>[0]) {
  const bench = toolBench(wrap);
  await bench.text("exec_shell", { script: "git init -q; echo one > a; git add a; git commit -q -m first" });
  return bench;
}

test("TB-17: files are committed by their names or all together, and status, diff and log show it", async () => {
  const { text } = await repository();
  expect(await text("git_status", { short: true })).toBe("nothing to commit, working tree clean");
  await text("exec_shell", { script: "echo two >> a; echo b > b; mkdir d; echo c > d/c" });
  expect(await text("git_status", { short: true })).toBe(" M a\n?? b\n?? d/\n");
  expect(await text("git_status")).toMatch(/^On branch main\n[^]*modified: +a\n/);
  expect(await text("git_diff")).toMatch(/^diff --git a\/a b\/a\n[^]*\n\+two\n$/);
  expect(await text("git_diff", { path: "d" })).toBe("no changes");
  const hash = await text("git_commit", { message: "Add b and c", files: ["b", "d"] });
  expect(hash).toMatch(/^[0-9a-f]{40}$/);
  expect(await text("git_status", { short: true })).toBe(" M a\n");
  await text("exec_shell", { script: "rm b; git add a" });
  expect(await text("git_diff", { staged: true })).toMatch(/\n\+two\n$/);
  await text("git_commit", { message: "All\n\nof it", all: true });
  expect(await text("git_log", { count: 2 })).toBe(
    `${await text("git_log", { count: 1 })}${hash} Add b and c\n`,
  );
  expect(await text("git_status")).toMatch(/nothing to commit, working tree clean\n$/);
  expect(await text("git_commit", { message: "Nothing", all: true })).toMatch(
    /^ERROR conflict: .*nothing to commit/s,
  );
});

test("TB-17: ★ no option, pattern or way out hides in a path, a message or a format", async () => {
  const { text } = await repository();
  const before = await text("git_log");
  for (const [tool, args] of [
    ["git_diff", { path: "/etc/passwd" }],
    ["git_diff", { path: "a/../../x" }],
    ["git_commit", { message: "x", files: ["../a"] }],
    ["git_commit", { message: "--amend", all: true }],
    ["git_commit", { message: " \n", all: true }],
    ["git_commit", { message: "x" }],
    ["git_commit", { message: "x", files: ["a"], all: true }],
    ["git_commit", { message: "x", files: [] }],
    ["git_log", { format: "%H" }],
    ["git_log", { count: 201 }],
  ] as const)
    expect(await text(tool, args), JSON.stringify(args)).toMatch(/^ERROR invalid_arguments/);
  await text("exec_shell", { script: "echo x > b" });
  expect(await text("git_commit", { message: "x", files: ["--all"] })).toMatch(/^ERROR conflict: pathspec/);
  expect(await text("git_commit", { message: "x", files: [":(top)b"] })).toMatch(/^ERROR conflict: pathspec/);
  expect(await text("git_diff", { path: "--output=x" })).toBe("no changes");
  expect(await text("git_log")).toBe(before);
});

test("TB-17: without a repository, and without commits, the answer says so", async () => {
  const { text } = toolBench();
  expect(await text("git_status")).toMatch(/^ERROR not_found: not a git repository/);
  await text("exec_shell", { script: "git init -q" });
  expect(await text("git_log")).toMatch(/^ERROR conflict: .*does not have any commits/);
});

test("TB-17: git.work_dir counts from the working_dir", async () => {
  const { text } = toolBench();
  await text("exec_shell", { script: "mkdir -p app/lib; cd app/lib; git init -q; echo x > f" });
  const context = { workingDir: "app", repository: "lib" };
  expect(await text("git_status", { short: true }, context)).toBe("?? f\n");
  expect(await text("git_status", { short: true }, { ...context, repository: "." })).toMatch(
    /^ERROR not_found/,
  );
  expect(await text("git_status", {}, { ...context, repository: "lib/f" })).toMatch(/^ERROR conflict/);
});

test("TB-7: what a read rule closes is left out of status and diff, and the answer says so", async () => {
  const { text, sandbox } = await repository();
  await text("exec_shell", {
    script: "mkdir s; echo key > s/k; git add s; git commit -q -m s; echo more >> s/k; echo two >> a",
  });
  const context = { sandbox: sandbox.closing([{ act: "read", match: "s/**" }]) };
  const left = "\n[Left out, since permission rules close it to this call: s/**]";
  expect(await text("git_status", { short: true }, context)).toBe(` M a\n${left}`);
  expect(await text("git_status", {}, context)).not.toContain("s/k");
  const diff = await text("git_diff", {}, context);
  expect(diff).toMatch(/\+two\n/);
  expect(diff).not.toMatch(/more|key/);
  expect(await text("git_diff", { path: "s/k" }, context)).toBe(`no changes${left}`);
});

test("★ TB-7: no name of an open file and no rename shows what a read rule closes", async () => {
  const { text, sandbox } = await repository();
  await text("exec_shell", {
    script:
      "mkdir s; echo key > s/k; echo moved > s/m; echo x > 's*'; git add -A; git commit -q -m s; echo more >> s/k; echo two >> 's*'; mkdir open; git mv s/m open/m",
  });
  const context = { sandbox: sandbox.closing([{ act: "read", match: "s/**" }]) };
  const diff = await text("git_diff", {}, context);
  expect(diff).toMatch(/\+two\n/);
  expect(diff).not.toMatch(/more|key/);
  expect(await text("git_diff", { staged: true }, context)).not.toMatch(/moved|s\/m/);
  expect(await text("git_diff", { path: "s*" }, context)).not.toMatch(/more|key/);
});

test("TB-17: a name is a name, whatever signs are in it", async () => {
  const { text } = await repository();
  await text("exec_shell", {
    script:
      "mkdir -p 'app/[slug]' s; echo x > 'app/[slug]/page.tsx'; echo k > s/k; echo x > 's*'; git add -A; git commit -q -m s; echo y > 'app/[slug]/page.tsx'; echo y > s/k; echo y > 's*'",
  });
  const page = "app/[slug]/page.tsx";
  for (const path of [page, "app/[slug]", "app"])
    expect(await text("git_diff", { path }), path).toContain(`diff --git a/${page} b/${page}`);
  expect(await text("git_diff", { path: "s*" })).not.toContain("s/k");
  expect(await text("git_commit", { message: "page", files: [page, "s*"] })).toMatch(/^[0-9a-f]{40}$/);
  expect(await text("git_status", { short: true })).toBe(" M s/k\n");
  await text("exec_shell", {
    script: "mkdir 'app/[slug]/n'; echo z > 'app/[slug]/n/f'; echo z > 'app/[slug]/g'",
  });
  expect(await text("git_commit", { message: "folder", files: ["app/[slug]", "s"] })).toMatch(
    /^[0-9a-f]{40}$/,
  );
  await text("exec_shell", { script: "rm -r s" });
  expect(await text("git_commit", { message: "gone", files: ["s/k"] })).toMatch(/^[0-9a-f]{40}$/);
  expect(await text("git_status")).toContain("nothing to commit");
});

test("TB-17: ★ a commit of some files has no others, whoever staged them, and two at a time have one each", async () => {
  const { text } = await repository();
  const sh = async (script: string): Promise<string> =>
    (await text("exec_shell", { script })).replace(/\[exit 0\]$/, "");
  await sh(
    "echo 1 > b; echo 1 > c; git add -A; git commit -qm more; echo 2 > a; echo 2 > b; echo 2 > c; git add c",
  );
  expect(await text("git_commit", { message: "only b", files: ["b"] })).toMatch(
    /^ERROR conflict: staged as well: c; name them too, or unstage them/,
  );
  await sh("git reset -q");
  const made = await Promise.all(
    ["a", "b"].map((file) => text("git_commit", { message: `only ${file}`, files: [file] })),
  );
  for (const [at, file] of ["a", "b"].entries())
    expect(await sh(`git show --name-only --format=%s ${made[at]}`)).toBe(`only ${file}\n\n${file}\n`);
});

test("TB-17: git in the shell knows -q wherever it stands, and commits paths that it knows alone", async () => {
  const { text } = await repository();
  const sh = async (script: string): Promise<string> =>
    (await text("exec_shell", { script })).replace(/\[exit 0\]$/, "");
  expect(await sh("git checkout -q -b next; git branch --show-current")).toBe("next\n");
  expect(await sh("echo 2 > a; git add a; git commit -qm '-q'; echo 3 > a; git commit -m z -a -q")).toBe("");
  expect(await sh("echo 4 > a; git commit -qam x; git log --format=%s -n 3")).toBe("x\nz\n-q\n");
  expect(
    await sh("echo 5 > a; git commit -aq -mq; git log --format=%s -n 1; echo 4 > a; git commit -qam x"),
  ).toBe("q\n");
  expect(await sh("git diff --quiet; echo $?; echo 5 > a; git diff --quiet; echo $?")).toBe("0\n1\n");
  expect(await sh("echo 1 > b; git add a; git commit -m 'only b' -- b")).toContain(
    "pathspec 'b' did not match any file(s) known to git",
  );
  expect(await sh("git add b; git commit -qm 'only b' -- b; git status -s")).toBe("M  a\n");
});

test("TB-31: writable paths bind a commit", async () => {
  const { text } = await repository();
  await text("exec_shell", { script: "echo two >> a" });
  const args = { message: "two", all: true };
  expect(await text("git_commit", args, { writablePaths: ["a"] })).toMatch(/^ERROR not_permitted/);
  expect(await text("git_commit", args, { writablePaths: ["a", ".git/**"] })).toMatch(/^[0-9a-f]{40}$/);
});

test("TB-17: ★ a commit whose answer is lost has an unknown outcome, and is not made twice", async () => {
  let asked = 0;
  const { text, call } = await repository((workspace) => ({
    fetch: async (request) => {
      const answer = await workspace.fetch(request.clone());
      if (!request.url.endsWith("/git/commit")) return answer;
      asked += 1;
      throw new Error("cut");
    },
  }));
  await text("exec_shell", { script: "echo two >> a" });
  const outcome = await call("git_commit", { message: "second", all: true });
  expect(outcome).toMatchObject({ status: "unknown", isError: true });
  expect(asked).toBe(1);
  expect((await text("git_log")).trim().split("\n")).toHaveLength(2);
});
