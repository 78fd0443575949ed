import type { Json } from "../../chat/message.ts";
import type { TenantAddress } from "../../sandbox/jurisdiction.ts";
import type { BrowserPage } from "../../tools/egress/browser-page.ts";
import type { Safety } from "../../tools/define-tool.ts";
import type { Ask } from "./ask.ts";
import type { Tasks } from "./board.ts";
import type { Funds, SessionBudget, Spending } from "./budget.ts";
import type { InitialFile, LostFile, PendingFileChange } from "./files.ts";
import type { Notice } from "./run.ts";
import type { BackgroundCommands, Outbox } from "./records.ts";
import { noBackgroundCommands } from "./records.ts";
import type { Thread } from "./thread.ts";
import { noSpending } from "./budget.ts";

/** Tool whose calls the session's client answers. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly params: Json;
  readonly safety: Safety;
}

/** Permission that an answer left behind. */
export interface Grant {
  readonly id: string;
  readonly scope: "session" | "agent";
  readonly agent: string;
  readonly tool: string;
  readonly pattern: string;
  readonly by: string;
  readonly at: number;
}

/** Revision to which a session is to migrate, with new names for its agents; others keep theirs. */
export interface NextMigration {
  readonly to: string;
  readonly agents: Readonly<Record<string, string>>;
}

/** Tool of a server as it is declared to models. */
export interface ServerTool {
  /** `server__tool`. */
  readonly name: string;
  /** Name of the tool at the server. */
  readonly remote: string;
  readonly description: string;
  readonly schema: Json;
  /** What the server says of the tool; it counts only if the team trusts the server. */
  readonly hints: { readonly readOnly: boolean; readonly idempotent: boolean };
  /** The SHA-256 of what the server says of the tool. */
  readonly hash: string;
  /** Present if the tool is not what was approved, by its hash: it is not declared, and its calls are refused. */
  readonly quarantined?: { readonly pinned: string | null };
}

/** Lists of tools by server; a list changes only before a run of an agent that may use the server. */
export type ServerTools = Readonly<Record<string, readonly ServerTool[]>>;

/** Connection to a server, with what the client wrote down; times are milliseconds since the epoch. */
export interface ServerLink {
  /** Connection for the next calls. */
  readonly connection: Json;
  /** Earlier connections, whose sessions at the server may still be open. */
  readonly earlier: readonly Json[];
  /** When the list was fetched; null if there is none. */
  readonly listedAt: number | null;
  /** Whether the server said that its list has changed. */
  readonly stale: boolean;
  /** Number of attempts in a row that did not reach the server. */
  readonly failures: number;
  /** When the server may be asked again. */
  readonly retryAt: number;
  /** Whether a person was asked to sign in and did not: no one is asked again before the server can be used. */
  readonly declined?: true;
  /** When a person last signed in, be it for another session. */
  readonly signedInAt?: number;
}

export type ServerLinks = Readonly<Record<string, ServerLink>>;

/** Names a session apart from an earlier one that was made under the same name and deleted. */
export const lifetimeOf = ({ id, createdAt }: Pick<Session, "id" | "createdAt">): string =>
  `${id}/${createdAt}`;

/** Values of fields that a session begins with, unless its creation sets them. Rows leave them out, and reading puts them in. */
export const freshSession = {
  prefix: "",
  ref: null,
  title: null,
  named: false,
  metadata: {},
  migration: null,
  keepRevisionForRun: null,
  tools: null,
  clientTools: [],
  model: null,
  modelScope: "main",
  budget: null,
  outputSchema: null,
  retentionDays: null,
  keysSince: null,
  queue: [],
  trees: {},
  labels: {},
  asks: {},
  grants: [],
  tasks: {},
  said: [],
  external: null,
  serverTools: null,
  serverLinks: {},
  outbox: null,
  sandboxed: false,
  initialFiles: [],
  lostFiles: [],
  fileChanges: [],
  commands: noBackgroundCommands,
  page: null,
  spentBefore: noSpending,
} satisfies Partial<Session>;

export interface Session extends TenantAddress {
  readonly id: string;
  readonly agent: string;
  /** Prefix with which the agent is shown. */
  readonly prefix: string;
  readonly ref: string | null;
  readonly title: string | null;
  /** Whether the title was set or removed, or came from a message: no later message gives one. */
  readonly named: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly revision: string;
  /** Revision to which the session migrates before its next run, with other names for agents; null: it stays. */
  readonly migration: NextMigration | null;
  /** Number of the run that starts at the session's revision, although the session was to migrate before it. */
  readonly keepRevisionForRun: number | null;
  readonly interactive: boolean;
  readonly tools: readonly string[] | null;
  readonly clientTools: readonly ClientTool[];
  readonly model: string | null;
  /** `model` applies to `main` alone, or also to its children. */
  readonly modelScope: "main" | "tree";
  /** Budget that the caller set, which narrows the team's. */
  readonly budget: SessionBudget | null;
  readonly funds: Funds;
  readonly outputSchema: Json | null;
  /** Days at rest after which the session is deleted; null: the team's setting applies. */
  readonly retentionDays: number | null;
  /** Time before which keys of commands are forgotten; null before the first key. */
  readonly keysSince: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The `seq` of the newest event. */
  readonly head: number;
  readonly nextRun: number;
  readonly nextInput: number;
  readonly nextBlob: number;
  /** Number of the next edit of a view, from 1: it orders overlays and retirements. */
  readonly nextEdit: number;
  readonly threads: Readonly<Record<string, Thread>>;
  /** Threads that wait for a slot, first come first. */
  readonly queue: readonly string[];
  /** Number of called threads of each run of `main`, while any thread of its tree is alive. */
  readonly trees: Readonly<Record<string, number>>;
  /** The numbers of the newest labels, by agent. */
  readonly labels: Readonly<Record<string, number>>;
  /** Open asks; resolved ones are rows. */
  readonly asks: Readonly<Record<string, Ask>>;
  readonly grants: readonly Grant[];
  /** The task board. */
  readonly tasks: Tasks;
  /** Notices of the session that were given. */
  readonly said: readonly Notice[];
  /** Project context that the workspace brought at the first run; null if there was none. */
  readonly external: { readonly text: string } | null;
  /** Tools of MCP servers as models are shown them; null before the first list. */
  readonly serverTools: ServerTools | null;
  /** Connections of the session to its MCP servers, from when it needs them. */
  readonly serverLinks: ServerLinks;
  /** Rows that have to reach the tenant's object; null if there are none. */
  readonly outbox: Outbox | null;
  /** Whether the session's sandbox was requested at least once, or will be for the files of its creation. */
  readonly sandboxed: boolean;
  /** Files that came with the creation and are not in the workspace yet. */
  readonly initialFiles: readonly InitialFile[];
  /** Files that could not be placed, and of which the model has to be told. */
  readonly lostFiles: readonly LostFile[];
  /** Changes of files by persons that are under way. */
  readonly fileChanges: readonly PendingFileChange[];
  /** Sandbox commands that run in the background or have to be ended. */
  readonly commands: BackgroundCommands;
  /** The page of the session's browser, which is closed when no run is left; null if none is open. */
  readonly page: BrowserPage | null;
  /** Counted over the session's whole life. */
  readonly spent: Spending;
  /** What had been spent when the chat was last cleared. */
  readonly spentBefore: Spending;
}
