import { findNearestName } from "../../tools/suggest.ts";
import type { Path } from "./diagnostics.ts";
import { maximumShown } from "./diagnostics.ts";
import { findMeaning } from "./other-words.ts";

/** Finds the nearest name, once per name, since a value of `defaults` is checked in every agent. */
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

/** Gives `did you mean "x"?` and up to twelve known names; undefined if there is no suggestion. */
export type Suggest = (name: string) => string | undefined;

/**
 * Creates suggestions from one list for any number of names; only as many names are compared as are shown. At a `place`,
 * the words count that other products have for what stands there.
 */
export const createSuggester = (known: readonly string[], place?: Path): Suggest => {
  const near = createNearestFinder(known);
  const names = new Set<string>();
  const all = known.length > 0 && known.length <= 12 ? `known: ${known.join(", ")}` : "";
  return (name) => {
    if (names.size < maximumShown) names.add(name);
    const meant = place === undefined ? null : findMeaning(place, name, known);
    const found = meant ?? (names.has(name) ? near(name) : null);
    const parts = [found === null ? "" : `did you mean "${found}"?`, all].filter((part) => part !== "");
    return parts.length === 0 ? undefined : parts.join(" ");
  };
};

/** The suggestion for a single name. */
export const suggestFor = (name: string, known: readonly string[], place?: Path): string | undefined =>
  createSuggester(known, place)(name);
