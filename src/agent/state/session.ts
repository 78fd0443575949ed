import type { Json } from "../../chat/message.ts";
import type { TenantAddress } from "../../sandbox/jurisdiction.ts";
import type { Safety } from "../../tools/define-tool.ts";
import type { Ask } from "./ask.ts";
import type { Tasks } from "./board.ts";
import type { Funds, SessionBudget } from "./budget.ts";
import type { BackgroundCommands, Outbox } from "./records.ts";
import type { Thread } from "./thread.ts";
import type { UsageTotals } from "./usage.ts";

/** A client tool's calls are answered by the session's client. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly params: Json;
  readonly safety: Safety;
}

/** A grant is a permission that an answer left behind. */
export interface Grant {
  readonly id: string;
  readonly scope: "session" | "agent";
  readonly agent: string;
  readonly tool: string;
  readonly pattern: string;
  readonly by: string;
  readonly at: number;
}

export interface Session extends TenantAddress {
  readonly id: string;
  readonly agent: string;
  /** The agent is shown with this prefix. */
  readonly prefix: string;
  readonly ref: string | null;
  readonly title: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly revision: string;
  readonly interactive: boolean;
  readonly tools: readonly string[] | null;
  readonly clientTools: readonly ClientTool[];
  readonly model: string | null;
  /** `model` applies to `main` alone, or also to its children. */
  readonly modelScope: "main" | "tree";
  /** The caller set it; it narrows the team's. */
  readonly budget: SessionBudget | null;
  readonly funds: Funds;
  readonly outputSchema: Json | null;
  /** The session is deleted after so many days at rest; absent or null: the team's setting applies. */
  readonly retentionDays?: number | null;
  /** Keys of commands older than this are forgotten; absent before the first key. */
  readonly keysSince?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** It is the `seq` of the newest event. */
  readonly head: number;
  readonly nextRun: number;
  readonly nextInput: number;
  readonly nextBlob: number;
  /** The next edit of a view has this number, from 1: it orders overlays and retirements. */
  readonly nextEdit: number;
  readonly threads: Readonly<Record<string, Thread>>;
  /** These threads wait for a slot, first come first. */
  readonly queue: readonly string[];
  /** Called threads are counted by the run of `main` they belong to, while any of it is alive. */
  readonly trees: Readonly<Record<string, number>>;
  /** These are the numbers of the newest labels, by agent. */
  readonly labels: Readonly<Record<string, number>>;
  /** Only open asks are here; resolved ones are rows. */
  readonly asks: Readonly<Record<string, Ask>>;
  readonly grants: readonly Grant[];
  /** This is the task board. */
  readonly tasks: Tasks;
  /** These were reported once for a model: parameters that it did not take, a price that is unknown. */
  readonly dropped: readonly string[];
  /** The workspace brought this project context at the first run; absent if there was none. */
  readonly external?: { readonly text: string };
  /** These rows have to reach the tenant's object; absent or null if there are none. */
  readonly outbox?: Outbox | null;
  /** The session's sandbox was requested at least once. */
  readonly sandboxed: boolean;
  /** These sandbox commands run in the background or have to be ended; absent or null if there are none. */
  readonly commands?: BackgroundCommands | null;
  /** A warning about a small window was given. */
  readonly windowWarned?: boolean;
  readonly usage: UsageTotals;
}
