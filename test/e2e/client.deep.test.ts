import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";
import type { OpenSession, SessionClient, Transcript } from "../../src/client/index.ts";
import { createApi } from "../support/api-client.ts";
import type { Api } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { startCutter } from "../support/cutter.ts";
import type { Cutter } from "../support/cutter.ts";
import type { DevServer } from "../support/dev-server.ts";
import { createDice } from "../support/dice.ts";
import { startRuntime } from "../support/runtime.ts";
import { contentOf, expectLog, foldSince, whenTranscript } from "../support/transcripts.ts";

/** Two clients on a wire that breaks at random bytes, to a server that is killed at random events (AP-52). */

const wantedCuts = 200;
const wantedKills = 4;
const seed = 20261123;
const dice = createDice(seed);

let team: BuiltTeam;
let server: DevServer;
let api: Api;
let wire: Cutter;
/** What was broken so far. */
const damage = { kills: 0 };

beforeAll(async () => {
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  api = createApi(server.url);
  wire = await startCutter(server.port, () => 200 + dice.roll(dice.pick([1_000, 4_000, 12_000])));
});

afterAll(async () => {
  wire?.close();
  await server?.close();
  team?.remove();
  console.log(`seed ${seed}: ${wire?.cuts()} cuts, ${damage.kills} kills`);
});

const scenes = ["hello", "files", "run", "team", "hello", "verify"];

/** Each of them has more events than the latest kill waits for. */
const longScenes = ["files", "run", "team"];

/** Tries again at once, so that two hundred cuts do not take an hour of backing off. */
const openEager = (session: SessionClient): OpenSession => {
  const open = session.open();
  open.subscribe(() => {
    if (open.getSnapshot().status === "offline") open.reconnect();
  });
  return open;
};

/** Kills the server as soon as so many more events have come. */
const killAt = async (open: OpenSession, events: number): Promise<void> => {
  const { seq } = open.getSnapshot();
  await whenTranscript(open, (now) => now.seq >= seq + events);
  await server.kill();
  damage.kills += 1;
  await server.start();
};

const hasEnded =
  (runs: number) =>
  ({ status, session, runs: known, inputs }: Transcript): boolean =>
    status === "live" &&
    session?.status === "idle" &&
    inputs.length === 0 &&
    known.filter(({ thread, ended_at }) => thread === "main" && ended_at !== null).length === runs;

test(`AP-51 AP-52: after ${wantedCuts} random cuts and ${wantedKills} kills two clients show what the log says, each input once`, async () => {
  for (let round = 0; wire.cuts() < wantedCuts || damage.kills < wantedKills; round += 1) {
    const id = await api.create();
    const clients = [0, 1].map(() => createClient({ url: wire.url }).sessions.get(id));
    const opens = clients.map(openEager);
    for (let run = 1; run <= 4; run += 1) {
      const sender = clients[dice.roll(2)];
      const watcher = opens[dice.roll(2)];
      if (sender === undefined || watcher === undefined) throw new Error("no client");
      const isKilled = run === 2;
      const said = `${dice.pick(isKilled ? longScenes : scenes)} ${round}.${run}`;
      const sent = sender.send({ content: said, on_busy: "queue" });
      if (isKilled) await killAt(watcher, 1 + dice.roll(24));
      await sent;
      const shown = await Promise.all(opens.map((open) => whenTranscript(open, hasEnded(run))));
      const events = await api.events(id);
      const log = contentOf(foldSince(null, events));
      for (const [at, transcript] of shown.entries()) {
        const place = `seed ${seed}, round ${round}, run ${run}, client ${at}`;
        expect(contentOf(transcript), place).toEqual(log);
        expectLog(transcript, events, place);
      }
      const inputs = events.filter(
        (event) =>
          event.type === "input_accepted" && JSON.stringify(event.data.content).includes(`"${said}"`),
      );
      expect(inputs, said).toHaveLength(1);
    }
    for (const open of opens) open.close();
  }
}, 560_000);
