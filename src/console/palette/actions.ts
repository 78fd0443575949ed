import { stopRun } from "../conversation/dock.tsx";
import { formatAge } from "../parts/format.ts";
import type { IconName } from "../parts/icon-paths.ts";
import { turnsOf } from "../run/figures.ts";
import { shownThread } from "../run/choice.tsx";
import { chosenTab, listTabs } from "../run/tabs.ts";
import type { SessionQuestion } from "../sessions/confirm.tsx";
import { readRows } from "../sessions/shown.ts";
import { tellApart, titleOf } from "../sessions/status.ts";
import type { App } from "../state/app.ts";
import type { SessionControl } from "../state/session.ts";
import { exportSession, forkSession } from "./copies.ts";

/** All that the palette offers. */

/** What the palette asks for before it acts on the session that is shown. */
export type PaletteStep = SessionQuestion | "rename";

export interface Action {
  readonly id: string;
  readonly name: string;
  readonly icon: IconName;
  /** What tells it from others of its name. */
  readonly detail?: string;
  readonly key?: string;
  /** Acts, or says what has to be asked first. */
  readonly run: () => PaletteStep | void;
}

/** What can be done with the run, or between runs with what the model sees. */
const runActions = (app: App, session: SessionControl): readonly Action[] => {
  const transcript = session.open.getSnapshot();
  const address = app.route.get();
  const last = turnsOf(transcript, shownThread(transcript, address)).at(-1);
  const isBusy = transcript.session?.active_run != null;
  const look: Action[] = [];
  if (last !== undefined) {
    const context = { run: last.run.id, turn: last.facts.turn, call: null };
    const name = `What the model saw in turn ${last.facts.turn}`;
    look.push({
      id: "look",
      name,
      icon: "eye",
      key: "V",
      run: () => app.go({ ...address, context }),
    });
  }
  if (!isBusy)
    return [
      ...look,
      {
        id: "compact",
        name: "Make the context smaller",
        icon: "lines",
        run: () => app.report(session.compact()),
      },
    ];
  return [
    ...look,
    { id: "stop", name: "Stop the run", icon: "close", run: () => stopRun(app, session) },
    {
      id: "stop after",
      name: "Stop after this turn",
      icon: "close",
      run: () => app.report(session.cancel("after_turn")),
    },
  ];
};

/** What can be done with the session; the menu at its title does the same. */
const sessionActions = (app: App, { id }: SessionControl): readonly Action[] => [
  { id: "rename", name: "Rename this session…", icon: "pencil", run: () => "rename" },
  { id: "clear", name: "Clear this session…", icon: "lines", run: () => "clear" },
  { id: "delete", name: "Delete this session…", icon: "close", run: () => "delete" },
  {
    id: "fork",
    name: "Fork this session: go on in a copy",
    icon: "branch",
    run: () => app.report(forkSession(app, id)),
  },
  {
    id: "export",
    name: "Export this session: download its events",
    icon: "download",
    run: () => app.report(exportSession(app, id)),
  },
];

const panelActions = (app: App, { open }: SessionControl): readonly Action[] => [
  {
    id: "panel",
    name: "Show or hide the run",
    icon: "panel",
    run: () => app.panel.set((open) => !open),
  },
  ...listTabs(app.team.get(), open.getEvents()).map((tab): Action => ({
    id: `tab ${tab}`,
    name: `Show ${tab === "Run" ? "the run" : tab.toLowerCase()}`,
    icon: "panel",
    run: () => {
      const address = app.route.get();
      if (address.context !== null) app.go({ ...address, context: null });
      chosenTab.set(tab);
      app.panel.set(true);
    },
  })),
];

const actionsOfSession = (app: App): readonly Action[] => {
  const session = app.session.get();
  if (session === null) return [];
  return [...runActions(app, session), ...sessionActions(app, session), ...panelActions(app, session)];
};

/** Names the sessions to go to; those of one title differ by when they began. */
const goActions = (app: App, now: number): readonly Action[] => {
  const { rows } = readRows(app);
  const beganOf = tellApart(rows, now);
  return rows.map((row) => ({
    id: `session ${row.id}`,
    name: `Session: ${titleOf(row)}`,
    icon: "file",
    detail: [beganOf(row), row.agent, formatAge(row.updated_at, now)].filter(Boolean).join(" · "),
    run: () => app.go({ session: row.id, context: null }),
  }));
};

/** Lists everything that can be done where one is, the nearest first. */
export const listActions = (app: App, now: number): readonly Action[] => [
  ...actionsOfSession(app),
  {
    id: "new",
    name: "New session",
    icon: "plus",
    key: "N",
    run: () => app.go({ session: null, context: null }),
  },
  {
    id: "permissions",
    name: "Permissions that were given",
    icon: "list",
    run: () => app.show("permissions"),
  },
  { id: "keys", name: "Keys", icon: "list", key: "?", run: () => app.show("keys") },
  ...goActions(app, now),
];
