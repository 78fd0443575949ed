import "../styles/diff.css";
import { memo } from "./hooks.ts";
import type { Diff, DiffLine } from "./diff.ts";
import { escapeInLines } from "./escape.ts";

const signs = { added: "+", removed: "-", same: "", gap: "" } as const;
const words = { added: "added: ", removed: "removed: ", same: "", gap: "" } as const;

const Line = ({ line, numbered }: { readonly line: DiffLine; readonly numbered: boolean }) =>
  line.kind === "gap" ? (
    <div class="diff-gap">{line.pieces[0]?.text}</div>
  ) : (
    <div class={`diff-line ${line.kind}`}>
      {numbered && (
        <>
          <span class="diff-number before" aria-hidden="true">
            {line.before}
          </span>
          <span class="diff-number" aria-hidden="true">
            {line.after}
          </span>
        </>
      )}
      <span class="diff-sign" aria-hidden="true">
        {signs[line.kind]}
      </span>
      <code>
        {words[line.kind] !== "" && <span class="hidden">{words[line.kind]}</span>}
        {line.pieces.map(({ text, marked }, at) =>
          marked ? <mark key={at}>{escapeInLines(text)}</mark> : escapeInLines(text),
        )}
      </code>
    </div>
  );

/** Shows a diff; what differs has a sign and, within a line, an underline. */
export const DiffView = memo<{ readonly diff: Diff; readonly bare?: boolean; readonly label: string }>(
  ({ diff, bare = false, label }) => {
    const numbered = diff.lines.some(({ before, after }) => before !== null || after !== null);
    return (
      <div class={bare ? "diff" : "diff framed"} role="group" aria-label={label} tabIndex={0}>
        {diff.lines.map((line, at) => (
          <Line key={at} line={line} numbered={numbered} />
        ))}
      </div>
    );
  },
);
