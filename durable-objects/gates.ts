import type { TransactionContext } from "../src/agent/transaction/draft.ts";
import type { Gate } from "../src/driver/host.ts";
import type { HealthRow } from "../src/model/health.ts";
import type { ProviderGate } from "./provider-gate.ts";
import type { PendingWait } from "./alarms/timers.ts";
import { withReplyTimeout } from "../src/engine/access/replies.ts";
import { isRecent } from "./waits.ts";

/** Connects the session to the gates, one object per provider. A gate that does not answer within 2 s lets a call pass. */
export interface Gates {
  readonly gate: (provider: string) => Gate;
  readonly health: TransactionContext["health"];
  /**
   * Reads the health of the targets' providers after each end that was reported, else at most every 30 s. The first
   * target's model is about to be called, so the read also claims the trial that a cooling model may get.
   */
  readonly refresh: (targets: readonly { readonly provider: string; readonly model: string }[]) => void;
}

/** Milliseconds for which a session's knowledge of a provider's health counts, since an administrator may reset it. */
const healthMaxAgeMs = 30_000;

/** Interval at which a model's health is read again while it cools down and the session is driven. */
const coolingPeriodMs = 20_000;

type GateStub = (provider: string) => Pick<ProviderGate, "health" | "report">;
type GateOutcome = Parameters<Gate["ended"]>[2];

const ignore = (): void => undefined;

/** What reading health uses of the session. */
interface HealthHost {
  readonly now: () => number;
  readonly whileDriving: (ms: number, work: () => void) => PendingWait | null;
}

interface SeenHealth {
  readonly askedAt: number;
  readonly readAt: number;
  /** Next read, while a model cools down. */
  readonly reread: PendingWait | null;
  readonly rows: readonly HealthRow[];
}

const unseen: SeenHealth = { askedAt: -Infinity, readAt: -Infinity, reread: null, rows: [] };

/** Keeps the health that was last read of each provider. */
const createReadings = (stub: GateStub, { now, whileDriving }: HealthHost) => {
  const seen = new Map<string, SeenHealth>();
  /** Health reads that have no answer yet. */
  const pendingReads = new Map<string, Promise<void>>();

  const knownOf = (provider: string): SeenHealth => seen.get(provider) ?? unseen;
  const store = (provider: string, rows: readonly HealthRow[]): void => {
    const known = knownOf(provider);
    const isSettled = known.reread?.isPending() === true || rows.every(({ available }) => available);
    const reread = isSettled ? known.reread : whileDriving(coolingPeriodMs, () => void read(provider, null));
    seen.set(provider, { ...known, readAt: now(), reread, rows });
  };
  const read = async (provider: string, claim: string | null): Promise<void> => {
    const rows = await stub(provider)
      .health(claim)
      .catch(() => null);
    pendingReads.delete(provider);
    if (rows !== null) store(provider, rows);
  };
  const rowOf = (provider: string, model: string): HealthRow | undefined =>
    knownOf(provider).rows.find((row) => row.model === model);
  return {
    /** Returns what was last read of a model that failed lately, however long ago. */
    rowOf,
    recentRowOf: (provider: string, model: string): HealthRow | undefined =>
      now() - knownOf(provider).readAt < healthMaxAgeMs ? rowOf(provider, model) : undefined,
    /** Stores the health that a gate returns when it is notified of an end; the run's next turn starts with it. */
    storeHealth: (provider: string, answer: Promise<readonly HealthRow[]>): void => {
      seen.set(provider, { ...knownOf(provider), askedAt: -Infinity });
      void answer.then((rows) => store(provider, rows), ignore);
    },
    refresh: (provider: string, claim: string | null): void => {
      const known = knownOf(provider);
      if (isRecent(known.askedAt, now(), healthMaxAgeMs)) return;
      seen.set(provider, { ...known, askedAt: now() });
      pendingReads.set(provider, read(provider, claim));
    },
    pending: (provider: string): Promise<void> | undefined => pendingReads.get(provider),
  };
};

/** Reports what this session sees of its providers' health to the gates. */
const createHealth = (stub: GateStub, host: HealthHost) => {
  const readings = createReadings(stub, host);
  const { rowOf, storeHealth, pending } = readings;
  /** Holds the models whose last attempt here failed, because their next success is worth reporting. */
  const ailing = new Set<string>();
  const report = (provider: string, { model, code, exhausted }: GateOutcome): void =>
    storeHealth(provider, stub(provider).report(model, code, exhausted));
  /** Reports a success only if somebody saw the model as ill, which a health read under way may still tell. */
  const recovered = async (provider: string, outcome: GateOutcome, failed: boolean): Promise<void> => {
    if (!failed) await pending(provider);
    if (failed || rowOf(provider, outcome.model) !== undefined) report(provider, outcome);
  };
  return {
    ...readings,
    ended: (provider: string, outcome: GateOutcome, booked: boolean): void => {
      const key = `${provider}/${outcome.model}`;
      const failed = ailing.delete(key);
      if (outcome.code !== "ok") ailing.add(key);
      if (booked) return;
      if (outcome.code === "ok") void recovered(provider, outcome, failed);
      else report(provider, outcome);
    },
  };
};

export const createGates = (
  stub: (provider: string) => DurableObjectStub<ProviderGate>,
  host: HealthHost,
): Gates => {
  const { now } = host;
  const health = createHealth(stub, host);
  return {
    gate: (provider) => ({
      reserve: async (request) => {
        const free = { status: "booked", startAt: now() } as const;
        return (await withReplyTimeout(stub(provider).reserve(request))) ?? free;
      },
      ended: (id, booked, outcome) => {
        health.ended(provider, outcome, booked);
        if (!booked) return;
        health.storeHealth(provider, stub(provider).settle(id, outcome));
      },
      release: (id) => void stub(provider).release(id).catch(ignore),
    }),
    health: (provider, model) => {
      const row = health.recentRowOf(provider, model);
      if (row === undefined || row.available || row.until === null) return { coolingUntil: 0 };
      return { coolingUntil: row.until, ...(row.reason === null ? {} : { code: row.reason }) };
    },
    refresh: (targets) => {
      const [first] = targets;
      for (const provider of new Set(targets.map((target) => target.provider)))
        health.refresh(provider, first?.provider === provider ? first.model : null);
    },
  };
};
