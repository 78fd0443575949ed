import type { Agent } from "../src/agent/definition/agent.ts";
import type { SharedMemory, SharedNotes, SharedReflections } from "../src/agent/definition/memory.ts";
import { deletionDueAt } from "../src/agent/loop/next.ts";
import { nextEpoch } from "../src/agent/state/run.ts";
import type { Session } from "../src/agent/state/session.ts";
import type { Driver } from "../src/driver/drive.ts";
import { createDriver } from "../src/driver/drive.ts";
import { gateEmbedders } from "../src/driver/model-call.ts";
import type { Host, TenantDay } from "../src/driver/host.ts";
import type { NotesOwner } from "../src/engine/access/tenant/notes.ts";
import type { Engine } from "../src/engine/engine.ts";
import type { TenantServerStore } from "../src/engine/tools/pinned-servers.ts";
import { createPinnedServers } from "../src/engine/tools/pinned-servers.ts";
import { unseenServerTool } from "../src/engine/tools/servers.ts";
import type { RunLine } from "../src/session/log-lines.ts";
import type { Clock } from "./alarms/clock.ts";
import { agentOfThread, createCommitter, logThrown } from "./committer.ts";
import type { Gates } from "./gates.ts";
import type { Grants } from "./grants.ts";
import { createGrantReporter } from "./grants.ts";
import { loadBlob } from "./rows/encode.ts";
import { entriesOf } from "./rows/entries.ts";
import type { Episodes } from "./rows/episodes.ts";
import { createEpisodes } from "./rows/episodes.ts";
import type { CommitStorage } from "./rows/safe-storage.ts";
import { sandboxOf } from "./sandbox.ts";
import type { OpenItems } from "./sockets/open-items.ts";
import type { Watchers } from "./sockets/watchers.ts";
import { createTransactionContexts, teamRulesOf } from "./transaction-context.ts";

/** Session in memory: the newest stored state, and the driver that works on it. */
export interface LiveSession {
  /** Revision whose engine runs the session. */
  readonly revision: string;
  readonly rules: Engine["rules"];
  readonly read: () => Session;
  readonly update: Host["update"];
  readonly driver: Driver;
  readonly agent: Host["agent"];
  /** Returns the agent of a thread that judges a tool, also of a server that the session has not listed yet. */
  readonly agentFor: (threadId: string, tool: string) => Agent;
  readonly sandbox: Host["sandbox"];
  /** Returns whether the session rested so long that `retention` deletes it. */
  readonly isPastRetention: () => boolean;
  /** Drops all work, and whatever still runs changes nothing; the rows hold the truth unless they are `removed`. */
  readonly stop: (removed: boolean) => void;
}

export interface LiveSessionParts {
  readonly storage: CommitStorage;
  readonly engine: Engine;
  readonly watchers: Watchers;
  readonly clock: Clock;
  readonly items: OpenItems;
  readonly gates: Gates;
  /** Leases shares of the tenant's day. */
  readonly lease: TenantDay["lease"];
  /** Lessons that the tenant's sessions share. */
  readonly reflections: SharedReflections;
  /** Memory that the tenant's sessions share. */
  readonly memory: SharedMemory;
  /** What the tenant keeps of MCP servers. */
  readonly serverStore: TenantServerStore;
  /** Returns the notes that sessions share. */
  readonly notes: (owner: NotesOwner) => SharedNotes;
  /** Returns the team's `retention.session_days`; null means that sessions are kept. */
  readonly sessionDays: () => number | null;
  readonly migration: Host["migration"];
  /** Grants of the tenant's agents. */
  readonly grants: Grants;
  /** Returns milliseconds since the epoch. */
  readonly now: () => number;
  /** Writes a line of the log; the level defaults to info. */
  readonly log: (
    msg: string,
    fields: Readonly<Record<string, unknown>>,
    level?: RunLine["level"],
    below?: string,
  ) => void;
  readonly failed: (error: unknown) => void;
  /**
   * Runs in the transaction of each commit, with its model calls, the newest event before it, and whether it
   * decides.
   */
  readonly committing: (calls: number, head: number, decided: boolean) => void;
}

const catchErrors = (run: () => void, failed: (error: unknown) => void) => (): void => {
  try {
    run();
  } catch (error) {
    failed(error);
  }
};

/** Reads parts of the rows only when they are needed. */
const rowReadersOf = (
  sql: SqlStorage,
  isStored: () => boolean,
): Pick<Host, "media" | "recall" | "entries"> & { readonly episodes: Episodes } => ({
  episodes: createEpisodes(sql),
  media: (blob) => loadBlob(sql, blob) ?? "",
  recall: (id) => (/^b\d+$/.test(id) ? loadBlob(sql, id) : null),
  entries: entriesOf(sql, isStored),
});

/** Creates what a session uses of its tenant, its team, and MCP servers. */
const tenantPartsOf = (
  { engine, lease, migration, reflections, memory, notes, serverStore }: LiveSessionParts,
  session: string,
  interactive: () => boolean,
): Pick<Host, "tenant" | "migration" | "reflections" | "memory" | "notes" | "servers"> => ({
  servers: createPinnedServers(engine.servers, serverStore, { session, interactive }),
  tenant: { lease },
  migration,
  reflections,
  memory,
  notes: (name) => {
    const owner = engine.notesOwner(name);
    return owner && notes(owner);
  },
});

/** Logs details of a call that only the log holds, until the session is dropped. */
const createCallLogs = (
  parts: LiveSessionParts,
  read: () => Session,
  isStopped: () => boolean,
): Pick<Host, "late" | "logThrown"> => ({
  late: (outcome) => void (isStopped() || parts.log("late_outcome", { session: read().id, ...outcome })),
  logThrown: (call, error) => void (isStopped() || logThrown(parts, read(), call, error)),
});

/** Returns the session as if it had listed the server of this tool, unless it has. */
const withServerOf = (tool: string, { team }: Engine, session: Session): Session => ({
  ...session,
  serverTools: { ...unseenServerTool(team, tool), ...session.serverTools },
});

const agentsOf = (engine: Engine, read: () => Session): Pick<LiveSession, "agent" | "agentFor"> => ({
  agent: (threadId) => agentOfThread(engine, read(), threadId),
  agentFor: (threadId, tool) => agentOfThread(engine, withServerOf(tool, engine, read()), threadId),
});

/** Creates a session in memory: `stored` is what the rows hold, and `initial` is the state a creation starts from. */
export const createLiveSession = (
  parts: LiveSessionParts,
  stored: Session | null,
  initial: Session,
): LiveSession => {
  const { storage, engine, watchers, items, gates } = parts;
  const epoch = nextEpoch(stored, parts.now());
  const { episodes, ...rows } = rowReadersOf(storage.sql, () => stored !== null || read() !== initial);
  const contexts = createTransactionContexts(parts, epoch, { ...rows, episodes }, storage.sql);
  const committer = createCommitter(parts, contexts, { stored, initial }, episodes);
  const { read } = committer;
  let stopped = false;
  const agents = agentsOf(engine, read);
  const failed: Host["failed"] = (error) => void (stopped || parts.failed(error));
  const { update, refresh } = createGrantReporter(parts.grants, committer, failed);

  const host: Host = {
    epoch,
    now: parts.now,
    read,
    agent: agents.agent,
    update,
    show: (deltas) => void (stopped || watchers.show(deltas)),
    showFrames:
      engine.team.debug.raw === "events" ? (frames) => void (stopped || watchers.showFrames(frames)) : null,
    itemGrew: (item) => void (stopped || items.grow(item)),
    itemsClosed: items.close,
    ...rows,
    ...teamRulesOf(engine),
    ...tenantPartsOf(parts, initial.id, () => read().interactive),
    embedder: gateEmbedders(engine.embedder, gates.gate, `${initial.id}:embedding:${epoch}`),
    sandbox: sandboxOf(engine, { ...committer, media: rows.media }),
    closeBrowser: engine.closeBrowser,
    gate: gates.gate,
    redactor: engine.redactor,
    grants: { known: parts.grants.known, refresh },
    ...createCallLogs(parts, read, () => stopped),
    renewDrive: parts.clock.renew,
    schedule: (works, at) => parts.clock.schedule(works, at ?? deletionDueAt(read(), parts.sessionDays())),
    failed,
    after: (ms, run) => parts.clock.after(ms, catchErrors(run, failed)),
  };
  const driver = createDriver(host);
  return {
    revision: engine.revision,
    rules: engine.rules,
    read,
    update,
    driver,
    ...agents,
    sandbox: () => host.sandbox(),
    isPastRetention: () => (deletionDueAt(read(), parts.sessionDays()) ?? Infinity) <= parts.now(),
    stop: (removed) => {
      stopped = true;
      committer.close();
      driver.stop(removed);
      if (removed) items.forget();
    },
  };
};
