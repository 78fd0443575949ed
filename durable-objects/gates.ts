import type { Moment } from "../src/agent/draft.ts";
import type { Gate } from "../src/agent/host.ts";
import type { HealthRow } from "../src/model/health.ts";
import type { ProviderGate } from "./provider-gate.ts";

/** The session's side of the gates: one object per provider; an answer that takes over 2 s counts as none (MO-30). */
export interface Gates {
  readonly gate: (provider: string) => Gate;
  readonly health: Moment["health"];
  /** Reads the health of the lanes' providers, at most every 30 s; the first lane's model is the one about to be called (MO-28). */
  readonly refresh: (lanes: readonly { readonly provider: string; readonly model: string }[]) => void;
}

const patience = 2_000;
const healthMs = 30_000;

export const createGates = (
  stub: (provider: string) => DurableObjectStub<ProviderGate>,
  now: () => number,
): Gates => {
  const seen = new Map<string, { readonly at: number; readonly rows: readonly HealthRow[] }>();
  /** Models whose last attempt here failed: their next success is worth telling. */
  const ailing = new Set<string>();
  const ignore = (): void => undefined;
  return {
    gate: (provider) => ({
      reserve: async (request) => {
        const free = { status: "booked", startAt: now() } as const;
        const late = Promise.withResolvers<typeof free>();
        const timer = setTimeout(() => late.resolve(free), patience);
        const answer = await Promise.race([
          stub(provider)
            .reserve(request)
            .catch(() => free),
          late.promise,
        ]);
        clearTimeout(timer);
        return answer;
      },
      ended: (id, booked, outcome) => {
        const key = `${provider}/${outcome.model}`;
        const ill =
          ailing.has(key) || seen.get(provider)?.rows.some(({ model }) => model === outcome.model) === true;
        if (outcome.code === "ok") ailing.delete(key);
        else ailing.add(key);
        if (booked) void stub(provider).settle(id, outcome).catch(ignore);
        else if (outcome.code !== "ok" || ill)
          void stub(provider).report(outcome.model, outcome.code, outcome.exhausted).catch(ignore);
        else return;
        seen.delete(provider);
      },
      release: (id) => void stub(provider).release(id).catch(ignore),
    }),
    health: (provider, model) => {
      const row = seen.get(provider)?.rows.find((each) => each.model === model && !each.available);
      if (row?.until === undefined || row.until === null) return { coolingUntil: 0 };
      return { coolingUntil: row.until, ...(row.reason === null ? {} : { code: row.reason }) };
    },
    refresh: (lanes) => {
      for (const provider of new Set(lanes.map((lane) => lane.provider))) {
        const models = lanes[0]?.provider === provider ? [lanes[0].model] : [];
        const known = seen.get(provider);
        if (known !== undefined && now() - known.at < healthMs) continue;
        seen.set(provider, { at: now(), rows: known?.rows ?? [] });
        void stub(provider)
          .health(models[0] ?? null)
          .then((rows) => seen.set(provider, { at: now(), rows }))
          .catch(ignore);
      }
    },
  };
};
