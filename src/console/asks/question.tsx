import { useState } from "preact/hooks";
import type { TranscriptAsk } from "../../client/transcript.ts";
import { escapeUnseen } from "../parts/escape.ts";
import { Icon } from "../parts/icons.tsx";
import { keepChoices, readChoices } from "./edits.ts";
import { AskFrame } from "./frame.tsx";
import type { AskProps } from "./frame.tsx";

interface OptionProps {
  readonly option: string;
  readonly at: number;
  readonly many: boolean;
  readonly chosen: boolean;
  readonly busy: boolean;
  readonly onChoose: () => void;
}

const Option = ({ option, at, many, chosen, busy, onChoose }: OptionProps) => (
  <li>
    <button
      type="button"
      class="option"
      disabled={busy}
      aria-pressed={many ? chosen : undefined}
      data-key={at < 9 ? String(at + 1) : undefined}
      onClick={onChoose}
    >
      {many && <span class="box">{chosen && <Icon name="check" />}</span>}
      <span class="words">{escapeUnseen(option)}</span>
      {at < 9 && <kbd aria-hidden="true">{at + 1}</kbd>}
    </button>
  </li>
);

const noQuestion: NonNullable<TranscriptAsk["question"]> = {
  text: "",
  options: [],
  multi_select: false,
  strict: false,
};

/** A question: its options answer it; own words come from the composer. */
export const Question = ({ ask, agent, busy, answer }: AskProps) => {
  const {
    text,
    options,
    multi_select: many,
    max_selections: most = Infinity,
    strict,
  } = ask.question ?? noQuestion;
  const [chosen, setChosen] = useState(() => readChoices(ask.id, options));
  const choose = (option: string): void => {
    if (!many) return answer({ decision: "answer", selections: [option] });
    const now = chosen.includes(option) ? chosen.filter((each) => each !== option) : [...chosen, option];
    keepChoices(ask.id, options, now);
    setChosen(now);
  };
  const hint =
    options.length > 0
      ? "Your own words are below. They answer instead of an option."
      : "Your answer goes into the field below.";
  return (
    <AskFrame ask={ask} icon="question" tag={`${agent} asks you`}>
      <h2>{escapeUnseen(text)}</h2>
      {options.length > 0 && (
        <ul class="options">
          {options.map((option, at) => (
            <Option
              key={option}
              option={option}
              at={at}
              many={many}
              chosen={chosen.includes(option)}
              busy={busy || (many && chosen.length >= most && !chosen.includes(option))}
              onChoose={() => choose(option)}
            />
          ))}
        </ul>
      )}
      {many && (
        <div class="ask-buttons">
          <button
            type="button"
            class="button primary"
            disabled={busy || chosen.length === 0}
            onClick={() => answer({ decision: "answer", selections: chosen })}
          >
            Answer with {chosen.length}
          </button>
          <span class="meta">{most < options.length ? `Choose up to ${most}.` : "Choose any."}</span>
        </div>
      )}
      {!strict && <p class="ask-rule">{hint}</p>}
    </AskFrame>
  );
};
