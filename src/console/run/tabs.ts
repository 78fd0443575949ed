import type { StoredEvent } from "../../client/index.ts";
import type { TeamFacts } from "../state/agents.ts";
import { createStore } from "../state/store.ts";

/** The tabs of the panel beside the conversation, and the one that was chosen. */

const panelTabs = ["Run", "Tasks", "Notes", "State", "Files", "Events"] as const;

export type PanelTab = (typeof panelTabs)[number];

export const chosenTab = createStore<PanelTab>("Run");

/** Tells which events change the store that a tab shows; each store is named like the toolbox that uses it. */
export const storeChanges = {
  Tasks: ({ type }) => type === "task_changed",
  Notes: (event) => event.type === "store_changed" && event.data.store === "notes",
  State: (event) => event.type === "store_changed" && event.data.store === "state",
} as const satisfies Partial<Record<PanelTab, (event: StoredEvent) => boolean>>;

const hasStore = (tab: keyof typeof storeChanges, team: TeamFacts | null): boolean =>
  team?.agents.some(({ tools }) => tools.some(({ toolbox }) => toolbox === tab.toLowerCase())) === true;

/** Lists the tabs of a session: of the stores those that an agent of the team uses, or one that it had before has used. */
export const listTabs = (team: TeamFacts | null, events: readonly StoredEvent[]): readonly PanelTab[] =>
  panelTabs.filter(
    (tab) =>
      !(tab === "Tasks" || tab === "Notes" || tab === "State") ||
      hasStore(tab, team) ||
      events.some(storeChanges[tab]),
  );
