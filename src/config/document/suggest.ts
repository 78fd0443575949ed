import { findNearestName } from "../../tools/suggest.ts";
import { maximumShown } from "./diagnostics.ts";

/** The nearest of `known`, looked for once per name: a value of `defaults` comes up in every agent. */
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

/** `did you mean "x"?` and, of at most twelve, all known names; undefined if there is nothing to say. */
export type Suggest = (name: string) => string | undefined;

/** Suggestions from one list for any number of names: it is compared with no more of them than are shown. */
export const createSuggester = (known: readonly string[]): Suggest => {
  const near = createNearestFinder(known);
  const names = new Set<string>();
  const all = known.length > 0 && known.length <= 12 ? `known: ${known.join(", ")}` : "";
  return (name) => {
    if (names.size < maximumShown) names.add(name);
    const found = names.has(name) ? near(name) : null;
    const parts = [found === null ? "" : `did you mean "${found}"?`, all].filter((part) => part !== "");
    return parts.length === 0 ? undefined : parts.join(" ");
  };
};

/** What a suggester says of one name. */
export const suggestFor = (name: string, known: readonly string[]): string | undefined =>
  createSuggester(known)(name);
