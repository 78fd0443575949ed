import { expect, test } from "vitest";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { openBench } from "../support/bench.ts";
import { engineOf } from "../support/teams.ts";

/** Model servers whose headers hold figures that no clock knows (MO-26, MO-30). */

const yaml = `
providers: [{ name: p, kind: openai-compatible, model: m, base_url: "https://llm.example", context_window: 100000 }]
agents: [{ name: a }]
`;

test("MO-26: a wait that no calendar holds fails the target with a retry_at, and the model is called once", async () => {
  for (const [name, value] of [
    ["retry-after", "1e306"],
    ["retry-after", "1e15"],
    ["retry-after-ms", "1e308"],
    ["retry-after", "Wed, 31 Dec 275759 00:00:00 GMT"],
  ] as const) {
    let calls = 0;
    const fetch = async (): Promise<Response> => {
      calls += 1;
      return new Response("{}", { status: 429, headers: { [name]: value } });
    };
    const bench = openBench({ engine: await engineOf(yaml, { fetch }) });
    bench.ok("create");
    bench.send("Go");
    await bench.idle();
    const end: StoredEvent | undefined = bench.events().at(-1);
    expect(end, `${name}: ${value}`).toMatchObject({
      type: "run_end",
      data: {
        reason: "provider_rate_limited",
        error: { detail: expect.stringMatching(/retry_at \d{4}-\d\d-\d\dT/) },
      },
    });
    expect(calls).toBe(1);
  }
});
