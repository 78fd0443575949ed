import type { Effect } from "../agent/definition/effect.ts";
import { effects } from "./index.ts";

const lastRank = effects.length + 1;

const rankOf = ({ kind, order }: Effect): number => {
  if (order !== "shrink") return order === "scope" ? -1 : lastRank;
  const at = effects.findIndex((each) => each.kind === kind);
  return at < 0 ? effects.length : at;
};

/**
 * Sorts entries in the order in which their effects run: those that hide tools as written, built-in shrinkers in the
 * list's order, custom ones, the rest as written.
 */
export const sortByRank = <Entry>(
  entries: readonly Entry[],
  effectOf: (entry: Entry) => Effect | undefined,
): readonly Entry[] => {
  const rank = (entry: Entry): number => {
    const effect = effectOf(entry);
    return effect === undefined ? lastRank : rankOf(effect);
  };
  return entries.toSorted((a, b) => rank(a) - rank(b));
};
