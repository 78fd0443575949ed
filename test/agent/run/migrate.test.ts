import { expect, test } from "vitest";
import type { MigrationTarget } from "../../../src/agent/run/migrate.ts";
import { migrateSession } from "../../../src/agent/run/migrate.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, look, replies, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, play } from "../loop/play.ts";

/** What a session keeps when it goes over to another revision (CF-35). */

const target = async (effects: string): Promise<MigrationTarget> => {
  const yaml = scripted(replies(done)).replace("toolboxes: [probe]", "toolboxes: []");
  const engine = await engineOf(yaml.replace("effects: []", `effects: ${effects}`));
  return {
    revision: "r_new",
    agentNames: engine.rules.agentNames,
    agent: (name) => engine.agent(name, bench.state()),
    allowsModel: () => true,
  };
};

const { bench } = await play(replies(look, done));

test("CF-35: the state of an effect stays where kind and position match, and the rest is forgotten", async () => {
  bench.send("Go");
  await bench.idle();
  const chat = bench.chat();
  bench.change(({ state: { threads } }) => {
    if (threads["main"] === undefined) throw new Error("there is no main");
    threads["main"].effects = { progress: 1, "progress#2": 2, reflection: 3 };
    threads["main"].guards = { tool_loops: 4, no_such_guard: 5 };
  });
  const to = await target("[{ kind: reflection }, { kind: progress }]");
  bench.change((draft) => void migrateSession(draft, to, {}));
  const { effects, guards } = bench.state().threads["main"] ?? {};
  expect(effects).toEqual({ progress: 1, reflection: 3 });
  expect(guards).toEqual({ tool_loops: 4 });
  const changes = [{ thread: "main", dropped_state: ["progress#2", "no_such_guard"] }];
  expect(dataOf(bench, "session_migrated")).toMatchObject([{ to: "r_new", changes }]);
  expect(bench.chat()).toEqual(chat);
  checkInvariants(bench, []);
});
