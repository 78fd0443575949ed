import type { Json } from "../../chat/message.ts";
import type { TenantAddress } from "../../sandbox/jurisdiction.ts";
import type { BrowserPage } from "../../tools/egress/browser-page.ts";
import type { Safety } from "../../tools/define-tool.ts";
import type { Ask } from "./ask.ts";
import type { Tasks } from "./board.ts";
import type { Funds, SessionBudget } from "./budget.ts";
import type { InitialFile, LostFile, PendingFileChange } from "./files.ts";
import type { Notice } from "./run.ts";
import type { BackgroundCommands, Outbox } from "./records.ts";
import type { Thread } from "./thread.ts";
import type { Spending } from "./usage.ts";

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

/** A session is to go over to this revision, in which its agents have these names; others keep theirs. */
export interface NextMigration {
  readonly to: string;
  readonly agents: Readonly<Record<string, string>>;
}

/** A tool of a server as it is declared to models. */
export interface ServerTool {
  /** `server__tool`. */
  readonly name: string;
  /** The server knows the tool by this name. */
  readonly remote: string;
  readonly description: string;
  readonly schema: Json;
  /** The server says this of it, which counts only if the team trusts the server. */
  readonly hints: { readonly readOnly: boolean; readonly idempotent: boolean };
  /** The SHA-256 of what the server says of the tool. */
  readonly hash: string;
  /** The tool is not what was approved: it is not declared, and its calls are refused. */
  readonly quarantined?: true;
}

/** Lists by server; a list changes only before a run of an agent that may use the server. */
export type ServerTools = Readonly<Record<string, readonly ServerTool[]>>;

/** The connection is what the client wrote down; times are milliseconds since the epoch. */
export interface ServerLink {
  readonly connection: Json;
  /** The list is as old as this; null if there is none. */
  readonly listedAt: number | null;
  /** The server said that its list has changed. */
  readonly stale: boolean;
  /** So many attempts to reach the server failed in a row. */
  readonly failures: number;
  /** The server is not asked again before this. */
  readonly retryAt: number;
  /** Somebody was asked to sign in and did not: nobody is asked again before the server can be used. */
  readonly declined?: true;
}

export type ServerLinks = Readonly<Record<string, ServerLink>>;

export interface Session extends TenantAddress {
  readonly id: string;
  readonly agent: string;
  /** The agent is shown with this prefix. */
  readonly prefix: string;
  readonly ref: string | null;
  readonly title: string | null;
  /** Somebody set or removed the title, or a message has given one: no later message does. */
  readonly named?: true;
  readonly metadata: Readonly<Record<string, string>>;
  readonly revision: string;
  /** The session goes over to this revision before its next run, with other names for agents; absent or null: it stays. */
  readonly migration?: NextMigration | null;
  /** The run of this number starts at the session's revision, though the session was to go over before it. */
  readonly keepRevisionForRun?: number;
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
  /** The `seq` of the newest event. */
  readonly head: number;
  readonly nextRun: number;
  readonly nextInput: number;
  readonly nextBlob: number;
  /** The next edit of a view has this number, from 1: it orders overlays and retirements. */
  readonly nextEdit: number;
  readonly threads: Readonly<Record<string, Thread>>;
  /** Threads that wait for a slot, first come first. */
  readonly queue: readonly string[];
  /** Called threads are counted by the run of `main` they belong to, while any of it is alive. */
  readonly trees: Readonly<Record<string, number>>;
  /** The numbers of the newest labels, by agent. */
  readonly labels: Readonly<Record<string, number>>;
  /** Only open asks are here; resolved ones are rows. */
  readonly asks: Readonly<Record<string, Ask>>;
  readonly grants: readonly Grant[];
  /** The task board. */
  readonly tasks: Tasks;
  /** Notices of the session that were given. */
  readonly said: readonly Notice[];
  /** The workspace brought this project context at the first run; absent if there was none. */
  readonly external?: { readonly text: string };
  /** The tools of MCP servers as models are shown them; absent before the first list. */
  readonly serverTools?: ServerTools;
  /** How the session reaches its MCP servers; absent before it needs one. */
  readonly serverLinks?: ServerLinks;
  /** Rows that have to reach the tenant's object; absent or null if there are none. */
  readonly outbox?: Outbox | null;
  /** The session's sandbox was requested at least once, or will be for the files of its creation. */
  readonly sandboxed: boolean;
  /** Files that came with the creation and are not in the workspace yet; absent or null if there are none. */
  readonly initialFiles?: readonly InitialFile[] | null;
  /** Files that could not be placed, and the model has to be told; absent or null if there are none. */
  readonly lostFiles?: readonly LostFile[] | null;
  /** Changes of files by persons that are under way; absent or null if there are none. */
  readonly fileChanges?: readonly PendingFileChange[] | null;
  /** Sandbox commands that run in the background or have to be ended; absent or null if there are none. */
  readonly commands?: BackgroundCommands | null;
  /** The page of the session's browser, which is closed when no run is left; absent or null if none is open. */
  readonly page?: BrowserPage | null;
  /** Counted over the session's whole life. */
  readonly spent: Spending;
  /** What had been spent when the chat was last cleared. */
  readonly spentBefore: Spending;
}
