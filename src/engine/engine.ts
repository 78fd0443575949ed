import type { Json, Part } from "../chat/message.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type { Embedder, BriefingRules } from "../agent/definition/memory.ts";
import type { TeamBudgets } from "../agent/state/budget.ts";
import type { SessionRules } from "../session/define-operation.ts";
import type { CallerConstraints } from "../agent/state/child.ts";
import type { StoreRules } from "../agent/state/records.ts";
import type { CallPlan } from "../agent/state/call.ts";
import type { Grant, Session } from "../agent/state/session.ts";
import type { Team } from "../config/team.ts";
import type { CallEdge } from "./tools/effective-tools.ts";
import type { Servers } from "./tools/servers.ts";
import type { TenantAddress } from "../sandbox/jurisdiction.ts";
import type { Sandbox, WorkspaceFiles } from "../sandbox/contract.ts";
import type { NotesOwner } from "./access/tenant/notes.ts";
import type { LogLine } from "../tools/log-line.ts";
import type { Redactor } from "../tools/redaction.ts";

/** Effective tool of an agent, as `GET /v1/agents/{name}` shows it. */
interface ToolListing {
  readonly name: string;
  readonly toolbox: string;
  readonly description: string;
  readonly safety: string;
}

/** Toolbox of an agent that this deployment cannot serve, with the reason; its tools answer `unavailable`. */
interface UnservedToolbox {
  readonly agent: string;
  readonly toolbox: string;
  readonly reason: string;
}

/** A compiled team that sessions can run, built once per isolate and revision. */
export interface Engine {
  /** Team with its model ids resolved. */
  readonly team: Team;
  /** Revision of the definition that this engine runs. */
  readonly revision: string;
  /** Definition as it is stored for sessions that pin it. */
  readonly definition: string;
  readonly rules: SessionRules;
  /** Removes the deployment's secrets from texts. */
  readonly redactor: Redactor;
  readonly unserved: readonly UnservedToolbox[];
  readonly logLine: LogLine;
  /** Whether this is a developer's machine, whose log may quote what somebody wrote. */
  readonly isDevelopment: boolean;
  /** Returns an agent of a session; `callerConstraints` is given if other agents called it. */
  readonly agent: (name: string, session: Session, callerConstraints?: CallerConstraints | null) => Agent;
  /** Access to the team's MCP servers. */
  readonly servers: Servers;
  readonly storeRules: StoreRules;
  readonly briefing: BriefingRules;
  /** Returns the embedder of an agent's memory, or null if the agent has none. */
  readonly embedder: (agent: string) => Embedder | null;
  /** Returns whose notes an agent writes; null means the session's own. */
  readonly notesOwner: (agent: string) => NotesOwner | null;
  readonly budgets: TeamBudgets;
  /** Returns a session's sandbox; `prepare` works on it before its first use. */
  readonly sandbox: (
    session: Pick<Session, keyof TenantAddress | "id">,
    prepare?: (sandbox: Sandbox) => Promise<void>,
  ) => Sandbox;
  /** Returns the files of a session's sandbox for access by a person. */
  readonly workspace: (session: Pick<Session, keyof TenantAddress | "id">) => WorkspaceFiles;
  /** Closes a browser of the platform that a session opened. */
  readonly closeBrowser: (id: string) => Promise<void>;
  readonly estimate: (parts: readonly Part[], media: (blob: string) => string) => number;
  /** Lists the effective tools of an agent in `main`. */
  readonly toolsOf: (agent: string) => readonly ToolListing[];
  /**
   * Judges a call in `main` of a new session by rules and grants, without running it; null if there is no such
   * agent.
   */
  readonly judgeCall: (
    agent: string,
    call: { readonly tool: string; readonly input: Json },
    grants: readonly Grant[],
  ) => CallPlan | null;
  /** Lists the agents that an agent may call, and their tools. */
  readonly callsOf: (agent: string) => readonly CallEdge[];
  /** Returns the context window of a provider's model in tokens, as it applies to this agent's turns. */
  readonly windowOf: (provider: string, model: string, agent?: string) => number;
}
