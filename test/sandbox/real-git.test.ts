import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { GitArguments, GitOperation } from "../../src/sandbox/contract.ts";
import { logFormats } from "../../src/sandbox/contract.ts";
import { bench, never, type Bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** The embedded git against the git of this machine, which must be installed. */

const ignoring = { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", TZ: "UTC", LC_ALL: "C.UTF-8" };

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
].join("; ");

const changes =
  "seq 3 45 > src/numbers; git add src/numbers; echo end >> src/numbers; rm open; echo new > 'with space'; echo ü > ümlaut; mkdir n; echo n > n/n; git mv b c; printf '\\0\\1' > src/deep/x; git add src/deep/x";

let box: Bench;
let folder: string;

/** Copies the whole workspace into a folder of this machine, with modes and times. */
async function copyOut(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true });
  for (const entry of await box.sandbox.list(from)) {
    const target = join(to, entry.name);
    if (entry.type === "directory") await copyOut(entry.path, target);
    else {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, await box.sandbox.read(entry.path));
      chmodSync(target, entry.mode & 0o777);
      utimesSync(target, entry.modTime / 1000, entry.modTime / 1000);
    }
  }
}

const real = (...args: readonly string[]): string =>
  execFileSync("git", ["-c", "core.quotePath=false", ...args], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...ignoring },
  });

const embedded = <O extends GitOperation>(op: O, args: GitArguments[O]): Promise<string> =>
  box.sandbox.git(op, args, { signal: never });

beforeAll(async () => {
  const workspace = createLocalWorkspace();
  box = bench(() => ({ fetch: (request) => workspace.fetch(request) }));
  folder = mkdtempSync(join(tmpdir(), "limpet-git-"));
  const { stderr, code } = await box.run(`${history}; ${changes}`);
  expect([stderr, code]).toEqual([expect.not.stringContaining("fatal"), 0]);
  await copyOut(".", folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("TB-17, TB-36: a repository of the embedded git passes git fsck", () => {
  expect(real("fsck", "--full", "--strict")).toBe("");
});

test.each(logFormats)("TB-17, TB-36: a log in the format %s is equal to git's", async (format) => {
  expect(await embedded("log", { format, count: 20 })).toBe(real("log", "-n20", `--format=${format}`));
  expect(await embedded("log", { format, count: 1 })).toBe(real("log", "-n1", `--format=${format}`));
});

test("TB-17, TB-36: status is equal to git's, long and short", async () => {
  expect(await embedded("status", { short: true })).toBe(real("status", "--short"));
  expect(await embedded("status", {})).toBe(real("status"));
});

test("TB-17, TB-36: a diff is equal to git's, staged and not, of all files and of one", async () => {
  expect(await embedded("diff", {})).toBe(real("diff"));
  expect(await embedded("diff", { staged: true })).toBe(real("diff", "--staged"));
  expect(await embedded("diff", { path: "src" })).toBe(real("diff", "--", "src"));
});
