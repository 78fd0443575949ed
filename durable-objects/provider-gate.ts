import { DurableObject } from "cloudflare:workers";
import type { ModelErrorCode } from "../src/model/error.ts";
import {
  emptyGate,
  readHealth,
  release,
  reportOutcome,
  reserve,
  resetHealth,
  settle,
} from "../src/model/gate.ts";
import type { GateState, ReserveAnswer, ReserveRequest, GateSettlement } from "../src/model/gate.ts";
import type { HealthRow } from "../src/model/health.ts";

const gateStateKey = "gate";

/** Rate limits of one provider name over all sessions, and its models' health. Its state is one row. */
export class ProviderGate extends DurableObject {
  #state: GateState | undefined;

  async reserve(request: ReserveRequest): Promise<ReserveAnswer> {
    const { state, answer } = reserve(this.#read(), request, Date.now());
    this.#write(state);
    return answer;
  }

  /** Settles a booked call and returns the current health of the provider's models. */
  async settle(id: string, settlement: GateSettlement): Promise<readonly HealthRow[]> {
    this.#write(settle(this.#read(), id, settlement, Date.now()));
    return this.health(null);
  }

  async release(id: string): Promise<void> {
    this.#write(release(this.#read(), id));
  }

  /** Records how a call without a booking ended; returns the same. */
  async report(
    model: string,
    code: ModelErrorCode | "ok",
    exhausted: boolean,
  ): Promise<readonly HealthRow[]> {
    this.#write(reportOutcome(this.#read(), model, code, exhausted, Date.now()));
    return this.health(null);
  }

  /** Returns the models that failed lately; `claim` is the model that the caller is about to call, if any. */
  async health(claim: string | null): Promise<readonly HealthRow[]> {
    const { state, rows } = readHealth(this.#read(), this.ctx.id.name ?? "", claim, Date.now());
    this.#write(state);
    return rows;
  }

  /** Makes all models available again; sessions see it when they next ask, which is within 30 s. */
  async resetHealth(): Promise<void> {
    this.#write(resetHealth(this.#read()));
  }

  /**
   * Reads the state at the first call, never in the constructor; a gate that was never written to stays empty
   * on disk.
   */
  #read(): GateState {
    this.#state ??= this.ctx.storage.kv.get<GateState>(gateStateKey) ?? emptyGate;
    return this.#state;
  }

  #write(state: GateState): void {
    if (state === this.#state) return;
    this.ctx.storage.kv.put(gateStateKey, state);
    this.#state = state;
  }
}
