import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GitArguments, GitOperation } from "../../src/sandbox/contract.ts";
import { logFormats } from "../../src/sandbox/contract.ts";
import { bench, never, type Bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** The embedded git against the git of this machine, which must be installed. */

const ignoring = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", TZ: "UTC", LC_ALL: "C.UTF-8" };

/** Every command of a script must end with 0. */
const script = (...lines: readonly string[]): string => ["set -e", ...lines].join("\n");

const history = [
  "git init; mkdir -p src/deep; seq 1 40 > src/numbers; echo a > a; echo gone > gone; printf 'no end' > open",
  "export GIT_AUTHOR_DATE='2026-03-01T10:00:00+02:00' GIT_COMMITTER_DATE='2026-03-01T09:00:00Z'",
  "git add -A; git commit -m 'Begin'",
  "export GIT_AUTHOR_NAME='Jürgen Q.' GIT_AUTHOR_EMAIL=j@example.com; seq 2 41 > src/numbers; rm gone; git add -A",
  "git commit -m 'Zähle weiter, und schreibe dazu eine lange erste Zeile = die _nicht_ in eine Zeile einer Mail passt?' -m 'Ein Körper.'",
  "export GIT_AUTHOR_NAME='O. Dot'; git checkout -b side; mv a b; echo x > src/deep/x; git add -A",
  "git commit -m 'A very long subject line that certainly goes on for more than seventy-six characters to see the fold' -m 'One paragraph.' -m 'And another.'",
  "unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL; git checkout main; echo more >> open; git commit -am 'Write on'",
  "git merge side -m 'Bring the side in'; chmod 755 b; git commit -am 'Let it run'",
  "printf 'A subject\\non two  lines\\n\\nA\\tbody\\n\\twith\\ttabs\\n  é\\tand 漢字\\twide ones\\n' > message; git commit --allow-empty -F message; rm message",
];

const changes = [
  "seq 3 45 > src/numbers; git add src/numbers; echo end >> src/numbers; rm open; echo new > 'with space'; echo ü > ümlaut; mkdir n; echo n > n/n; git mv b c; printf '\\0\\1' > src/deep/x; git add src/deep/x",
];

/** A workspace with what a script makes in it, and a folder of this machine with the same files. */
class Pair {
  readonly #box: Bench;
  readonly folder = mkdtempSync(join(tmpdir(), "limpet-git-"));

  constructor() {
    const workspace = createLocalWorkspace();
    this.#box = bench(() => ({ fetch: (request) => workspace.fetch(request) }));
  }

  async run(...lines: readonly string[]): Promise<void> {
    const { stderr, stdout, code } = await this.#box.run(script(...lines));
    expect([code, code === 0 ? "" : stdout, stderr]).toEqual([0, "", expect.not.stringContaining("fatal")]);
    rmSync(this.folder, { recursive: true, force: true });
    await this.#copyOut(".", this.folder);
  }

  /** Copies the workspace into a folder of this machine, with modes and times. */
  async #copyOut(from: string, to: string): Promise<void> {
    mkdirSync(to, { recursive: true });
    for (const entry of await this.#box.sandbox.list(from)) {
      const target = join(to, entry.name);
      if (entry.type === "directory") await this.#copyOut(entry.path, target);
      else if (entry.type === "symlink") symlinkSync(await this.#targetOf(entry.path), target);
      else {
        mkdirSync(dirname(target), { recursive: true });
        writeFileSync(target, await this.#box.sandbox.read(entry.path));
        chmodSync(target, entry.mode & 0o777);
        utimesSync(target, entry.modTime / 1000, entry.modTime / 1000);
      }
    }
  }

  async #targetOf(link: string): Promise<string> {
    return (await this.#box.run(`readlink '${link}'`)).stdout.trim();
  }

  readonly real = (...args: readonly string[]): string => this.#real(args);

  /** The embedded git never escapes what is not ASCII in names. */
  #real(args: readonly string[], directory = "."): string {
    const env = { ...process.env, ...ignoring };
    const options = { cwd: join(this.folder, directory), encoding: "utf8", env } as const;
    const { stdout, stderr } = spawnSync("git", ["-c", "core.quotePath=false", ...args], options);
    expect(stderr).toBe("");
    return stdout;
  }

  readonly embedded = <O extends GitOperation>(op: O, args: GitArguments[O]): Promise<string> =>
    this.#box.sandbox.git(op, args, { signal: never });

  /** What a command of git prints in the shell, which must be what the git of this machine prints. */
  async expectSame(command: string, directory = "."): Promise<void> {
    const { stdout } = await this.#box.run(`cd ${directory}; git ${command}`);
    const args = ["-c", "user.name=A", "-c", "user.email=a@example.com", ...command.split(" ")];
    expect([command, stdout]).toEqual([command, this.#real(args, directory)]);
  }

  /** Status and diff of the routes and of the shell, each equal to those of the git of this machine. */
  async expectSameChanges(): Promise<void> {
    const { embedded, real } = this;
    expect(await embedded("status", { short: true })).toBe(real("status", "--short"));
    expect(await embedded("status", {})).toBe(real("status"));
    expect(await embedded("diff", {})).toBe(real("diff"));
    expect(await embedded("diff", { staged: true })).toBe(real("diff", "--staged"));
    for (const command of ["status -s -b", "diff --name-status", "ls-files -s -z"])
      await this.expectSame(command);
  }
}

let pair: Pair;
beforeAll(async () => {
  pair = new Pair();
  await pair.run(...history, ...changes);
});
const pairs: Pair[] = [];
afterAll(() => {
  for (const { folder } of [pair, ...pairs]) rmSync(folder, { recursive: true, force: true });
});

const freshPair = (): Pair => {
  const fresh = new Pair();
  pairs.push(fresh);
  return fresh;
};

test("TB-17, TB-36: a repository of the embedded git passes git fsck", () => {
  expect(pair.real("fsck", "--full", "--strict")).toBe("");
});

test.each(logFormats)("TB-17, TB-36: a log in the format %s is equal to git's", async (format) => {
  const { embedded, real } = pair;
  expect(await embedded("log", { format, count: 20 })).toBe(real("log", "-n20", `--format=${format}`));
  expect(await embedded("log", { format, count: 1 })).toBe(real("log", "-n1", `--format=${format}`));
});

test("TB-17, TB-36: status and diff are equal to git's, staged and not, of all files and of one", async () => {
  await pair.expectSameChanges();
  expect(await pair.embedded("diff", { path: "src" })).toBe(pair.real("diff", "--", "src"));
});

test("TB-17, TB-36: a log of the shell is equal to git's", async () => {
  for (const command of [
    "log",
    "log --oneline",
    "log --format=short",
    "log --format=%s%n%b",
    "log --graph --oneline",
  ])
    await pair.expectSame(command);
});

const begin =
  "git init; echo a > a; echo b > b; echo c > c; seq 1 20 > long; : > empty; git add -A; git commit -m x";

test("TB-17, TB-36: modes are seen, staged, committed and shown as git does", async () => {
  const modes = freshPair();
  await modes.run(begin, "chmod 755 a; chmod 755 b; git add b; chmod 755 long; echo 21 >> long");
  await modes.expectSameChanges();
  for (const command of ["diff a", "diff HEAD", "diff HEAD long b", "diff --name-only HEAD -- b"])
    await modes.expectSame(command);
  await modes.run("git reset");
  await modes.expectSame("commit -m none");
  await modes.run("git add -A; chmod 644 a; git mv c d; chmod 755 d; git add d; mv empty full; git add -A");
  await modes.expectSameChanges();
  await modes.run("chmod 755 a; git commit -am modes");
  await modes.expectSameChanges();
  await modes.expectSame("diff HEAD~ HEAD");
  await modes.run(
    "chmod 644 a; git commit -am 'only a mode' > said; cat said; grep -q 'mode change 100755 => 100644 a' said; rm said",
  );
  await modes.expectSameChanges();
  for (const command of ["show", "show HEAD~", "show HEAD~2", "show HEAD~ -- a", "log -p", "log -p -1 -- a"])
    await modes.expectSame(command);
  expect(modes.real("ls-tree", "-r", "HEAD")).toMatch(/^100644 .*\ta\n100755 .*\tb\n/);
});

test("TB-17, TB-36: a checkout, merge, restore and hard reset bring modes along", async () => {
  const modes = freshPair();
  await modes.run(
    begin,
    "git checkout -b side; chmod 755 a; echo run > run; chmod 755 run; git add -A; git commit -m y",
  );
  await modes.run("git checkout main; test ! -x a");
  expect(modes.real("status", "--short")).toBe("");
  await modes.expectSameChanges();
  await modes.run("echo c >> c; chmod 755 c; git commit -am z");
  for (const command of [
    "diff main...side",
    "diff side...main",
    "diff side...",
    "diff --name-status ...side",
    "merge-base main side",
  ])
    await modes.expectSame(command);
  await modes.run("chmod 755 b; git merge side -m m; test -x a; test -x run; test -x b");
  for (const command of ["show", "log -p"]) await modes.expectSame(command);
  await modes.expectSameChanges();
  await modes.run(
    "git checkout -- b; test ! -x b; rm run; git restore run; test -x run; chmod 755 c; git reset --hard",
  );
  expect(modes.real("status", "--short")).toBe("");
  await modes.expectSameChanges();
});

test("TB-17, TB-36: empty files, odd names and files in place of folders show as git shows them", async () => {
  const odd = freshPair();
  await odd.run(begin, ": > new; git add new; git rm empty; : > later; rm c; mkdir c; echo x > c/x");
  await odd.expectSameChanges();
  await odd.run(
    "git add -A; git commit -m x; echo 1 > 'q\"uote'; echo 1 > 'back\\slash'; echo 1 > \"$(printf 'a\\tb')\"; echo 1 > \"$(printf 'a\\nb')\"; echo 1 > \"a  b\"; echo ü > ü",
  );
  await odd.expectSameChanges();
  await odd.run(
    'git add -A; echo 2 >> \'q"uote\'; git mv b "b c\\\\"; rm "a  b"; echo 2 >> ü; rm "$(printf \'a\\nb\')"',
  );
  await odd.expectSameChanges();
  for (const command of ["diff", "diff --cached", "status"]) await odd.expectSame(command);
  await odd.run(
    "git commit -am x; chmod 755 *; mkdir deep; echo x > deep/x; echo y > deep/y; git add deep/x",
  );
  await odd.expectSameChanges();
  for (const command of ["status", "status -s", "status --porcelain", "diff -- .", "diff -- ../a"])
    await odd.expectSame(command, "deep");
});

test("TB-17, TB-36: conflicts, links and a repository without a commit show as git shows them", async () => {
  const other = freshPair();
  await other.run("git init; echo a > a; : > b; git add b; chmod 755 b");
  await other.expectSameChanges();
  await other.run(
    "git add -A; git commit -m x; rm a; ln -s b a; git add -A; git commit -m link; ln -s nowhere l; git add -A; rm a; ln -s elsewhere a; git rm b",
  );
  await other.expectSameChanges();
  await other.run(
    "git commit -m links; seq 1 9 > n; echo m > m; git add -A; git commit -m n; git checkout -b side",
  );
  await other.run(
    "seq 2 9 > n; rm m; chmod 755 n; git commit -am side; git checkout main; seq 3 9 > n; echo M > m; git commit -am main",
  );
  await other.run(
    "git merge side || true; echo u > u; chmod 755 u; git add u; git status -s | grep -q '^UU n'",
  );
  for (const command of ["status", "status -s", "diff --cached --name-only"]) await other.expectSame(command);
  await other.run("git add -A; chmod 644 n");
  await other.expectSameChanges();
});

test("TB-17, TB-36: a clone and a stash keep the modes of files", async () => {
  const kept = freshPair();
  await kept.run(begin, "chmod 755 a; git commit -am mode; echo 2 >> a; chmod 644 a; echo 3 >> b; git stash");
  await kept.run(
    "git stash pop; git diff | grep -q '^+2'; test ! -x a",
    "git clone . ../workspace/copy; test -x copy/a",
  );
  await kept.expectSameChanges();
  await kept.expectSame("status -s", "copy");
});
