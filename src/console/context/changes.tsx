import type { TurnFacts } from "../../client/transcript.ts";
import { escapeInLine } from "../parts/escape.ts";
import { formatCount, formatPercent, formatShare, formatSigned, formatTokens } from "../parts/format.ts";
import { describeOutcome } from "./calls.ts";
import { changeLines, describeSteps, partsOf, sizesOf } from "./sentences.ts";
import { signTones } from "./view.ts";
import type { ContextView } from "./view.ts";

/** What changed since the call before, what the request is made of, and its facts. */

interface SizeProps {
  readonly name: string;
  readonly tokens: number;
  readonly window: number;
  readonly threshold: number | null;
  readonly isNow: boolean;
}

const Size = ({ name, tokens, window, threshold, isNow }: SizeProps) => (
  <div class={`size ${isNow ? "now" : ""}`}>
    <span class="quiet-text">{name}</span>
    <span class="size-track">
      <span style={{ width: formatPercent(tokens / window) }} />
      {threshold !== null && <i style={{ left: formatPercent(threshold) }} />}
    </span>
    <span class="token-number">{formatTokens(tokens)}</span>
  </div>
);

const verifiedWords: Readonly<Record<string, string>> = {
  true: "this is exactly what was sent",
  false: "not all is as it was sent: the team was changed since",
  null: "nobody can tell whether all is as it was sent",
};

interface ChangesProps {
  readonly view: ContextView;
  readonly facts: TurnFacts | undefined;
  readonly threshold: number | null;
}

export const Changes = ({ view, facts, threshold }: ChangesProps) => {
  const { previous, beforeEffects, atBegin, now } = sizesOf(view);
  const steps = describeSteps(view);
  const lines = changeLines(view, threshold);
  const difference = previous === null ? 0 : now - previous;
  const bar = { window: Math.max(view.window, now, beforeEffects), threshold };
  return (
    <section aria-label="Changed since the call before">
      <h2>{previous === null ? "What was sent" : "Changed since the call before"}</h2>
      {previous !== null && <Size name="Call before" tokens={previous} isNow={false} {...bar} />}
      {beforeEffects !== now && <Size name="Without cuts" tokens={beforeEffects} isNow={false} {...bar} />}
      {atBegin !== beforeEffects && atBegin !== now && (
        <Size name="At its start" tokens={atBegin} isNow={false} {...bar} />
      )}
      <Size name={`Turn ${view.turn}`} tokens={now} isNow {...bar} />
      {threshold !== null && (
        <p class="meta size-note">
          The line is at {formatShare(threshold)}, where the context is made smaller.
        </p>
      )}
      {steps !== null && <p class="meta size-note">{steps}</p>}
      <ul class="changes">
        {lines.map(({ sign, text, by, notes, tokens }, at) => (
          <li key={at}>
            <span class={`sign ${signTones[sign]}`} aria-hidden="true">
              {sign}
            </span>
            <span>
              {escapeInLine(text)}
              {notes.map((note) => (
                <span key={note} class="meta">
                  {note}
                </span>
              ))}
              {by !== null && <span class="mono meta">({escapeInLine(by)})</span>}
            </span>
            <span>{formatSigned(tokens)}</span>
          </li>
        ))}
        {previous !== null && (
          <li class="sum">
            <span />
            <span>
              {formatCount(Math.abs(difference))} tokens {difference <= 0 ? "fewer" : "more"} than before
            </span>
            <span>{formatCount(now)}</span>
          </li>
        )}
      </ul>
      <Made view={view} />
      <Facts view={view} facts={facts} />
    </section>
  );
};

const Made = ({ view }: { readonly view: ContextView }) => (
  <section class="panel-section" aria-label="Made of">
    <h2>Made of</h2>
    <div class="made" aria-hidden="true">
      {partsOf(view).map(({ name, tokens }) => (
        <span key={name} style={{ width: formatPercent(tokens / Math.max(1, view.size)) }} />
      ))}
    </div>
    <ul class="made-list">
      {partsOf(view).map(({ name, tokens }) => (
        <li key={name}>
          <span class="swatch" />
          <span>{name}</span>
          <span>{formatCount(tokens)}</span>
          <span class="meta">{formatShare(tokens / Math.max(1, view.size))}</span>
        </li>
      ))}
    </ul>
  </section>
);

const Facts = ({ view, facts }: Pick<ChangesProps, "view" | "facts">) => {
  const call = view.calls[view.call - 1];
  const outcome = call === undefined ? null : describeOutcome(call, facts);
  return (
    <section class="panel-section" aria-label="Request">
      <h2>Request</h2>
      <dl class="facts-list">
        <div>
          <dt>Model</dt>
          <dd>{view.model}</dd>
        </div>
        <div>
          <dt>Window</dt>
          <dd>
            {formatCount(view.window)}, answer up to {formatCount(view.parameters.max_tokens)}
          </dd>
        </div>
        {outcome?.cached != null && (
          <div>
            <dt>From cache</dt>
            <dd>{outcome.cached}</dd>
          </div>
        )}
        {outcome !== null && (
          <div>
            <dt>{outcome.name}</dt>
            <dd>{outcome.words}</dd>
          </div>
        )}
        {view.hidden_tools.length > 0 && (
          <div>
            <dt>Without tools</dt>
            <dd class="mono">{view.hidden_tools.map(({ name }) => name).join(", ")}</dd>
          </div>
        )}
        <div>
          <dt>Checked</dt>
          <dd class={view.verified === true ? "good" : ""}>{verifiedWords[String(view.verified)]}</dd>
        </div>
      </dl>
    </section>
  );
};
