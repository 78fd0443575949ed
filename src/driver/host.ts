import type { LeaseAnswer, LeaseRequest } from "../agent/budgets/lease.ts";
import type { Agent } from "../agent/definition/agent.ts";
import type {
  BriefingRules,
  Embedder,
  SharedMemory,
  SharedNotes,
  SharedReflections,
} from "../agent/definition/memory.ts";
import type { Bound } from "../agent/state/budget.ts";
import type { Delta, ItemKind } from "../agent/state/delta.ts";
import type { EntryReader, StoreRules } from "../agent/state/entries.ts";
import type { Grant, Session } from "../agent/state/session.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import type { ReserveAnswer, ReserveRequest, GateSettlement } from "../model/gate.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import type { Redactor } from "../tools/redaction.ts";

/** Rate limits and health of one provider. */
export interface Gate {
  reserve(request: ReserveRequest): Promise<ReserveAnswer>;
  /** Tells how an attempt ended; nothing waits for it. `booked` = it had a place. */
  ended(id: string, booked: boolean, outcome: GateSettlement): void;
  /** Gives a place back that is not needed. */
  release(id: string): void;
}

/** What a session asks of its tenant's day. */
export interface TenantDay {
  readonly bounds: readonly Bound[];
  /** A share of the day; throws if nobody answers. */
  lease(request: LeaseRequest): Promise<LeaseAnswer>;
}

/** The whole outside world of the core: storage, clock, watchers, bindings. */
export interface Host {
  readonly epoch: number;
  now(): number;
  read(): Session;
  /** The agent of a thread. */
  agent(threadId: string): Agent;
  /** Applies a transition to the newest state in one transaction, then publishes its events; throws if it could not be stored. */
  update<T>(change: (draft: Draft) => T): T;
  /** Live pieces for watchers, in order; nothing waits for them. */
  show(deltas: readonly Delta[]): void;
  /** Text of an open item so far, kept for late watchers and, now and then, in storage. */
  itemGrew(item: {
    readonly id: string;
    readonly thread: string;
    readonly kind: ItemKind;
    readonly attempt: number;
    readonly text: string;
  }): void;
  itemsClosed(ids: readonly string[]): void;
  /** Base64 of stored bytes. */
  media(blob: string): string;
  /** Stored full text, null if unknown. */
  recall(id: string): string | null;
  /** Stored entries of the shared stores. */
  readonly entries: EntryReader;
  readonly storeRules: StoreRules;
  readonly briefing: BriefingRules;
  /** Lessons that the tenant's sessions share. */
  readonly reflections: SharedReflections;
  /** What the tenant's sessions remember. */
  readonly memory: SharedMemory;
  /** What makes vectors for an agent's memory; null: it has none. */
  embedder(agent: string): Embedder | null;
  /** Notes that sessions share, as this agent sees them; null: each session has its own. */
  notes(agent: string): SharedNotes | null;
  sandbox(): Sandbox;
  gate(provider: string): Gate;
  readonly tenant: TenantDay;
  /** Takes known secrets out of what tools give back. */
  readonly redactor: Redactor;
  /** Grants of the tenant's agents. */
  readonly grants: {
    known(): readonly Grant[];
    /** Asks the team again if that was long ago; what it cannot say stays as it was known. */
    look(): Promise<void>;
  };
  /** Says when the driver next has something to do by itself: `live` work is running, `at` is the earliest deadline. */
  rest(live: boolean, at: number | null): void;
  /** An outcome came after nobody waited for it any more: it is logged and changes nothing. */
  late(outcome: {
    readonly thread: string;
    readonly run: string;
    /** The model attempt or the tool call. */
    readonly step: string;
    readonly code: string;
  }): void;
  /** A failure that no transition could store. */
  failed(error: unknown): void;
  /** Calls `run` once, about `ms` from now. */
  after(ms: number, run: () => void): { cancel(): void };
}
