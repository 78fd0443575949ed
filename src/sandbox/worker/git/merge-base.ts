import type { WorkTree } from "./tracked-files.ts";

/** Finds the merge base of two commits, which the package cannot do. */

/** Reads the parents of a commit. */
export async function readParents({ objectStore }: WorkTree, hash: string): Promise<readonly string[]> {
  const commit = new TextDecoder().decode((await objectStore.read(hash)).content);
  const [header = ""] = commit.split("\n\n");
  return [...header.matchAll(/^parent ([0-9a-f]{40})$/gm)].flatMap(([, parent]) => parent ?? []);
}

/** Lists a commit and its ancestors, the nearest first. */
async function readHistory(repository: WorkTree, hash: string): Promise<ReadonlySet<string>> {
  const found = new Set([hash]);
  for (const each of found) for (const parent of await readParents(repository, each)) found.add(parent);
  return found;
}

/** Finds the newest common ancestor of two commits; returns null if they have none. */
export async function findMergeBase(
  repository: WorkTree,
  one: string,
  other: string,
): Promise<string | null> {
  const history = await readHistory(repository, one);
  const common = [...(await readHistory(repository, other))].filter((hash) => history.has(hash));
  const earlier = new Set<string>();
  for (const hash of common)
    if (!earlier.has(hash))
      for (const before of await readHistory(repository, hash)) if (before !== hash) earlier.add(before);
  return common.find((hash) => !earlier.has(hash)) ?? null;
}
