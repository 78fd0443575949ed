import { DurableObject } from "cloudflare:workers";
import type { Database, SqlValue } from "./files/database.ts";
import { createWorkspace, type WorkspaceServer } from "./workspace.ts";

const databaseOf = (storage: DurableObjectStorage): Database => ({
  all: <Row>(sql: string, ...values: readonly SqlValue[]) =>
    storage.sql.exec(sql, ...values).toArray() as unknown as Row[],
  transaction: (run) => storage.transactionSync(run),
});

/** Workspace of a sandbox: its files, commands and outcomes are stored in the object's SQLite. */
export class WorkspaceObject extends DurableObject {
  readonly #server: WorkspaceServer;
  #reminded = false;

  constructor(state: DurableObjectState, env: Cloudflare.Env) {
    super(state, env);
    this.#server = createWorkspace({
      database: databaseOf(state.storage),
      now: () => Date.now(),
      waitUntil: (promise) => state.waitUntil(promise),
      remind: (time) => state.waitUntil(this.#remind(time)),
      erase: () => {
        this.#reminded = false;
        return state.storage.deleteAll();
      },
    });
  }

  async #remind(time: number): Promise<void> {
    if (this.#reminded) return;
    this.#reminded = true;
    const set = await this.ctx.storage.getAlarm();
    // A workspace that was removed meanwhile has nothing that expires.
    if (set === null && this.#reminded) await this.ctx.storage.setAlarm(time);
  }

  override async fetch(request: Request): Promise<Response> {
    return this.#server.fetch(request);
  }

  override async alarm(): Promise<void> {
    const next = this.#server.expire();
    this.#reminded = next !== null;
    if (next !== null) await this.ctx.storage.setAlarm(next);
  }
}
