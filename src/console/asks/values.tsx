import { escapeInLines, escapeUnseen, escapeJson } from "../parts/escape.ts";
import type { Subject } from "./subject.ts";

/** Every field of an input, by its name. */
export const Values = ({ values }: Pick<Subject, "values">) => (
  <dl class="values">
    {values.map(([name, value]) => (
      <div key={name}>
        <dt class="mono">{escapeUnseen(name)}</dt>
        <dd>
          <pre>{typeof value === "string" ? escapeInLines(value) : escapeJson(value)}</pre>
        </dd>
      </div>
    ))}
    {values.length === 0 && <dd class="meta">It takes no input.</dd>}
  </dl>
);
