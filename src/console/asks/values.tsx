import type { Json } from "../../chat/message.ts";
import { escapeInLines, escapeUnseen, escapeJson } from "../parts/escape.ts";
import { countOf } from "../parts/format.ts";
import type { Subject } from "./subject.ts";

/** So many lines are seen without scrolling, on any page. */
const fewLines = 12;

/** Says how long a text is that may go on below the edge of its box. */
export const LineCount = ({ text }: { readonly text: string }) => {
  const lines = text.trimEnd().split("\n").length;
  return lines > fewLines ? <span class="meta">{countOf(lines, "line")}</span> : null;
};

const wordsOf = (value: Json): string =>
  typeof value === "string" ? escapeInLines(value) : escapeJson(value);

/** Every field of an input, by its name. */
export const Values = ({ values }: Pick<Subject, "values">) => (
  <dl class="values">
    {values
      .map(([name, value]) => [name, wordsOf(value)] as const)
      .map(([name, words]) => (
        <div key={name}>
          <dt>
            <span class="mono">{escapeUnseen(name)}</span>
            <LineCount text={words} />
          </dt>
          <dd>
            <pre>{words}</pre>
          </dd>
        </div>
      ))}
    {values.length === 0 && <dd class="meta">It takes no input.</dd>}
  </dl>
);
