import type { Diff } from "../parts/diff.ts";

/** Says how much a diff adds and removes. */
export const DiffCount = ({ added, removed, isCut }: Omit<Diff, "lines">) => (
  <span class="diff-count">
    {(added > 0 || removed === 0) && <span class="good">+{added}</span>}
    {removed > 0 && (
      <span class="bad">
        {added > 0 ? " " : ""}−{removed}
      </span>
    )}
    {isCut && " and more"}
  </span>
);
