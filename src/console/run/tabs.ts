import { createStore } from "../state/store.ts";

/** The tabs of the panel beside the conversation, and the one that is shown. */

export const panelTabs = ["Run", "Tasks", "Notes", "State", "Files", "Events"] as const;

export type PanelTab = (typeof panelTabs)[number];

export const shownTab = createStore<PanelTab>("Run");
