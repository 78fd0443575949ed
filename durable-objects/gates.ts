import type { TransactionContext } from "../src/agent/transaction/draft.ts";
import type { Gate } from "../src/driver/host.ts";
import type { HealthRow } from "../src/model/health.ts";
import type { ProviderGate } from "./provider-gate.ts";
import { withTimeout } from "./with-timeout.ts";

/** Connects the session to the gates, which are one object per provider; an answer after 2 s counts as none. */
export interface Gates {
  readonly gate: (provider: string) => Gate;
  readonly health: TransactionContext["health"];
  /** Reads the health of the targets' providers at most every 30 s; the first target's model is about to be called. */
  readonly refresh: (targets: readonly { readonly provider: string; readonly model: string }[]) => void;
}

const healthMaxAgeMs = 30_000;

type GateStub = (provider: string) => Pick<ProviderGate, "health" | "report">;
type GateOutcome = Parameters<Gate["ended"]>[2];

const ignore = (): void => undefined;

/** Holds what this session knows of its providers' health, and reports what it sees to their gates. */
const createHealth = (stub: GateStub, now: () => number) => {
  const seen = new Map<string, { readonly at: number; readonly rows: readonly HealthRow[] }>();
  /** Holds the models whose last attempt here failed, because their next success is worth reporting. */
  const ailing = new Set<string>();
  /** Holds the health reads that have no answer yet. */
  const looks = new Map<string, Promise<void>>();

  const rowOf = (provider: string, model: string): HealthRow | undefined =>
    seen.get(provider)?.rows.find((row) => row.model === model);
  /** Stores the health that a gate returns when it is notified of an end; the run's next turn starts with it. */
  const told = (provider: string, answer: Promise<readonly HealthRow[]>): void => {
    seen.set(provider, { at: -Infinity, rows: seen.get(provider)?.rows ?? [] });
    void answer.then(
      (rows) => void seen.set(provider, { at: seen.get(provider)?.at ?? -Infinity, rows }),
      ignore,
    );
  };
  const report = (provider: string, { model, code, exhausted }: GateOutcome): void =>
    told(provider, stub(provider).report(model, code, exhausted));
  /** Reports a success only if somebody sees the model as ill, which a health read under way may still tell. */
  const recovered = async (provider: string, outcome: GateOutcome, failed: boolean): Promise<void> => {
    if (!failed) await looks.get(provider);
    if (failed || rowOf(provider, outcome.model) !== undefined) report(provider, outcome);
  };
  const look = async (provider: string, claim: string | null): Promise<void> => {
    const rows = await stub(provider)
      .health(claim)
      .catch(() => null);
    if (rows !== null) seen.set(provider, { at: now(), rows });
    looks.delete(provider);
  };

  return {
    rowOf,
    told,
    ended: (provider: string, outcome: GateOutcome, booked: boolean): void => {
      const key = `${provider}/${outcome.model}`;
      const failed = ailing.delete(key);
      if (outcome.code !== "ok") ailing.add(key);
      if (booked) return;
      if (outcome.code === "ok") void recovered(provider, outcome, failed);
      else report(provider, outcome);
    },
    look: (provider: string, claim: string | null): void => {
      const known = seen.get(provider);
      if (known !== undefined && now() - known.at < healthMaxAgeMs) return;
      seen.set(provider, { at: now(), rows: known?.rows ?? [] });
      looks.set(provider, look(provider, claim));
    },
  };
};

export const createGates = (
  stub: (provider: string) => DurableObjectStub<ProviderGate>,
  now: () => number,
): Gates => {
  const health = createHealth(stub, now);
  return {
    gate: (provider) => ({
      reserve: async (request) => {
        const free = { status: "booked", startAt: now() } as const;
        return (await withTimeout(stub(provider).reserve(request))) ?? free;
      },
      ended: (id, booked, outcome) => {
        health.ended(provider, outcome, booked);
        if (!booked) return;
        health.told(provider, stub(provider).settle(id, outcome));
      },
      release: (id) => void stub(provider).release(id).catch(ignore),
    }),
    health: (provider, model) => {
      const row = health.rowOf(provider, model);
      if (row === undefined || row.available || row.until === null) return { coolingUntil: 0 };
      return { coolingUntil: row.until, ...(row.reason === null ? {} : { code: row.reason }) };
    },
    refresh: (targets) => {
      const [first] = targets;
      for (const provider of new Set(targets.map((target) => target.provider)))
        health.look(provider, first?.provider === provider ? first.model : null);
    },
  };
};
