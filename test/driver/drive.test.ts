import { expect, test } from "vitest";
import { createDriver } from "../../src/driver/drive.ts";
import type { Host } from "../../src/driver/host.ts";
import type { Session } from "../../src/agent/state/session.ts";
import { freshSession } from "../../src/agent/state/session.ts";

/** Holds one delivery that is due and stores nothing that anybody changes. */
const forgetfulHost = (failures: unknown[]): Partial<Host> => ({
  read: () => session,
  update: (change) => change as never,
  now: () => 0,
  schedule: () => undefined,
  entries: { heads: () => [] } as never,
  briefing: { reflections: null } as never,
  migration: { follows: null } as never,
  failed: (error) => void failures.push(error),
});

const outbox = { rows: [], tries: 0, until: 0 };
const session = { ...freshSession, threads: {}, outbox } as unknown as Session;

test("work that ends and stores nothing is a failure of the drive, not begun again for ever", async () => {
  const failures: unknown[] = [];
  const driver = createDriver(forgetfulHost(failures) as Host);
  driver.pump();
  await driver.idle();
  expect(failures).toEqual([new Error("deliver ended without an outcome")]);
});
