import { expect, test } from "vitest";
import { describeAllowed, describeReach } from "../../src/console/palette/reach.ts";

const grant = {
  id: "g",
  scope: "session",
  session: "s",
  agent: "guide",
  tool: "exec_run",
  pattern: "ls *",
  by: "dev",
  at: 0,
  expires_at: null,
} as const;

test("AP-54 TB-8: a permission says for whom it holds, where, and how long", () => {
  expect(describeReach(grant, 0)).toBe("For all agents in the session");
  const day = 86_400_000;
  expect(describeReach({ ...grant, scope: "agent", expires_at: 30 * day }, day)).toMatch(
    /^For guide in every session, until .*Jan.*; given in$/,
  );
});

test("AP-54 TB-8: a permission says what it allows, and in words that it is any use of a tool", () => {
  expect(describeAllowed(grant)).toEqual({ words: "", code: "exec_run ls *" });
  expect(describeAllowed({ ...grant, pattern: "*" })).toEqual({ words: "Any use of", code: "exec_run" });
});
