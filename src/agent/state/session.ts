import type { Json } from "../../chat/message.ts";
import type { Safety } from "../../tools/define-tool.ts";
import type { Ask } from "./ask.ts";
import type { Tasks } from "./board.ts";
import type { Funds, SessionBudget } from "./budget.ts";
import type { BackgroundCommands, Outbox } from "./records.ts";
import type { Thread } from "./thread.ts";
import type { UsageTotals } from "./usage.ts";

/** A tool of a session whose calls its client answers. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly params: Json;
  readonly safety: Safety;
}

/** A permission that an answer left behind. */
export interface Grant {
  readonly id: string;
  readonly scope: "session" | "agent";
  readonly agent: string;
  readonly tool: string;
  readonly pattern: string;
  readonly by: string;
  readonly at: number;
}

export interface Session {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  /** What the agent is shown with. */
  readonly prefix: string;
  readonly ref: string | null;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly revision: string;
  readonly interactive: boolean;
  readonly tools: readonly string[] | null;
  readonly clientTools: readonly ClientTool[];
  readonly model: string | null;
  /** Whether `model` is `main`'s alone, or its children's, too. */
  readonly modelScope: "main" | "tree";
  /** Set by its caller; narrows the team's. */
  readonly budget: SessionBudget | null;
  readonly funds: Funds;
  readonly outputSchema: Json | null;
  /** Days at rest after which it is deleted, set by its caller; absent or null: the team's. */
  readonly retentionDays?: number | null;
  /** Older keys of commands are forgotten; absent before the first key. */
  readonly keysSince?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** `seq` of the newest event. */
  readonly head: number;
  readonly nextRun: number;
  readonly nextInput: number;
  readonly nextBlob: number;
  /** Number of the next edit of a view, from 1: it orders overlays and retirements. */
  readonly nextEdit: number;
  readonly threads: Readonly<Record<string, Thread>>;
  /** Threads that wait for a slot, first come first. */
  readonly queue: readonly string[];
  /** Called threads so far, by the run of `main` they belong to, while any of it is alive. */
  readonly trees: Readonly<Record<string, number>>;
  /** Numbers of the newest labels, by agent. */
  readonly labels: Readonly<Record<string, number>>;
  /** Open asks only; resolved ones are rows. */
  readonly asks: Readonly<Record<string, Ask>>;
  readonly grants: readonly Grant[];
  /** The task board. */
  readonly tasks: Tasks;
  /** What is said once of a model: parameters that it did not take, a price that is not known. */
  readonly dropped: readonly string[];
  /** Project context that the workspace brought along at the first run; absent: none. */
  readonly external?: { readonly text: string };
  /** What has to reach the team's object; absent or null: nothing. */
  readonly outbox?: Outbox | null;
  /** Whether its sandbox was ever asked for. */
  readonly sandboxed: boolean;
  /** Commands of the sandbox in the background, or to be ended; absent or null: none. */
  readonly commands?: BackgroundCommands | null;
  /** That a window is small was said. */
  readonly windowWarned?: boolean;
  readonly usage: UsageTotals;
}
