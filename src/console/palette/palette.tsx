import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Dialog, LeaveButton } from "../parts/dialog.tsx";
import { useStore } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { SessionConfirm } from "../sessions/confirm.tsx";
import { useApp } from "../state/app.ts";
import type { SessionControl } from "../state/session.ts";
import { listActions } from "./actions.ts";
import type { Action, PaletteStep } from "./actions.ts";

/** Everything one can do, found by typing. */

const Found = ({ name, wanted }: { readonly name: string; readonly wanted: string }) => {
  const at = wanted === "" ? -1 : name.toLowerCase().indexOf(wanted);
  if (at < 0) return <>{name}</>;
  return (
    <>
      {name.slice(0, at)}
      <strong>{name.slice(at, at + wanted.length)}</strong>
      {name.slice(at + wanted.length)}
    </>
  );
};

/** So many of the found ones are shown. */
const most = 40;

interface StepProps {
  readonly session: SessionControl;
  readonly onClose: () => void;
}

const RenameStep = ({ session, onClose }: StepProps) => {
  const { sessions, report } = useApp();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.select(), []);
  return (
    <Dialog title="Rename this session" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const title = input.current?.value.trim() ?? "";
          if (title !== "") report(sessions.rename(session.id, title));
          onClose();
        }}
      >
        <input
          ref={input}
          class="field"
          aria-label="Title of the session"
          maxLength={256}
          defaultValue={session.open.getSnapshot().session?.title ?? ""}
        />
        <div class="row-of-buttons">
          <button type="submit" class="button primary">
            Rename it
          </button>
          <LeaveButton>Keep the title</LeaveButton>
        </div>
      </form>
    </Dialog>
  );
};

interface ListProps {
  readonly actions: readonly Action[];
  readonly onRun: (action: Action | undefined) => void;
  readonly onClose: () => void;
}

interface OptionsProps {
  readonly found: readonly Action[];
  readonly wanted: string;
  readonly at: number;
  readonly onPoint: (at: number) => void;
  readonly onRun: (action: Action) => void;
}

const Options = ({ found, wanted, at, onPoint, onRun }: OptionsProps) =>
  found.length === 0 ? (
    <p class="empty meta">Nothing is called so.</p>
  ) : (
    <ul id="palette-list" role="listbox" aria-label="What one can do">
      {found.map((action, place) => (
        <li
          key={action.id}
          id={`palette-${place}`}
          role="option"
          aria-selected={place === at}
          onPointerMove={() => onPoint(place)}
          onClick={() => onRun(action)}
        >
          <Icon name={action.icon} />
          <span class="cut">
            <Found name={action.name} wanted={wanted} />
          </span>
          {action.detail !== undefined && <span class="meta">{action.detail}</span>}
          {action.key !== undefined && <kbd aria-hidden="true">{action.key}</kbd>}
        </li>
      ))}
    </ul>
  );

const ActionList = ({ actions, onRun, onClose }: ListProps) => {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const wanted = text.trim().toLowerCase();
  const found = actions.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, most);
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const next = (at + step + found.length) % Math.max(1, found.length);
      setAt(next);
      document.getElementById(`palette-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") onRun(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="What to do" onClose={onClose} class="palette">
      <label class="search">
        <Icon name="search" />
        <input
          class="field"
          role="combobox"
          placeholder="Find what to do"
          aria-label="What to do"
          aria-expanded={found.length > 0}
          aria-controls={found.length > 0 ? "palette-list" : undefined}
          aria-activedescendant={found[at] === undefined ? undefined : `palette-${at}`}
          autofocus
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </label>
      <Options found={found} wanted={wanted} at={at} onPoint={setAt} onRun={onRun} />
    </Dialog>
  );
};

export const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const app = useApp();
  useStore(app.sessions.list);
  const session = useStore(app.session);
  const [step, setStep] = useState<PaletteStep | null>(null);
  const actions = useMemo(() => listActions(app, Date.now()), []);
  const run = (action: Action | undefined): void => {
    const next = action?.run();
    if (typeof next === "string") setStep(next);
    else onClose();
  };
  if (step === null || session === null)
    return <ActionList actions={actions} onRun={run} onClose={onClose} />;
  if (step === "rename") return <RenameStep session={session} onClose={onClose} />;
  return <SessionConfirm id={session.id} question={step} onClose={onClose} />;
};
