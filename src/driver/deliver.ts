import { recordEndTry } from "../agent/calls/background-commands.ts";
import type { EmbeddedRow, MemoryRow } from "../agent/definition/memory.ts";
import { mostEmbeddings, mostMemories, recordDelivery } from "../agent/memory/remember.ts";
import type { EndingCommand } from "../agent/state/records.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import { SandboxError } from "../sandbox/contract.ts";
import type { Host, LazyAbort, WorkContext } from "./host.ts";
import { withTimeout } from "./host.ts";

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
export const endCommand = async ({ host, settle }: WorkContext, command: EndingCommand): Promise<void> => {
  const hasEnded = await isEnded(host.sandbox(), command.exec);
  settle((draft) => recordEndTry(draft, command, hasEnded));
};

/** Closes the browser of a session without a run. If the request fails, the browser ends by itself when it is idle. */
export const closeBrowser = ({ host, settle, browserLock }: WorkContext): Promise<void> =>
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
export const deliverOutbox = async (work: WorkContext): Promise<void> => {
  const { host, settle } = work;
  const { rows = [], tries = 0 } = host.read().outbox ?? {};
  const ttlMs = host.briefing.reflections?.ttlMs ?? 0;
  const memories = waitingMemories(host);
  const ids = rows.map(({ id }) => id);
  const keys = memories.map(([key]) => key);
  const all = await Promise.all([
    tryDelivery(work, ids, () => host.reflections.add(host.redactor.value(rows), ttlMs)),
    tryDelivery(work, keys, async (ending) => {
      const rows = host.redactor.value(memories.map(([, row]) => row));
      await host.memory.add(await embedRows(work, rows, tries, ending));
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
