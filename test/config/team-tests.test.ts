import { join } from "node:path";
import { openSession } from "limpet/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { root } from "../support/dev-server.ts";
import { createShippedPlace } from "../support/shipped-place.ts";
import { team } from "./support.ts";

/** `limpet/testing`, with which a team's own tests are written: what it says where a run does not go as expected. */

const place = createShippedPlace();
afterAll(() => place.remove());

const folderOf = (yaml: string): string => {
  place.write("config/acme/team.yaml", yaml);
  return join(place.root, "config/acme");
};

test("CF-1: a session of the assistant works on the files of its workspace", async () => {
  const session = await openSession(join(root, "config/assistant"), {
    files: { "tides.md": "Low water is at nine." },
    script: {
      replies: [
        { reply: [{ call: "fs_read", args: { path: "tides.md" } }] },
        { reply: [{ call: "fs_edit", args: { path: "tides.md", old_text: "nine", new_text: "ten" } }] },
        { reply: [{ text: "It is at ten now." }] },
      ],
    },
  });
  await session.send("Low water is an hour later.");
  expect(session.answerText()).toBe("It is at ten now.");
  expect(await session.readFile("tides.md")).toBe("Low water is at ten.");
  expect(await session.readFile("ebb.md")).toBeNull();
  expect(session.eventsOf("tool_call_end").map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  expect(session.requests[0]?.system).toContain("You have a workspace");
});

test("CF-1: the answer of a run that failed is an error with its problem and its last events", async () => {
  const folder = folderOf(team({ agent: "    options: { max_iterations: 1 }" }));
  const session = await openSession(folder, {
    files: { "a.md": "A" },
    script: { replies: [{ reply: [{ call: "fs_read", args: { path: "b.md" } }] }] },
  });
  expect(() => session.answerText()).toThrow("no run has begun: send an input first");
  await session.send("Read.");
  const { reason, error } = session.eventsOf("run_end")[0] ?? {};
  expect(() => session.answerText()).toThrow(`the run failed (${reason}): ${error?.detail}\n`);
  expect(() => session.answerText()).toThrow(/\n\d+ \S+ tool_call_end fs_read error .*\n[^]*run_end failed/);
});

test("CF-1: the answer of a run that failed says which call failed, however long before", async () => {
  const list = { reply: [{ call: "fs_list", args: {} }] };
  const replies = [{ reply: [{ call: "fs_read", args: { path: "b.md" } }] }, list, list, list];
  const session = await openSession(folderOf(team()), { script: { replies } });
  await session.send("Read.");
  const [failed] = session.events().filter(({ type }) => type === "tool_call_end");
  expect(session.events().length - (failed?.seq ?? 0)).toBeGreaterThan(20);
  expect(() => session.answerText()).toThrow(
    /^the run failed .*\nwhat failed:\n\d+ fs_read error: .*b\.md[^]*\nthe last events:\n/,
  );
});

test("CF-1: the answer of a run that waits is an error that says for what", async () => {
  const session = await openSession(folderOf(team().replace("[filesystem]", "[ask]")), {
    script: {
      replies: [
        { reply: [{ call: "ask_user", args: { question: "Now?" } }] },
        { reply: [{ text: "Good." }] },
      ],
    },
  });
  await session.send("Ask me.");
  const [ask] = session.asks();
  expect(() => session.answerText()).toThrow(`the run has not ended; it waits for question ${ask?.id}`);
  await session.answer({ decision: "answer", text: "Now." });
  expect(session.answerText()).toBe("Good.");
});

test("CF-1: an option that there is not is refused with the nearest", async () => {
  const options = { scrip: { replies: [] } };
  await expect(openSession(folderOf(team()), options as object)).rejects.toThrow(
    'openSession: unknown key "scrip"; did you mean "script"?',
  );
});

test("CF-1: a script of a wrong form is refused with the place that is wrong", async () => {
  const options = { script: { replies: [{ reply: [{ text: "Yes." }], stall: 5 }] } };
  await expect(openSession(folderOf(team()), options as object)).rejects.toThrow(
    /^script replies\.0: "stall" is not known here$/,
  );
});

test("CF-1: a secret that a tool asks for has a made-up value, like one of the team file", async () => {
  const imports = [
    `import * as z from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};`,
    `import { defineTool } from ${JSON.stringify(join(root, "src/tools/define-tool.ts"))};`,
  ].join("\n");
  const tool = `defineTool({
    name: "tides", description: "Tides.", params: z.strictObject({}),
    secrets: ["HARBOUR_TOKEN"], hosts: ["https://harbour.example"],
    run: async (_, { egress, secret }) => {
      const headers = { Authorization: ["Bearer ", secret("HARBOUR_TOKEN")] };
      const { status } = await egress("https://harbour.example/tides", { headers });
      return { content: String(status) };
    },
  })`;
  place.write(
    "config/quay/extensions.ts",
    `${imports}\nexport const toolboxes = [{ name: "sea", description: "", tools: [${tool}] }];`,
  );
  place.write(
    "config/quay/team.yaml",
    team({ top: "permissions: { preset: open }" }).replace("[filesystem]", "[sea]"),
  );
  const seen: (string | null)[] = [];
  const session = await openSession(join(place.root, "config/quay"), {
    script: { replies: [{ reply: [{ call: "tides", args: {} }] }, { reply: [{ text: "Low." }] }] },
    fetch: ({ headers }) => {
      seen.push(headers.get("Authorization"));
      return new Response("low");
    },
  });
  await session.send("When?");
  expect(session.eventsOf("tool_call_end").map(({ output }) => output)).toEqual(["200"]);
  expect(seen).toEqual(["Bearer made-up-value-of-HARBOUR_TOKEN"]);
});

test("CF-1: of what a tool or an effect of the team threw, the place in its code is said", async () => {
  const modules = ["src/tools/define-tool.ts", "src/agent/definition/effect.ts", "node_modules/zod/index.js"];
  const [tools, effects, zod] = modules.map((path) => JSON.stringify(join(root, path)));
  place.write(
    "config/pier/extensions.ts",
    `import * as z from ${zod};
import { defineTool } from ${tools};
import { defineEffect } from ${effects};
const fail = () => {
  throw new Error("no tide at 25");
};
const tide = defineTool({ name: "tide", description: "Tide.", params: z.strictObject({}), safety: "read", run: fail });
export const toolboxes = [{ name: "sea", description: "", tools: [tide] }];
export const effects = [defineEffect({
  kind: "tide_note", phase: "before_complete", order: "inject", params: z.strictObject({}),
  run: ({ iteration }) => (iteration === 0 ? {} : fail()),
})];`,
  );
  const own = "    effects: [{ kind: tide_note }]";
  place.write("config/pier/team.yaml", team({ agent: own }).replace("[filesystem]", "[sea]"));
  const session = await openSession(join(place.root, "config/pier"), {
    script: { replies: [{ reply: [{ call: "tide", args: {} }] }] },
  });
  await session.send("When?");
  expect(() => session.answerText()).toThrow(
    /^the run failed \(effect_failed\): tide_note: no tide at 25\nwhat failed:\n[^]*\ntide threw at config\/pier\/extensions\.ts:5:9\ntide_note threw at config\/pier\/extensions\.ts:5:9\n/,
  );
});

describe("CF-1: a test that expects something else of a run that completed", () => {
  const printed: unknown[] = [];

  beforeAll(() => {
    vi.spyOn(console, "error").mockImplementation((text) => void printed.push(text));
  });

  afterAll(() => {
    vi.restoreAllMocks();
    expect(printed).toEqual([
      expect.stringMatching(
        /^the run completed\nwhat failed:\n\d+ fs_read error: .*b\.md[^]*\nthe last events:\n[^]*\n\d+ \S+ run_end completed/,
      ),
      expect.stringMatching(/^the run completed\nthe last events:\n[^]*\n\d+ \S+ run_end completed/),
      expect.stringMatching(
        /^the run completed\nwhat failed:\n\d+ error provider_auth: [^]*run_end failed provider_auth/,
      ),
    ]);
  });

  test.fails.each([
    [
      "fails, and prints what its failed call said, and the last events",
      { call: "fs_read", args: { path: "b.md" } },
    ],
    ["fails, and prints the last events", { call: "fs_list", args: {} }],
  ])("%s", async (_, call) => {
    const session = await openSession(folderOf(team()), {
      script: { replies: [{ reply: [call] }, { reply: [{ text: "Done." }] }] },
    });
    await session.send("Read.");
    expect(session.answerText()).toBe("Read.");
  });

  test.fails("fails, and prints that an earlier run failed", async () => {
    const scenes = [
      {
        name: "refused",
        when: { input: { equals: "Read." } },
        reply: [{ text: "" }],
        fail: [{ status: 401 }],
      },
      { name: "rest", reply: [{ text: "Done." }] },
    ];
    const session = await openSession(folderOf(team()), { script: { scenes } });
    await session.send("Read.");
    await session.send("Read again.");
    expect(session.answerText()).toBe("Read.");
  });
});
