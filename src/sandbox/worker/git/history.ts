import { completePatches } from "./diff.ts";
import { readParents } from "./merge-base.ts";
import type { WorkTree } from "./tracked-files.ts";

/** Completes the patches of a log like those of a diff. */

interface HistoryRequest {
  /** Paths from the top of the repository that limit the log; none if it has no limits. */
  readonly limits: readonly string[];
  /** Git's `core.quotePath`. */
  readonly asciiOnly: boolean;
}

/** Returns whether an argument asks a log for no patches, or for another form of them. */
const isOtherForm = (arg: string): boolean =>
  /^(?:-s|--no-patch|--oneline|--graph|--(?:short|num)?stat|--name-(?:only|status)|--(?:format|pretty)=.*)$/.test(
    arg,
  );

/** Returns whether these arguments ask for a log in the usual form with patches. */
export const hasPatches = ([name, ...args]: readonly string[]): boolean =>
  !args.some(isOtherForm) && (name === "show" || args.some((arg) => /^(?:-p|-u|--patch)$/.test(arg)));

const commitStart = /^(?=commit [0-9a-f]{40}\b)/m;

/** Completes the patch of a commit with one parent or none; a merge has no patch. */
async function completeCommit(repository: WorkTree, text: string, request: HistoryRequest): Promise<string> {
  const hash = text.slice("commit ".length).slice(0, 40);
  const [parent = null, ...others] = await readParents(repository, hash);
  if (others.length > 0) return text;
  const at = text.search(/^diff --git /m);
  const [head, patches] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
  const change = { ...request, isStaged: false, commits: [parent, hash] };
  const completed = await completePatches(repository, patches.trimEnd(), change);
  return `${[head, completed]
    .map((part) => part.trimEnd())
    .filter((part) => part !== "")
    .join("\n\n")}\n`;
}

/** Completes the package's output of `git show` or `git log --patch`: modes, empty files, names and attributes. */
export async function completeHistory(
  repository: WorkTree,
  output: string,
  request: HistoryRequest,
): Promise<string> {
  // The text before the first commit, like that of a tag, stays.
  const first = output.search(commitStart);
  if (first < 0) return output;
  let shown = output.slice(0, first);
  for (const text of output.slice(first).split(commitStart)) {
    if (shown !== "" && !shown.endsWith("\n\n")) shown += "\n";
    shown += await completeCommit(repository, text, request);
  }
  return shown;
}
