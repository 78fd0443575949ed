import type { LeaseAnswer, LeaseRequest } from "../agent/budgets/lease.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type { Embedder, SharedMemory, SharedNotes, SharedReflections } from "../agent/definition/memory.ts";
import type { ServerAnswer } from "../agent/hooks/servers.ts";
import type { Delta, ItemKind, ProviderFrame } from "../agent/state/events.ts";
import type { EntryReader } from "../agent/state/records.ts";
import type { Grant, ServerTool, Session } from "../agent/state/session.ts";
import type { Draft, TeamRules, ThrownByHook } from "../agent/transaction/draft.ts";
import type { Json } from "../chat/message.ts";
import type { ReserveAnswer, ReserveRequest, GateSettlement } from "../model/gate.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import type { Redactor } from "../tools/redaction.ts";
import type { AuthorizeServer } from "../tools/egress/server-authorization.ts";
import type { KeepConnection, ToolOutput } from "../tools/define-tool.ts";
import type { Tickets } from "./model-call.ts";

/** Rate limits and health of one provider. */
export interface Gate {
  reserve(request: ReserveRequest): Promise<ReserveAnswer>;
  /** Reports how an attempt ended, without waiting for an answer. `booked` means that it held a ticket. */
  ended(id: string, booked: boolean, outcome: GateSettlement): void;
  /** Gives back a ticket that is not needed. */
  release(id: string): void;
}

/** What a session asks of its tenant's day. */
export interface TenantDay {
  /** Leases a share of the day; throws if there is no answer. */
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
}

export interface ServerLister {
  /** Returns whether a list has to be fetched anew for its tools to be judged as today. */
  hasNewApprovals(name: string, tools: readonly ServerTool[]): Promise<boolean>;
  /** Asks a server for its tools; it never rejects. */
  list(
    name: string,
    over: readonly Json[],
    outside: {
      readonly signal: AbortSignal;
      readonly sandbox: () => Sandbox;
      readonly keep: KeepConnection;
    },
  ): Promise<ServerAnswer>;
  /** Obtains the tenant's tokens for a server. */
  authorize(server: string): AuthorizeServer;
}

/** Everything that the driver needs from outside: storage, clock, watchers and bindings. */
export interface Host extends TeamRules {
  readonly epoch: number;
  now(): number;
  read(): Session;
  agent(threadId: string): Agent;
  /** Applies a transition to the newest state in one transaction, then publishes its events; throws if that fails. */
  update<T>(change: (draft: Draft) => T): T;
  /** Sends live pieces to watchers in order; no caller waits for them. */
  show(deltas: readonly Delta[]): void;
  /** Sends frames of providers to watchers who may see them; null if the team shows none. */
  readonly showFrames: ((frames: readonly ProviderFrame[]) => void) | null;
  /** Keeps the text of an open item so far for late watchers and, now and then, in storage. */
  itemGrew(item: {
    readonly id: string;
    readonly thread: string;
    readonly kind: ItemKind;
    readonly attempt: number;
    readonly text: string;
  }): void;
  itemsClosed(ids: readonly string[]): void;
  /** Returns stored bytes as base64. */
  media(blob: string): string;
  /** Returns a stored full text, or null if the id is unknown. */
  recall(id: string): string | null;
  /** Stored entries of the shared stores. */
  readonly entries: EntryReader;
  /** Lessons that the tenant's sessions share. */
  readonly reflections: SharedReflections;
  /** Memory that the tenant's sessions share. */
  readonly memory: SharedMemory;
  /** Returns the embedder of an agent's memory, or null if the agent has none. */
  embedder(agent: string): Embedder | null;
  /** Returns the notes that sessions share, as this agent sees them; null means that each session has its own. */
  notes(agent: string): SharedNotes | null;
  sandbox(): Sandbox;
  /** Asks MCP servers for their tools. */
  readonly servers: ServerLister;
  /** Closes a browser of the platform. */
  closeBrowser(id: string): Promise<void>;
  gate(provider: string): Gate;
  readonly tenant: TenantDay;
  readonly migration: {
    /** Revision to which the team's sessions migrate before their next run; null: each keeps its own. */
    readonly follows: string | null;
    /** Migrates the session at rest to the revision that is due, or lets it stay, and goes on with what waits. */
    run(): Promise<void>;
  };
  /** Removes known secrets from what tools return. */
  readonly redactor: Redactor;
  /** Grants of the tenant's agents. */
  readonly grants: {
    known(): readonly Grant[];
    /** Asks the tenant's object again if the last answer is old; without a new answer the known grants stay. */
    refresh(): Promise<void>;
  };
  /** Says when the driver next has work: `live` means that work is running now, `at` is the earliest deadline. */
  schedule(live: boolean, at: number | null): void;
  /** Lets the platform's next event carry the work, since this one may send no more requests. */
  renewDrive(): void;
  /** Logs an outcome that came too late to be used; it changes nothing. */
  late(outcome: {
    readonly thread: string;
    readonly run: string;
    /** Model attempt or tool call. */
    readonly step: string;
    readonly code: string;
  }): void;
  /** Logs what a tool, or an effect that works outside a transition, threw, for its author. */
  logThrown(by: ThrownBy, error: unknown): void;
  /** Reports a failure that no transition could store. */
  failed(error: unknown): void;
  /** Calls `run` once, about `ms` from now. */
  after(ms: number, run: () => void): { cancel(): void };
}

/** A tool by its call, or a hook by its kind. */
export type ThrownBy =
  | { readonly thread: string; readonly step: string; readonly tool: string }
  | Pick<ThrownByHook, "thread" | "hook">;

/** What one piece of work may use. */
export interface WorkContext {
  readonly host: Host;
  readonly cache: ToolCache;
  /** Aborted when the work is asked to end. */
  readonly stop: LazyAbort;
  /** Aborted when the outcome is no longer needed. */
  readonly gone: LazyAbort;
  readonly tickets: Tickets;
  /** Lets one piece of work at a time use the session's browser. */
  readonly browserLock: Lock;
  /** Stores an outcome and everything that follows from it in one commit. */
  readonly settle: (change: (draft: Draft) => void) => void;
}

/** Makes its signal only on demand: most work ends by itself, and a native signal costs more than short work. */
export interface LazyAbort {
  /** Returns whether the abort was requested. */
  readonly asked: () => boolean;
  readonly ask: () => void;
  /** Calls back once the abort is requested, or at once if it already was. */
  readonly whenAsked: (run: () => void) => void;
  readonly signal: () => AbortSignal;
}

export const createLazyAbort = (): LazyAbort => {
  let asked = false;
  let controller: AbortController | null = null;
  let waiting: (() => void)[] = [];
  return {
    asked: () => asked,
    ask: () => {
      if (asked) return;
      asked = true;
      controller?.abort();
      for (const run of waiting) run();
      waiting = [];
    },
    whenAsked: (run) => {
      if (asked) run();
      else waiting.push(run);
    },
    signal: () => {
      if (controller !== null) return controller.signal;
      controller = new AbortController();
      if (asked) controller.abort();
      return controller.signal;
    },
  };
};

/** Returns the outcome of work; null if it fails, takes longer than `ms` or is not needed: it is asked to end. */
export const withTimeout = async <T>(
  { host, stop }: Pick<WorkContext, "host" | "stop">,
  ms: number,
  work: (ending: LazyAbort) => Promise<T>,
): Promise<T | null> => {
  const ending = createLazyAbort();
  const end = Promise.withResolvers<T | null>();
  ending.whenAsked(() => end.resolve(null));
  stop.whenAsked(ending.ask);
  const timer = host.after(ms, ending.ask);
  if (!ending.asked()) void Promise.try(work, ending).then(end.resolve, ending.ask);
  const outcome = await end.promise;
  timer.cancel();
  return outcome;
};

/** Does one piece of work at a time, in the order of the requests; the failure of one does not affect the next. */
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

export const createLock = (): Lock => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const own = last.then(work);
    last = own.catch(() => undefined);
    return own;
  };
};

/** Call whose result may be kept. */
export interface CacheKey {
  readonly call: string;
  /** When the session was last used, if the result is a read of the workspace, which holds until the next use; else null. */
  readonly usedAt: number | null;
}

interface CachedResult {
  readonly output: ToolOutput;
  readonly usedAt: CacheKey["usedAt"];
  readonly size: number;
}

/** Cache of results of `cache: true` tools in this isolate; emptied whenever the workspace may have changed. */
interface ToolCache {
  get(key: CacheKey): ToolOutput | undefined;
  put(key: CacheKey, output: ToolOutput, epoch: number): void;
  /** Returns the number of changes, so that a result read before a change is not stored after it. */
  readonly epoch: () => number;
  clear(): void;
}

/** Longest result that the cache keeps, and most of all results together, in UTF-16 units of their JSON. */
const longestCached = 1_048_576;

const mostCached = 4 * longestCached;

export const createToolCache = (): ToolCache => {
  const results = new Map<string, CachedResult>();
  let total = 0;
  let changes = 0;
  /** Forgets those results that are to go, the oldest first. */
  const forget = (mustGo: (result: CachedResult, call: string) => boolean): void => {
    for (const [call, result] of results) {
      if (!mustGo(result, call)) continue;
      results.delete(call);
      total -= result.size;
    }
  };
  return {
    get: ({ call, usedAt }) => {
      const result = results.get(call);
      return result?.usedAt === usedAt ? result.output : undefined;
    },
    put: ({ call, usedAt }, output, epoch) => {
      const size = call.length + JSON.stringify(output).length;
      if (epoch !== changes || size > longestCached) return;
      forget((old, of) => of === call || (old.usedAt ?? Infinity) < (usedAt ?? 0));
      results.set(call, { output, usedAt, size });
      total += size;
      forget(() => total > mostCached);
    },
    epoch: () => changes,
    clear: () => {
      changes += 1;
      forget(() => true);
    },
  };
};
