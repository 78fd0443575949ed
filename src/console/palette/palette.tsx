import { useMemo, useState } from "preact/hooks";
import { Dialog } from "../parts/controls.tsx";
import { useStore } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import type { IconName } from "../parts/icon-paths.ts";
import { turnsOf } from "../run/figures.ts";
import { titleOf } from "../sessions/status.ts";
import { useApp } from "../state/app.ts";
import type { App } from "../state/app.ts";

/** Everything one can do, found by typing. */

interface Action {
  readonly name: string;
  readonly icon: IconName;
  readonly key?: string;
  readonly run: () => void;
}

const sessionActions = (app: App): readonly Action[] => {
  const session = app.session.get();
  if (session === null) return [];
  const transcript = session.open.getSnapshot();
  const last = turnsOf(transcript).at(-1);
  const isBusy = transcript.session?.active_run != null;
  return [
    ...(last === undefined
      ? []
      : [
          {
            name: `What the model saw in turn ${last.facts.turn}`,
            icon: "eye" as const,
            key: "V",
            run: () =>
              app.go({
                session: session.id,
                context: { run: last.run.id, turn: last.facts.turn, call: null },
              }),
          },
        ]),
    ...(isBusy
      ? [
          { name: "Stop the run", icon: "close" as const, run: () => app.report(session.cancel()) },
          {
            name: "Stop after this turn",
            icon: "close" as const,
            run: () => app.report(session.cancel("after_turn")),
          },
        ]
      : [
          {
            name: "Make the context smaller",
            icon: "lines" as const,
            run: () => app.report(session.compact()),
          },
        ]),
    { name: "Show or hide the run", icon: "panel", run: () => app.panel.set((open) => !open) },
  ];
};

const actionsOf = (app: App): readonly Action[] => [
  ...sessionActions(app),
  { name: "New session", icon: "plus", key: "N", run: () => app.go({ session: null, context: null }) },
  { name: "Keys", icon: "list", key: "?", run: app.showKeys },
  ...app.sessions.list.get().rows.map((row): Action => ({
    name: `Session: ${titleOf(row)}`,
    icon: "file",
    run: () => app.go({ session: row.id, context: null }),
  })),
];

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
const most = 12;

export const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const app = useApp();
  useStore(app.sessions.list);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const wanted = text.trim().toLowerCase();
  const all = useMemo(() => actionsOf(app), []);
  const found = all.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, most);
  const run = (action: Action | undefined): void => {
    onClose();
    action?.run();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") run(found[at]);
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
          aria-label="What to do"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found[at] === undefined ? undefined : `palette-${at}`}
          autofocus
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </label>
      <ul id="palette-list" role="listbox" aria-label="What one can do">
        {found.map((action, place) => (
          <li
            key={action.name}
            id={`palette-${place}`}
            role="option"
            aria-selected={place === at}
            onPointerMove={() => setAt(place)}
            onClick={() => run(action)}
          >
            <Icon name={action.icon} />
            <span class="cut">
              <Found name={action.name} wanted={wanted} />
            </span>
            {action.key !== undefined && <kbd aria-hidden="true">{action.key}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li class="empty meta">Nothing is called so.</li>}
      </ul>
    </Dialog>
  );
};
