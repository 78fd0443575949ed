import { advanceSession } from "../agent/loop/advance.ts";
import type { RetriedWork } from "../agent/loop/next.ts";
import { nextDeadline, retriesOf } from "../agent/loop/next.ts";
import { dueMigration } from "../agent/run/migrate.ts";
import { attemptId } from "../agent/state/phase.ts";
import type { PreparedWork } from "../agent/state/phase.ts";
import type { EndingCommand } from "../agent/state/records.ts";
import { isTryDue } from "../agent/state/ask.ts";
import { callsOfRun } from "../agent/state/run.ts";
import type { Session } from "../agent/state/session.ts";
import { hasRun, hasWork } from "../agent/state/thread.ts";
import type { Draft } from "../agent/transaction/draft.ts";
import { fetchBriefing } from "./briefing.ts";
import { runPreparedEffect } from "./effect.ts";
import { runVerification } from "./verification.ts";
import { settleLostChange } from "./workspace-files.ts";
import type { Host, WorkContext, LazyAbort } from "./host.ts";
import { runModelAttempt } from "./think.ts";
import { createTickets } from "./model-call.ts";
import { runToolCall } from "./tool.ts";
import { createLazyAbort, createLock, createToolCache, withTimeout } from "./host.ts";
import { recordEndTry } from "../agent/calls/background-commands.ts";
import type { EmbeddedRow, MemoryRow } from "../agent/definition/memory.ts";
import { mostEmbeddings, mostMemories, recordDelivery } from "../agent/memory/memories.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";

/** Carries out what the stored state says is under way, and nothing else. */
export interface Driver {
  /** Applies what is due, then starts and stops work as the state demands. */
  pump(): void;
  /** Resolves when no work is in progress. */
  idle(): Promise<void>;
  /** Drops all work and stores nothing, since the state has moved on; if `removed`, all tickets are given back too. */
  stop(removed?: boolean): void;
}

/** Work that this isolate is doing according to the state. */
interface Intent {
  readonly key: string;
  readonly kind: string;
  /** Whether the work is asked to end, although its outcome is still wanted. */
  readonly isStopping?: boolean;
  readonly start: (work: WorkContext) => Promise<void>;
}

const startRetry = (work: WorkContext, retried: RetriedWork): Promise<void> => {
  switch (retried.kind) {
    case "deliver":
      return deliverOutbox(work);
    case "end_command":
      return endCommand(work, retried.retry);
    case "settle_file":
      return settleLostChange(work, retried.retry);
  }
};

/** Returns what is to be tried beside the runs. */
const retryIntents = (session: Session, now: number): readonly Intent[] =>
  retriesOf(session)
    .filter(({ retry }) => isTryDue(retry, now))
    .map((retried) => ({
      key: `${retried.name}:${retried.retry.tries}`,
      kind: retried.kind,
      start: (work) => startRetry(work, retried),
    }));

const browserIntents = (session: Session): readonly Intent[] =>
  session.page === null || hasRun(session)
    ? []
    : [{ key: `browser:${session.page.browser}`, kind: "close_browser", start: closeBrowser }];

/** Returns the intent to migrate a session before the run that waits, if a migration is due. */
const migrationIntents = (session: Session, now: number, follows: string | null): readonly Intent[] => {
  if (!Object.values(session.threads).some((thread) => hasWork(thread, now))) return [];
  const due = dueMigration(session, follows);
  if (due === null) return [];
  const start: Intent["start"] = ({ host }) => host.migration.run();
  return [{ key: `migrate:${due.to}:${session.nextRun}`, kind: "migrate", start }];
};

const nameWork = (work: PreparedWork): string => {
  if (work.kind === "effect") return `effect ${work.index}`;
  return work.kind === "verification" ? `verification ${work.what}` : work.kind;
};

const threadIntents = (session: Session, epoch: number): readonly Intent[] =>
  Object.values(session.threads).flatMap(({ id, run }): readonly Intent[] => {
    if (run === null) return [];
    if (run.phase.at === "thinking" && run.phase.epoch === epoch) {
      const key = `${id}:${attemptId(run, run.phase.call.attempt)}`;
      return [{ key, kind: "think", start: (context) => runModelAttempt(context, id) }];
    }
    if (run.phase.at === "preparing" && run.phase.wait === null && run.phase.epoch === epoch) {
      const { work, attempt, round } = run.phase;
      const key = `${id}:${attemptId(run, attempt)}:${nameWork(work)}.${round}`;
      return [{ key, kind: "prepare", start: (context) => prepare(context, id, work) }];
    }
    return callsOfRun(run)
      .filter((call) => call.status === "running" && call.epoch === epoch)
      .map((call) => ({
        key: `${id}:${run.id}:${call.call.id}:${call.attempts}`,
        kind: "act",
        isStopping: run.cancel?.mode === "now",
        start: (context) => runToolCall(context, id, call),
      }));
  });

const intentsOf = (host: Host, session: Session, now: number): readonly Intent[] => [
  ...threadIntents(session, host.epoch),
  ...retryIntents(session, now),
  ...browserIntents(session),
  ...migrationIntents(session, now, host.migration.follows),
];

/** Work in progress by its keys, each with the two ways to end it. */
interface WorkRegistry {
  readonly size: () => number;
  readonly has: (key: string) => boolean;
  readonly add: (key: string) => Pick<WorkContext, "stop" | "gone">;
  /** Forgets work that ended; the driver becomes idle only if `then` starts no successor. */
  readonly done: (key: string, then: () => void) => void;
  /** Ends work that is no longer wanted, and asks work that is being stopped to end. */
  readonly review: (intents: readonly Intent[]) => void;
  readonly drop: () => void;
  readonly idle: () => Promise<void>;
}

const createWorkRegistry = (): WorkRegistry => {
  const live = new Map<string, Pick<WorkContext, "stop" | "gone">>();
  let waiters: (() => void)[] = [];
  const release = (): void => {
    if (live.size > 0) return;
    const done = waiters;
    waiters = [];
    for (const wake of done) wake();
  };
  return {
    size: () => live.size,
    has: (key) => live.has(key),
    add: (key) => {
      const work = { stop: createLazyAbort(), gone: createLazyAbort() };
      live.set(key, work);
      return work;
    },
    done: (key, then) => {
      live.delete(key);
      then();
      release();
    },
    review: (intents) => {
      const wanted = new Map(intents.map((intent) => [intent.key, intent]));
      for (const [key, { stop, gone }] of live) {
        const intent = wanted.get(key);
        if (intent === undefined || intent.isStopping === true) stop.ask();
        if (intent === undefined) gone.ask();
      }
    },
    drop: () => {
      for (const { stop, gone } of live.values()) {
        stop.ask();
        gone.ask();
      }
      live.clear();
      release();
    },
    idle: () => (live.size === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
};

/** Returns whether a command has ended; false if the sandbox did not answer. A refusal means that it has ended. */
const isEnded = async (sandbox: Sandbox, exec: string): Promise<boolean> => {
  try {
    await sandbox.kill(exec);
    return true;
  } catch (error) {
    return error instanceof SandboxError && !error.isUnavailable;
  }
};

/** Ends a command in the sandbox; a failure is retried later and holds up no run. */
const endCommand = async ({ host, settle }: WorkContext, command: EndingCommand): Promise<void> => {
  const hasEnded = await isEnded(host.sandbox(), command.exec);
  settle((draft) => recordEndTry(draft, command, hasEnded));
};

/** Closes the browser of a session without a run. If the request fails, the browser ends by itself when it is idle. */
const closeBrowser = ({ host, settle, browserLock }: WorkContext): Promise<void> =>
  browserLock(async () => {
    const page = host.read().page;
    if (page !== null) await host.closeBrowser(page.browser).catch(() => undefined);
    settle(({ state }) => {
      if (state.page?.browser === page?.browser) state.page = null;
    });
  });

/** Adds vectors to rows whose agents have an embedder; rejects if the vectors cannot be made yet. */
const embedRows = async (
  { host }: WorkContext,
  rows: readonly MemoryRow[],
  tries: number,
  ending: LazyAbort,
): Promise<readonly EmbeddedRow[]> => {
  const byAgent = [...Map.groupBy(rows, ({ agent }) => agent)];
  const done = await Promise.all(
    byAgent.map(async ([agent, own]): Promise<readonly EmbeddedRow[]> => {
      const embedder = tries < mostEmbeddings ? host.embedder(agent) : null;
      const texts = own.map(({ text }) => text);
      const vectors = (await embedder?.embed(texts, ending.signal())) ?? [];
      return own.map((row, at) => ({ ...row, vector: vectors[at] ?? null }));
    }),
  );
  return done.flat();
};

const longestDeliveryMs = 30_000;

/** Returns the ids of the rows that were taken, or null if the delivery failed or takes too long. */
const tryDelivery = async (
  work: WorkContext,
  ids: readonly string[],
  deliver: (ending: LazyAbort) => Promise<void>,
): Promise<readonly string[] | null> => {
  if (ids.length === 0) return [];
  return withTimeout(work, longestDeliveryMs, async (ending) => {
    await deliver(ending);
    return ids;
  });
};

const waitingMemories = ({ entries }: Host): readonly (readonly [string, MemoryRow])[] =>
  entries
    .heads("outbox")
    .slice(0, mostMemories)
    .flatMap(({ key }) => {
      const value = entries.entry("outbox", key)?.value ?? null;
      return value === null ? [] : [[key, value as unknown as MemoryRow] as const];
    });

/** Sends the rows of the outbox; a failure is retried later and changes no run. */
const deliverOutbox = async (work: WorkContext): Promise<void> => {
  const { host, settle } = work;
  const { rows = [], tries = 0 } = host.read().outbox ?? {};
  const ttlMs = host.briefing.reflections?.ttlMs ?? 0;
  const memories = waitingMemories(host);
  const ids = rows.map(({ id }) => id);
  const keys = memories.map(([key]) => key);
  const all = await Promise.all([
    tryDelivery(work, ids, () => host.reflections.add(host.redactor.value(rows), ttlMs)),
    tryDelivery(work, keys, async (ending) => {
      const unsent = host.redactor.value(memories.map(([, row]) => row));
      await host.memory.add(await embedRows(work, unsent, tries, ending));
    }),
  ]);
  const done = all.flatMap((each) => each ?? []);
  settle((draft) =>
    recordDelivery(
      draft,
      new Set(done),
      all.every((each) => each !== null),
    ),
  );
};

const prepare = (context: WorkContext, threadId: string, { kind }: PreparedWork): Promise<void> => {
  if (kind === "briefing") return fetchBriefing(context, threadId);
  return kind === "verification" ? runVerification(context, threadId) : runPreparedEffect(context, threadId);
};

/** Stores an outcome together with everything that follows from it. */
const commitOutcome = (host: Host, change: (draft: Draft) => void): void =>
  host.update((draft) => {
    change(draft);
    advanceSession(draft);
  });

/**
 * Pieces of work that one event of the object begins. The platform lets it send 50 requests on its free plan, and a piece,
 * such as a call of an MCP server, may take three.
 */
const worksOfEvent = 15;

export const createDriver = (host: Host): Driver => {
  const works = createWorkRegistry();
  let begun = 0;
  const tickets = createTickets(host);
  const shared = { host, tickets, cache: createToolCache(), browserLock: createLock() };
  let stopped = false;

  const settle = (change: (draft: Draft) => void): void => {
    if (!stopped) commitOutcome(host, change);
  };

  const begin = (intent: Intent): void => {
    const wanting = host.read();
    const ends = works.add(intent.key);
    begun += 1;
    if (begun % worksOfEvent === 0) host.renewDrive();
    void intent
      .start({ ...shared, ...ends, settle })
      .catch((error: unknown) => host.failed(error))
      .finally(() => {
        works.done(intent.key, () => {
          if (stopped) return;
          // Nothing was stored, so the state would ask for the same work again, at once and for ever.
          if (host.read() === wanting) host.failed(new Error(`${intent.kind} ended without an outcome`));
          else launch();
        });
      });
  };

  const launch = (): void => {
    const session = host.read();
    tickets.review(session);
    const intents = intentsOf(host, session, host.now());
    works.review(intents);
    for (const intent of intents) if (!works.has(intent.key)) begin(intent);
    host.schedule(works.size() > 0, nextDeadline(session, host.now()));
  };

  return {
    pump: () => {
      if (stopped) return;
      host.update((draft) => advanceSession(draft));
      launch();
    },
    idle: works.idle,
    stop: (removed = false) => {
      stopped = true;
      works.drop();
      if (removed) tickets.leave();
    },
  };
};
