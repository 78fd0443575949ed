import type { RouterContext, RouterEnv } from "../../../src/api/index.ts";
import type { Team } from "../../../src/config/team.ts";
import { streamLimits } from "../../../src/session/frames.ts";
import { createLimpet } from "../../../src/index.ts";
import type { Extensions } from "../../../src/index.ts";

/** The product as the bench runs it: as many sockets as are measured, rows counted with `BENCH_COUNT`, functions in an instrumented bundle. */

interface Counts {
  /** Rows that sessions wrote. */
  rows: number;
  /** Rows that others wrote: the team's object and the tenants'. */
  others: number;
  statements: number;
  alarms: number;
}

const counts: Counts = { rows: 0, others: 0, statements: 0, alarms: 0 };
let isCounting = false;
/** Storages of sessions. */
const sessions = new WeakSet();

interface Cursor {
  readonly rowsWritten: number;
}

/** Counts what the classes of this isolate write, from the platform's own cursors. */
const countWrites = (storage: DurableObjectStorage): void => {
  sessions.add(storage.sql);
  if (isCounting) return;
  isCounting = true;
  const sql = Object.getPrototypeOf(storage.sql) as { exec: (...args: never[]) => Cursor };
  const { exec } = sql;
  sql.exec = function counted(this: object, ...args: never[]) {
    const cursor = exec.apply(this, args);
    counts.statements += sessions.has(this) ? 1 : 0;
    counts[sessions.has(this) ? "rows" : "others"] += cursor.rowsWritten;
    return cursor;
  };
  const whole = Object.getPrototypeOf(storage) as { setAlarm: (...args: never[]) => unknown };
  const { setAlarm } = whole;
  whole.setAlarm = function counted(this: unknown, ...args: never[]) {
    counts.alarms += 1;
    return setAlarm.apply(this, args);
  };
};

/** Numbers of the functions that were called since this was last asked, where the bundle counts them. */
const takeRan = (): readonly number[] => {
  const { benchRan } = globalThis as { readonly benchRan?: Set<number> };
  const ran = [...(benchRan ?? [])];
  benchRan?.clear();
  return ran;
};

export const benchWorker = (team: Team, extensions: Extensions) => {
  Object.assign(streamLimits, { sockets: 64 });
  const { router, SessionObject, ...classes } = createLimpet(team, extensions);
  return {
    ...classes,
    router: {
      fetch: (request: Request, env: RouterEnv, ctx: RouterContext): Response | Promise<Response> => {
        const { pathname } = new URL(request.url);
        if (pathname === "/_counts") return Response.json(counts);
        if (pathname === "/_ran") return Response.json(takeRan());
        return router.fetch(request, env, ctx);
      },
    },
    SessionObject: class extends SessionObject {
      constructor(ctx: DurableObjectState, env: unknown) {
        super(ctx, env);
        if ((env as { readonly BENCH_COUNT?: string }).BENCH_COUNT === "1") countWrites(ctx.storage);
      }
    },
  };
};
