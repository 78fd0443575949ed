import type { Part } from "../chat/message.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type { Embedder, BriefingRules } from "../agent/definition/memory.ts";
import type { TeamBudgets } from "../agent/state/budget.ts";
import type { SessionRules } from "../session/command.ts";
import type { CallerConstraints } from "../agent/state/child.ts";
import type { StoreRules } from "../agent/state/entries.ts";
import type { Session } from "../agent/state/session.ts";
import type { Team } from "../config/team.ts";
import type { CallEdge } from "./tools/effective-tools.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import type { NotesOwner } from "./access/notes.ts";
import type { LogLine } from "../tools/log-line.ts";
import type { Redactor } from "../tools/redaction.ts";

/** An effective tool of an agent, as `GET /v1/agents/{name}` shows it. */
interface ToolListing {
  readonly name: string;
  readonly toolbox: string;
  readonly description: string;
  readonly safety: string;
}

/** A compiled team made runnable: what sessions ask of it. Built once per isolate and revision. */
export interface Engine {
  /** With its model ids resolved. */
  readonly team: Team;
  /** Revision of the definition this engine runs. */
  readonly revision: string;
  /** The definition as stored for sessions that pin it. */
  readonly definition: string;
  readonly rules: SessionRules;
  /** Takes the deployment's secrets out of texts. */
  readonly redactor: Redactor;
  readonly logLine: LogLine;
  /** An agent of a session; `standing` if it was called by others. */
  readonly agent: (name: string, session: Session, standing?: CallerConstraints | null) => Agent;
  readonly storeRules: StoreRules;
  readonly briefing: BriefingRules;
  /** What makes vectors for an agent's memory; null: it has none. */
  readonly embedder: (agent: string) => Embedder | null;
  /** Whose notes an agent of a session writes; null: the session's own. */
  readonly notesOwner: (agent: string, session: Session) => NotesOwner | null;
  readonly budgets: TeamBudgets;
  readonly sandbox: (session: Pick<Session, "tenant" | "id">) => Sandbox;
  readonly estimate: (parts: readonly Part[], media: (blob: string) => string) => number;
  /** The effective tools of an agent in `main`, by the one function that says so. */
  readonly toolsOf: (agent: string) => readonly ToolListing[];
  /** Whom an agent may call, and with which tools. */
  readonly callsOf: (agent: string) => readonly CallEdge[];
  /** Context window of a provider's model in tokens, as this agent's turns have it. */
  readonly windowOf: (provider: string, model: string, agent?: string) => number;
}
