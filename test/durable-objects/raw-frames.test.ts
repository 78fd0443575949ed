import { expect, test } from "vitest";
import type { Connections, Viewer } from "../../durable-objects/sockets/connections.ts";
import { createWatchers } from "../../durable-objects/sockets/watchers.ts";
import type { ProviderFrame } from "../../src/agent/state/events.ts";
import type { Scope } from "../../src/session/rpc.ts";

/** Who sees providers' frames (AP-27, MO-40). */

const viewer = (scopes: readonly Scope[], more: Partial<Viewer> = {}): Viewer => ({
  principal: { tenant: "acme", jurisdiction: null, by: "k1", scopes },
  ready: true,
  after: null,
  frames: 0,
  reader: "new",
  deltas: "all",
  types: null,
  threads: null,
  ...more,
});

const frame = (thread = "main"): ProviderFrame => ({
  type: "llm_provider_raw",
  thread,
  run: "run_1",
  turn: 1,
  purpose: "turn",
  attempt: 1,
  provider: "p",
  model: "m",
  data: "{}",
});

const debug: readonly Scope[] = ["sessions:read", "debug:read"];

/** Shows frames to one socket; gives the threads of those that it was sent. */
const shownTo = (
  seen: Viewer,
  frames: readonly ProviderFrame[],
  applyBackpressure = false,
): readonly string[] => {
  const sent: string[] = [];
  const connections: Partial<Connections> = {
    viewer: () => seen,
    closeIfExpired: () => false,
    applyBackpressure: () => applyBackpressure,
    change: () => undefined,
    send: (_, messages) => void sent.push(...messages),
  };
  const watchers = createWatchers({
    sockets: () => [{} as WebSocket],
    connections: connections as Connections,
    items: { open: () => [] },
    replay: () => [],
    head: () => 1,
    failed: () => undefined,
  });
  watchers.showFrames(frames);
  const read = sent.map((text) => JSON.parse(text) as ProviderFrame);
  return read.filter(({ type }) => type === "llm_provider_raw").map(({ thread }) => thread);
};

test("★ AP-27 MO-40: only who may debug sees providers' frames", () => {
  expect(shownTo(viewer(debug), [frame(), frame("t1")])).toEqual(["main", "t1"]);
  expect(shownTo(viewer(["sessions:read", "admin"]), [frame()])).toEqual([]);
  expect(shownTo({ ...viewer(debug), principal: null }, [frame()])).toEqual([]);
});

test("MO-40: a socket's filters hold for them, and one that is behind gets none", () => {
  expect(shownTo(viewer(debug, { deltas: "text" }), [frame()])).toEqual([]);
  expect(shownTo(viewer(debug, { types: ["run_end"] }), [frame()])).toEqual([]);
  expect(shownTo(viewer(debug, { types: ["llm_provider_raw"] }), [frame()])).toEqual(["main"]);
  expect(shownTo(viewer(debug, { threads: ["t1"] }), [frame(), frame("t1")])).toEqual(["t1"]);
  expect(shownTo(viewer(debug, { ready: false }), [frame()])).toEqual([]);
  expect(shownTo(viewer(debug, { after: 3 }), [frame()])).toEqual([]);
  expect(shownTo(viewer(debug), [frame()], true)).toEqual([]);
});
