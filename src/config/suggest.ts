/** "Did you mean" for unknown names (CF-29). */
import { nearest } from "../tools/suggest.ts";

/** `did you mean "x"?` and, of at most twelve, all known names; undefined if there is nothing to say. */
export const suggestion = (name: string, known: readonly string[]): string | undefined => {
  const near = nearest(name, known);
  const parts = [
    near === null ? "" : `did you mean "${near}"?`,
    known.length > 0 && known.length <= 12 ? `known: ${known.join(", ")}` : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? undefined : parts.join(" ");
};
