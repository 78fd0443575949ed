import { expect, test } from "vitest";
import { describeReach } from "../../src/console/palette/reach.ts";

test("AP-54 TB-8: a permission says for whom it holds, where, and how long", () => {
  const grant = { id: "g", agent: "guide", tool: "exec_run", pattern: "ls *", at: 0 };
  expect(describeReach({ ...grant, scope: "session", expires_at: null }, 0)).toBe("in one session");
  const day = 86_400_000;
  expect(describeReach({ ...grant, scope: "agent", expires_at: 30 * day }, day)).toMatch(
    /^for guide in every session, until .*Jan/,
  );
});
