import type { Api } from "./api.ts";

/** What the server says of itself and of its agents. */

export interface AgentRow {
  readonly name: string;
  readonly description: string;
  readonly prefix: string;
  readonly model: string;
  readonly provider: string;
  readonly context_window: number;
  readonly effects: readonly string[];
  readonly tools: readonly { readonly toolbox: string }[];
  /** The share of the window at which an effect begins to make the context smaller; null if none does. */
  readonly shrinks_at: number | null;
  /** What one may say to try it. */
  readonly starters: readonly { readonly say: string; readonly shows: string }[];
}

export interface TeamFacts {
  readonly name: string;
  readonly entry: string;
  readonly agents: readonly AgentRow[];
  /** True if the models are scripts, which need no key. */
  readonly isScripted: boolean;
}

interface Capabilities {
  readonly team: string;
  readonly entry_agent: string;
  readonly kinds: { readonly providers: readonly string[] };
}

export const readTeam = async (api: Api, signal: AbortSignal): Promise<TeamFacts> => {
  const [{ team, entry_agent, kinds }, { data }] = await Promise.all([
    api.read<Capabilities>("/capabilities", { signal }),
    api.read<{ readonly data: readonly AgentRow[] }>("/agents?limit=200", { signal }),
  ]);
  const isScripted = kinds.providers.every((kind) => kind === "scripted");
  return { name: team, entry: entry_agent, agents: data, isScripted };
};
