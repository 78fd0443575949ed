import { useRef, useState } from "preact/hooks";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { AskFrame, useFocusIn } from "./frame.tsx";
import type { AskProps } from "./frame.tsx";
import { describeSpent, limitUnit, writeAmount } from "./limits.ts";
import type { LimitUnit } from "./limits.ts";

interface AmountProps {
  readonly unit: LimitUnit;
  readonly least: number;
  readonly wanted: number;
  readonly field: { current: HTMLInputElement | null };
  readonly onEnter: () => void;
}

const Amount = ({ unit, least, wanted, field, onEnter }: AmountProps) => (
  <label class="amount">
    New limit{unit.word === "" ? "" : `, in ${unit.word}`}
    <input
      ref={field}
      class="field"
      type="number"
      min={writeAmount(unit, least)}
      step="any"
      defaultValue={writeAmount(unit, wanted)}
      onKeyDown={(event) => event.key === "Enter" && !event.repeat && onEnter()}
    />
    <span class="meta">
      It goes on with {writeAmount(unit, least)} {unit.word} or more.
    </span>
  </label>
);

const noBudget: NonNullable<TranscriptAsk["budget"]> = {
  scope: "run",
  kind: "",
  limit: 0,
  spent: 0,
  least: 0,
};

/** A limit that is used up: it is raised to twice of what it was, to another amount, or the run ends. */
export const Raise = ({ ask, agent, busy, answer }: AskProps) => {
  const field = useRef<HTMLInputElement>(null);
  const { card, focusNext } = useFocusIn();
  const [asksAmount, setAsksAmount] = useState(false);
  const showAmount = (next: boolean): void => {
    setAsksAmount(next);
    focusNext(next ? "input" : '[data-key="e"]');
  };
  const { scope, kind, limit, spent, least } = ask.budget ?? noBudget;
  const unit = limitUnit(kind);
  const wanted = Math.max(least, 2 * limit);
  const raise = (value: number): void => answer({ decision: "approve", limit: value });
  const raiseTyped = (): void => {
    const typed = Number(field.current?.value ?? "");
    if (!busy && Number.isFinite(typed)) raise(Math.round(typed * unit.one * 1e9) / 1e9);
  };
  return (
    <AskFrame
      ask={ask}
      card={card}
      onBack={asksAmount ? () => showAmount(false) : null}
      icon="shield"
      tag="Needs your decision"
    >
      <h2>
        {scope === "run" ? `${agent}’s run` : "The session"} {describeSpent(unit, { spent, limit })}. May it
        go on?
      </h2>
      {asksAmount && <Amount unit={unit} least={least} wanted={wanted} field={field} onEnter={raiseTyped} />}
      <div class="ask-buttons">
        <button
          type="button"
          class="button primary"
          data-key="mod-enter"
          disabled={busy}
          onClick={() => (asksAmount ? raiseTyped() : raise(wanted))}
        >
          {asksAmount ? "Allow this much" : `Allow ${unit.show(wanted)} in all`}
        </button>
        {!asksAmount && (
          <button type="button" class="button" data-key="e" disabled={busy} onClick={() => showAmount(true)}>
            Another amount…
          </button>
        )}
        <button
          type="button"
          class="button"
          data-key="d"
          disabled={busy}
          onClick={() => answer({ decision: "deny" })}
        >
          Stop here
        </button>
      </div>
    </AskFrame>
  );
};
