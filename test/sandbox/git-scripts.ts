import { bench, type Outcome } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** Scripts of git as agents write them, over a repository with two commits; the outputs expected are those of git 2.39. */

/** What a script does, its lines, and what they print; a line that fails adds its exit code as `=> 1`. */
export type GitScript = readonly [what: string, lines: readonly string[], stdout: string];

const begin = [
  "export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
  "git init -q -b main; printf 'one\\ntwo\\nthree\\n' > a.txt; mkdir src; echo 'export const x = 1;' > src/x.ts",
  "git add -A; git commit -q -m first; echo four >> a.txt; git add a.txt; git commit -q -m second",
];

/** Makes two branches whose commits change the same line: `main`, on which it ends, and `f`. */
export const conflict =
  "git checkout -q -b f; printf 'one\\nF\\nthree\\nfour\\n' > a.txt; git commit -q -a -m f; git checkout -q main; printf 'one\\nM\\nthree\\nfour\\n' > a.txt; git commit -q -a -m m";

/** Runs the lines of a script in a repository of their own. */
export function runGitLines(lines: readonly string[]): Promise<Outcome> {
  const workspace = createLocalWorkspace();
  const told = lines.map((line) => `${line}\nlast=$?; [ $last = 0 ] || echo "=> $last"`);
  const script = ["mkdir shore; cd shore", ...begin, ...told].join("\n");
  return bench(() => ({ fetch: workspace.fetch })).run(script);
}
