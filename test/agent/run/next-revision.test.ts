import { describe, expect, test } from "vitest";
import type { FoundTarget } from "../../../src/agent/run/migrate.ts";
import { migrateBeforeRun, migrateSession } from "../../../src/agent/run/migrate.ts";
import { migrationTargetOf } from "../../../durable-objects/migration.ts";
import type { StoredEvent } from "../../../src/agent/state/events.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf } from "../loop/play.ts";

/** Every run starts at the revision that is due, in whatever way it starts (CF-35). */

const follow = "sessions: { revision: follow }";

const helper = `
  - name: helper
    description: Helps.
    instructions: Play the helper.
    toolboxes: [ask]
    permissions: { preset: open }
    effects: []`;

interface Revision {
  readonly said?: string;
  readonly team?: string;
  readonly agent?: string;
  readonly names?: (yaml: string) => string;
}

const script = `
scenes:
  - name: delegates
    when: { turn: 1, agent: tester, input: { contains: Delegate } }
    reply: [{ call: delegate_to_agent, args: { agent: helper, task: Help, context: "", async: true } }]
  - name: asks
    when: { turn: 1, agent: helper }
    reply: [{ call: ask_user, args: { question: "Well?" } }]
  - name: looks
    when: { agent: tester, input: { contains: worked in the background } }
    reply: [{ call: look }]
  - name: over
    reply: [{ text: Over. }]`;

const revision = ({ said: text = "Old.", team = "", agent = "", names = (yaml) => yaml }: Revision = {}) => {
  const yaml = scripted(script, `instructions: ${text}\n${agent}`, `${helper}\n${team}`);
  return engineOf(names(yaml), { toolboxes: [createProbe(true).toolbox] });
};

/** Results of helpers are announced in runs that fail, and tried again. */
const delegating = `
delegation: { async: true, announce: { retries: 2, backoff: 2s } }
options: { max_iterations: 2 }`;

interface Revisions {
  readonly bench: Bench;
  readonly old: Engine;
  readonly deployed: Engine;
}

/** A session of an old revision, after the deploy of a new one. */
const deployTwo = async (was: Revision = {}, is: Revision = {}): Promise<Revisions> => {
  const old = await revision(was);
  const deployed = await revision({ ...was, said: "New.", ...is });
  expect(deployed.revision).not.toBe(old.revision);
  const bench = openBench({ engine: old });
  insist(bench, "create", {}, "create");
  return { bench, old, deployed };
};

/** The revision of each run of `main` that started, in order. */
const startsOf = (bench: Bench): readonly string[] =>
  bench
    .events()
    .flatMap(({ type, thread, data }) =>
      type === "run_start" && thread === "main" ? (data as { revision: string }).revision : [],
    );

/** The newest run had the instructions of the new revision. */
const expectNew = (bench: Bench): void =>
  expect(JSON.stringify(bench.requests.at(-1)?.system)).toContain("New.");

const movesOf = (bench: Bench): readonly string[] =>
  bench
    .events()
    .filter(({ type, thread }: StoredEvent) => type === "session_migrated" || thread === "main")
    .flatMap(({ type }) =>
      ["run_start", "run_end", "session_migrated", "error"].includes(type) ? type : [],
    );

describe("CF-35: at the due revision starts", () => {
  const sendOn = async (bench: Bench, onBusy: string): Promise<void> => {
    bench.send("On", { on_busy: onBusy });
    bench.release();
    await bench.idle();
    expectNew(bench);
  };

  /** Each way in which a run starts, other than by an input for a session at rest. */
  const ways: Record<string, { readonly agent?: string; readonly start: (bench: Bench) => Promise<void> }> = {
    "a queued input": { start: (bench) => sendOn(bench, "queue") },
    "an input that interrupts": { start: (bench) => sendOn(bench, "interrupt") },
    "a compaction asked for in a last turn": {
      start: async (bench) => {
        bench.ok("compact", {});
        bench.release();
        await bench.idle();
      },
    },
  };

  test.each(Object.entries(ways))("%s, after a migration before the next run", async (_, { start }) => {
    const { bench, old, deployed } = await deployTwo();
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.deployRevision(deployed);
    await bench.steps();
    const asked = { to: deployed.revision, when: "next_run" };
    expect(bench.ok("migrate", asked)).toMatchObject({ from: old.revision, ...asked });
    await start(bench);
    expect(startsOf(bench)).toEqual([old.revision, deployed.revision]);
    expect(movesOf(bench)).toEqual(["run_start", "run_end", "session_migrated", "run_start", "run_end"]);
    expect(bench.state()).toMatchObject({ revision: deployed.revision, migration: null });
    checkInvariants(bench, ["in_1"]);
  });

  test.each(Object.entries(ways))("%s, of a session that follows", async (_, { start }) => {
    const { bench, old, deployed } = await deployTwo({}, { team: follow });
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.deployRevision(deployed);
    await bench.steps();
    await start(bench);
    expect(startsOf(bench)).toEqual([old.revision, deployed.revision]);
    checkInvariants(bench, ["in_1"]);
  });

  /** A session rests while a helper of it asks a person; the helper's end starts a run that fails. */
  const awaitHelper = async (team = ""): Promise<Revisions & { readonly answer: () => Promise<void> }> => {
    const made = await deployTwo({ agent: delegating, team });
    const { bench, deployed } = made;
    bench.send("Delegate");
    await bench.idle();
    const [ask] = Object.keys(bench.state().asks);
    expect(bench.state().threads["main"]?.run).toBeNull();
    bench.deployRevision(deployed);
    await bench.idle();
    const answer = async (): Promise<void> => {
      bench.ok("answer", { ask, decision: "answer", text: "Well." });
      await bench.idle();
    };
    return { ...made, answer };
  };

  test("the end of a background agent, after a migration before the next run", async () => {
    const { bench, old, deployed, answer } = await awaitHelper();
    bench.ok("migrate", { to: deployed.revision, when: "next_run" });
    await answer();
    expect(startsOf(bench)).toEqual([old.revision, deployed.revision]);
    expectNew(bench);
  });

  test("the next try of an announcement, of a session that follows since then", async () => {
    const { bench, old, deployed, answer } = await awaitHelper();
    await answer();
    expect(startsOf(bench)).toEqual([old.revision, old.revision]);
    const newest = await revision({ said: "New. Newest.", agent: delegating, team: follow });
    expect(newest.revision).not.toBe(deployed.revision);
    bench.deployRevision(newest);
    await settleSoon(bench);
    expect(startsOf(bench)).toEqual([old.revision, old.revision, newest.revision, newest.revision]);
    expect(movesOf(bench).filter((move) => move === "session_migrated")).toHaveLength(1);
    expectNew(bench);
    checkInvariants(bench, ["in_1"]);
  });

  test("AG-30: nothing after a clear, which tells the person what a background agent said before", async () => {
    const { bench, old, deployed } = await awaitHelper();
    bench.ok("migrate", { to: deployed.revision, when: "next_run" });
    const { find } = bench;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    bench.find = (session, to) => promise.then(() => find(session, to));
    const [ask] = Object.keys(bench.state().asks);
    bench.ok("answer", { ask, decision: "answer", text: "Well." });
    await bench.steps();
    expect(bench.state().threads["main"]?.inbox.map(({ origin }) => origin)).toEqual(["agent"]);
    const { head } = bench.state();
    bench.ok("clear", {});
    const told = bench.events().filter(({ seq, type }) => seq > head && type === "message_added");
    expect(told).toMatchObject([{ data: { final: true, message: { role: "assistant", origin: "agent" } } }]);
    expect(dataOf(bench, "input_returned")).toEqual([]);
    resolve(undefined);
    await bench.idle();
    expect(bench.chat()).toEqual([]);
    expect(startsOf(bench)).toEqual([old.revision]);
    checkInvariants(bench, ["in_1"]);
  });

  test("nothing while an agent works in the background: its session goes over when all rest", async () => {
    const { bench, old, deployed, answer } = await awaitHelper(follow);
    bench.send("More");
    await bench.idle();
    expect(startsOf(bench)).toEqual([old.revision, old.revision]);
    await answer();
    expect(startsOf(bench)).toEqual([old.revision, old.revision, deployed.revision]);
  });
});

const queueOne = async ({ bench, deployed }: Revisions): Promise<void> => {
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  bench.deployRevision(deployed);
  await bench.steps();
  bench.send("On", { on_busy: "queue" });
};

const finish = async (bench: Bench): Promise<void> => {
  bench.release();
  await bench.idle();
};

const errorsOf = (bench: Bench): readonly unknown[] => dataOf(bench, "error");

describe("CF-35: a session stays, says why, and runs what waits, if its next revision", () => {
  test("is gone: it is asked for no more", async () => {
    const made = await deployTwo();
    const { bench, old, deployed } = made;
    await queueOne(made);
    bench.ok("migrate", { when: "next_run" });
    bench.forget(deployed.revision);
    await finish(bench);
    bench.send("Later");
    await bench.idle();
    expect(startsOf(bench)).toEqual([old.revision, old.revision, old.revision]);
    expect(bench.state()).toMatchObject({ revision: old.revision, migration: null });
    expect(errorsOf(bench)).toEqual([
      {
        code: "revision_conflict",
        message: `The session stays at its revision: ${deployed.revision} is not kept or cannot run here.`,
        retryable: false,
      },
    ]);
    checkInvariants(bench, ["in_1", "in_2", "in_3"]);
  });

  test("has not its agents, in each run of a session that follows", async () => {
    const names = (yaml: string): string => yaml.replaceAll("tester", "other");
    const made = await deployTwo({}, { team: follow, names });
    const { bench, old } = made;
    await queueOne(made);
    await finish(bench);
    bench.send("Later");
    await bench.idle();
    expect(startsOf(bench)).toEqual([old.revision, old.revision, old.revision]);
    expect(errorsOf(bench)).toHaveLength(2);
    expect(errorsOf(bench).at(-1)).toMatchObject({
      code: "revision_conflict",
      message: expect.stringContaining("has no agent tester") as string,
    });
    checkInvariants(bench, ["in_1", "in_2", "in_3"]);
  });

  test("cannot be read now: the run after that starts at it", async () => {
    const made = await deployTwo();
    const { bench, old, deployed } = made;
    const { find } = bench;
    await queueOne(made);
    bench.ok("migrate", { when: "next_run" });
    bench.find = async () => "unknown";
    await finish(bench);
    expect(errorsOf(bench)).toMatchObject([{ code: "overloaded", retryable: true }]);
    bench.find = find;
    bench.send("Later");
    await bench.idle();
    expect(startsOf(bench)).toEqual([old.revision, old.revision, deployed.revision]);
    checkInvariants(bench, ["in_1", "in_2", "in_3"]);
  });
});

describe("CF-35: while a session looks for its next revision", () => {
  /** A session at rest with an input that waits until `found` is called. */
  const looking = async () => {
    const made = await deployTwo({}, { team: follow });
    const { bench, deployed } = made;
    bench.deployRevision(deployed);
    const { find } = bench;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    bench.find = async (session, to): Promise<FoundTarget> => {
      await promise;
      return find(session, to);
    };
    const receipt = bench.send("Go");
    await bench.steps();
    return { ...made, receipt, found: resolve };
  };

  test("what waits is shown as such, and may be cancelled", async () => {
    const { bench, old, receipt, found } = await looking();
    expect(receipt).toMatchObject({ input: "in_1", status: "accepted", run: null });
    expect(bench.ok("get")).toMatchObject({
      status: "running",
      queued_inputs: ["in_1"],
      revision: old.revision,
    });
    bench.ok("cancel");
    expect(bench.ok("get")).toMatchObject({ status: "idle", queued_inputs: [] });
    found(undefined);
    await bench.idle();
    expect(dataOf(bench, "input_returned")).toMatchObject([{ input: "in_1", reason: "cancelled" }]);
    expect(startsOf(bench)).toEqual([]);
    checkInvariants(bench, ["in_1"]);
  });

  test("a migration by hand comes first, and what was found is dropped", async () => {
    const { bench, old, deployed, found } = await looking();
    expect(bench.ok("migrate", { to: deployed.revision })).toMatchObject({ from: old.revision });
    await bench.steps();
    found(undefined);
    await bench.idle();
    expect(startsOf(bench)).toEqual([deployed.revision]);
    expect(dataOf(bench, "session_migrated")).toHaveLength(1);
    expect(errorsOf(bench)).toEqual([]);
  });

  test("nothing starts with the agents of the revision that it has left", async () => {
    const { bench, deployed } = await looking();
    const target = migrationTargetOf(deployed, bench.state());
    bench.change((draft) => void migrateSession(draft, target, {}));
    await bench.steps();
    expect(startsOf(bench)).toEqual([]);
    bench.crash();
    await bench.idle();
    expect(startsOf(bench)).toEqual([deployed.revision]);
    expectNew(bench);
    checkInvariants(bench, ["in_1"]);
  });

  test("no run is taken to another revision", async () => {
    const { bench, old, deployed } = await deployTwo({}, { team: follow });
    bench.hold = true;
    bench.send("Go");
    await bench.steps();
    bench.deployRevision(deployed);
    await bench.steps();
    const target = await bench.find(bench.state(), deployed.revision);
    bench.change((draft) => migrateBeforeRun(draft, deployed.revision, target));
    expect(bench.state().revision).toBe(old.revision);
    await finish(bench);
  });
});

describe("CF-35: before the next run", () => {
  test("an agent is renamed at the same revision", async () => {
    const both = (yaml: string): string =>
      yaml.replace(
        "  - name: helper",
        yaml
          .slice(yaml.indexOf("  - name: tester"), yaml.indexOf("  - name: helper"))
          .replace("name: tester", "name: twin") + "\n  - name: helper",
      );
    const made = await deployTwo({ names: both });
    const { bench, old } = made;
    await queueOne(made);
    const changes = [{ thread: "main", from: "tester", to: "twin" }];
    const asked = { to: old.revision, when: "next_run", agents: { tester: "twin" } };
    expect(bench.ok("migrate", asked)).toMatchObject({ to: old.revision, when: "next_run", changes });
    await finish(bench);
    expect(dataOf(bench, "session_migrated")).toEqual([{ from: old.revision, to: old.revision, changes }]);
    expect(bench.state()).toMatchObject({ agent: "twin", migration: null, revision: old.revision });
    checkInvariants(bench, ["in_1", "in_2"]);
  });

  test("a migration is taken back by one to the session's own revision", async () => {
    const made = await deployTwo();
    const { bench, old } = made;
    await queueOne(made);
    bench.ok("migrate", { when: "next_run" });
    const back = { to: old.revision, when: "next_run" };
    bench.ok("migrate", { ...back, dry_run: true });
    expect(bench.state().migration).not.toBeNull();
    bench.ok("migrate", back);
    await finish(bench);
    expect(startsOf(bench)).toEqual([old.revision, old.revision]);
  });
});

describe("CF-35 RE-P2: the power is cut at every write of a migration", () => {
  const ways: Record<string, { readonly team?: string; readonly migrate?: object }> = {
    now: { migrate: {} },
    "before the next run": { migrate: { when: "next_run" } },
    "of a session that follows": { team: follow },
  };

  const openTwo = ({ team = "" }: { readonly team?: string }): Promise<Revisions> => deployTwo({}, { team });

  const play = async ({ bench, old, deployed }: Revisions, { migrate }: { readonly migrate?: object }) => {
    const isLater = migrate !== undefined && "when" in migrate;
    insist(bench, "send", { id: "i1", content: "Go" }, "i1");
    if (isLater) insist(bench, "send", { id: "i2", content: "On", on_busy: "queue" }, "i2");
    if (isLater) insist(bench, "migrate", migrate, "m1");
    await settleSoon(bench);
    if (migrate !== undefined && !isLater) insist(bench, "migrate", migrate, "m1");
    insist(bench, "send", { id: "i3", content: "End", on_busy: "queue" }, "i3");
    await settleSoon(bench);
    const moves = dataOf(bench, "session_migrated");
    expect(moves).toEqual([{ from: old.revision, to: deployed.revision, changes: [] }]);
    expect(startsOf(bench).at(-1)).toBe(deployed.revision);
    const at = startsOf(bench).indexOf(deployed.revision);
    expect(new Set(startsOf(bench).slice(at))).toEqual(new Set([deployed.revision]));
    checkInvariants(bench, isLater ? ["i1", "i2", "i3"] : ["i1", "i3"]);
  };

  test.each(Object.entries(ways))("%s: it is wholly before or after", async (_, way) => {
    const whole = await openTwo(way);
    const { bench, deployed } = whole;
    bench.deployRevision(deployed);
    const before = bench.writes();
    await play(whole, way);
    const total = bench.writes() - before;
    expect(total).toBeGreaterThan(20);
    for (let cut = 1; cut <= total; cut++) {
      const each = await openTwo(way);
      each.bench.deployRevision(each.deployed);
      each.bench.cutAt(cut);
      await play(each, way);
    }
  });
});
