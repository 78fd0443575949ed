import { useLayoutEffect, useRef } from "preact/hooks";
import { keepReason, readReason } from "./edits.ts";

interface DenyProps {
  readonly ask: string;
  readonly agent: string;
  readonly busy: boolean;
  readonly onDeny: (reason: string) => void;
  readonly onBack: () => void;
}

/** Asks for a reason in place: it is what the agent is told. The card takes Esc, which leads back. */
export const Deny = ({ ask, agent, busy, onDeny, onBack }: DenyProps) => {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  const deny = (): void => onDeny(field.current?.value.trim() ?? "");
  return (
    <div>
      <input
        ref={field}
        class="field"
        aria-label="Reason"
        placeholder={`What ${agent} should know`}
        maxLength={4_096}
        defaultValue={readReason(ask)}
        onInput={({ currentTarget }) => keepReason(ask, currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.isComposing) return;
          event.preventDefault();
          event.stopPropagation();
          if (!busy) deny();
        }}
      />
      <div class="ask-buttons">
        <button type="button" class="button primary" disabled={busy} onClick={deny}>
          Deny and tell {agent} <kbd aria-hidden="true">↵</kbd>
        </button>
        <button type="button" class="button back" onClick={onBack}>
          Back <kbd aria-hidden="true">Esc</kbd>
        </button>
      </div>
    </div>
  );
};
