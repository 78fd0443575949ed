import { editDistance, findNearestName } from "../../tools/suggest.ts";
import type { Path } from "./diagnostics.ts";
import { maximumShown } from "./diagnostics.ts";
import { findMeaning } from "./other-words.ts";

/**
 * Creates a finder of the nearest name, which computes each name once, since a value of `defaults` is checked in
 * every agent.
 */
export const createNearestFinder = (known: readonly string[]): ((name: string) => string | null) => {
  const answers = new Map<string, string | null>();
  return (name) => {
    const answer = answers.get(name);
    if (answer !== undefined) return answer;
    const found = findNearestName(name, known);
    answers.set(name, found);
    return found;
  };
};

/** Returns `did you mean "x"?` and up to twelve known names; undefined if there is no suggestion. */
export type Suggest = (name: string) => string | undefined;

/**
 * Creates suggestions from one list for any number of names; only as many names are compared as are shown. At a
 * `place`, other products' words for its keys count, too: before a name that is only near.
 */
export const createSuggester = (known: readonly string[], place?: Path): Suggest => {
  const near = createNearestFinder(known);
  const names = new Set<string>();
  const all = known.length > 0 && known.length <= 12 ? `known: ${known.join(", ")}` : "";
  const meantBy = (name: string): readonly string[] => {
    const nearest = near(name);
    const meaning = place === undefined ? null : findMeaning(place, name, known);
    const isClose = nearest !== null && editDistance(name, nearest) === 1;
    return [...new Set([isClose || meaning === null ? nearest : null, meaning])].filter(
      (each) => each !== null,
    );
  };
  return (name) => {
    if (names.size < maximumShown) names.add(name);
    const found = names.has(name) ? meantBy(name).map((each) => `"${each}"`) : [];
    const parts = [found.length === 0 ? "" : `did you mean ${found.join(" or ")}?`, all];
    return parts.filter((part) => part !== "").join(" ") || undefined;
  };
};

/** Returns the suggestion for a single name. */
export const suggestFor = (name: string, known: readonly string[], place?: Path): string | undefined =>
  createSuggester(known, place)(name);
