import type { Capability } from "./capabilities.ts";

/** How an agent calls others, where it stands (agents spec §1, AG-20). */

/** An agent as its callers see it (AG-6). */
export interface AgentCard {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly Capability[];
  readonly skills_tags: readonly string[];
  readonly estimated_cost: "cheap" | "medium" | "expensive" | null;
  /** Calls to it always run in the background. */
  readonly async: boolean;
}

export interface Delegation {
  /** It may start children here (AG-20). */
  readonly allowed: boolean;
  /** Sorted by name, without itself. */
  readonly callable: readonly AgentCard[];
  /** Every agent of the team. */
  readonly names: readonly string[];
  /** It may choose the background for a task. */
  readonly async: boolean;
  /** Providers it may choose for a child. */
  readonly providers: readonly string[];
  /** Its children may ask it, unless a task says otherwise (AG-28). */
  readonly interactive: boolean;
  /** It has the tools to look after children that it does not wait for. */
  readonly manages: boolean;
  readonly maxChildrenPerCall: number;
  /** Threads of one run, those below its children included. */
  readonly maxThreads: number;
  readonly maxConcurrent: number;
  /** Characters. */
  readonly maxContextLength: number;
  readonly maxResultLength: number;
  readonly maxHandoffs: number;
  readonly progressUpdates: boolean;
  /** Milliseconds. */
  readonly announce: { readonly timeout: number; readonly retries: number; readonly backoff: number };
}

/** Of an agent that can do nothing. */
export const noDelegation: Delegation = {
  allowed: false,
  callable: [],
  names: [],
  async: false,
  providers: [],
  interactive: false,
  manages: false,
  maxChildrenPerCall: 0,
  maxThreads: 0,
  maxConcurrent: 0,
  maxContextLength: 0,
  maxResultLength: 0,
  maxHandoffs: 0,
  progressUpdates: false,
  announce: { timeout: 0, retries: 0, backoff: 0 },
};

/** What an agent at its depth limit is told. */
export const depthReached = (depth: number): string =>
  `at depth ${depth} no further agent may be called; do it yourself`;
