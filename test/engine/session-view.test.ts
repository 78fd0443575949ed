import { expect, test } from "vitest";
import { scripted } from "../support/scripts.ts";
import { benchOf } from "./harness.ts";

const yaml = scripted("replies: [{ reply: [{ text: done }] }]");

test.each([
  ["🐚", '    prefix: "🐚"\n'],
  ["🤖", ""],
  ["🤖", '    prefix: " "\n'],
])(
  "AP-17: a session is shown with its agent's prefix %s, from its creation on and after a crash",
  async (prefix, line) => {
    const bench = await benchOf(
      yaml.replace("[probe]", "[]").replace("    effects: []\n", `    effects: []\n${line}`),
    );
    expect(bench.ok("create", { ref: "a" })).toMatchObject({ agent: "tester", prefix });
    expect(bench.ok("create", { ref: "a" })).toMatchObject({ prefix });
    bench.crash();
    expect(bench.ok("get")).toMatchObject({ prefix });
    expect(bench.ok("patch", { title: "A" })).toMatchObject({ prefix });
    expect(bench.ok("snapshot")["session"]).toMatchObject({ prefix });
  },
);
