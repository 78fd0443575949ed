import type { ObjectStore } from "#git";
import { decode } from "./line/answers.ts";
import type { WorkTree } from "./tracked-files.ts";

/** Finds where the histories of two commits part, which the package cannot. */

/** The parents of the commits that a command has read. */
const known = new WeakMap<ObjectStore, Map<string, readonly string[]>>();

/** Returns the parents of a commit. */
export async function readParents({ objectStore }: WorkTree, hash: string): Promise<readonly string[]> {
  const parents = known.get(objectStore) ?? new Map<string, readonly string[]>();
  known.set(objectStore, parents);
  const found = parents.get(hash) ?? (await parseParents(objectStore, hash));
  parents.set(hash, found);
  return found;
}

async function parseParents(objectStore: ObjectStore, hash: string): Promise<readonly string[]> {
  const commit = decode((await objectStore.read(hash)).content);
  const [header = ""] = commit.split("\n\n");
  return [...header.matchAll(/^parent ([0-9a-f]{40})$/gm)].flatMap(([, parent]) => parent ?? []);
}

/** Lists a commit and all before it, the nearest first. */
export async function listHistory(repository: WorkTree, hash: string): Promise<ReadonlySet<string>> {
  const found = new Set([hash]);
  for (const each of found) for (const parent of await readParents(repository, each)) found.add(parent);
  return found;
}

/** Returns the last commit that two histories share; null if they share none. */
export async function findMergeBase(
  repository: WorkTree,
  one: string,
  other: string,
): Promise<string | null> {
  const history = await listHistory(repository, one);
  const common = [...(await listHistory(repository, other))].filter((hash) => history.has(hash));
  const earlier = new Set<string>();
  for (const hash of common)
    if (!earlier.has(hash))
      for (const before of await listHistory(repository, hash)) if (before !== hash) earlier.add(before);
  return common.find((hash) => !earlier.has(hash)) ?? null;
}
