import { expect, test } from "vitest";
import type { Faults, Protocol } from "../../src/protocols/protocol.ts";
import { parseFrame } from "../../src/protocols/protocol.ts";
import { plainTraits } from "../../src/providers/profile.ts";
import type { Profile } from "../../src/providers/profile.ts";
import { openBench } from "../support/bench.ts";
import { engineOf } from "../support/teams.ts";
import { ends, lastResult } from "../agent/loop/play.ts";

/** A wire format of a team's own, from `extensions.ts` to the answer (CF-1). */

const decode = (faults: Faults): ReturnType<Protocol["decoder"]> => {
  let ended = false;
  return {
    frame: ({ data }, events) => {
      const { model, line, end } = parseFrame(data, faults);
      if (typeof model === "string") events.push({ type: "start", model });
      if (typeof line === "string") events.push({ type: "text", item: 0, text: line });
      if (end !== true) return;
      ended = true;
      events.push({ type: "item_end", item: 0 }, { type: "finish", reason: "stop", raw: "end" });
    },
    state: () => (ended ? "done" : "open"),
  };
};

const lines: Protocol = {
  name: "lines",
  path: "/say",
  build: ({ model, messages }) => {
    const body = JSON.stringify({ model, count: messages.length });
    return { body, droppedParameters: [], maxTokens: 100, digest: () => body };
  },
  decoder: (_request, _target, faults) => decode(faults),
  post: (address, send, body, signal) =>
    send(address, { method: "POST", headers: new Headers(), body, signal }),
};

const lagoon: Profile = {
  kind: "lagoon",
  protocol: "lines",
  baseUrl: "https://lagoon.example/v2",
  auth: "bearer",
  traits: () => plainTraits,
};

const yaml = `
providers: [{ name: sea, kind: lagoon, model: tide, api_key: "\${SEA_KEY}", context_window: 100000 }]
agents: [{ name: tester }]
`;

test("CF-1: a provider speaks a protocol of the team's own", async () => {
  const sent: string[] = [];
  const engine = await engineOf(yaml, {
    profiles: [lagoon],
    protocols: [lines],
    env: { SEA_KEY: "key-of-the-sea" },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      sent.push(`${request.url} ${request.headers.get("authorization")} ${await request.text()}`);
      const frames = [{ model: "tide" }, { line: "The tide " }, { line: "is in." }, { end: true }];
      const text = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
      return new Response(text, { headers: { "Content-Type": "text/event-stream" } });
    },
  });
  const bench = openBench({ engine });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(lastResult(bench).text).toBe("The tide is in.");
  expect(sent).toEqual(['https://lagoon.example/v2/say Bearer key-of-the-sea {"model":"tide","count":1}']);
});
