import { expect, test } from "vitest";
import { eventsOf, lastEvent, say } from "../../engine/harness.ts";
import { adminKey, askOf, oauthOf, protectedBy, signIn } from "./logins.ts";
import { servedBench } from "./support.ts";

test("TB-27: two servers that need a login ask one after the other, also if the run requires the second", async () => {
  const auth = await oauthOf();
  const [sea, lake] = [await protectedBy(auth), await protectedBy(auth)];
  const bench = await servedBench({
    servers: [
      `{ name: sea, url: "${sea.url}", auth: oauth }`,
      `{ name: lake, url: "${lake.url}", auth: oauth, required: true }`,
    ],
    toolboxes: "[sea, lake]",
    turns: [
      [
        ["sea__look", {}],
        ["lake__look", {}],
      ],
      ["Done."],
    ],
    hosts: [sea.host, lake.host, auth.host],
    env: { LIMPET_DEV: "1", LIMPET_ADMIN_KEY: adminKey },
  });
  await say(bench);
  expect(askOf(bench).authorization.server).toBe("sea");
  expect(Object.keys(bench.state().asks)).toHaveLength(1);
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(askOf(bench).authorization.server).toBe("lake");
  expect(await signIn(bench, auth)).toBe("signed_in");
  expect(lastEvent(bench, "run_end")["state"]).toBe("completed");
  expect(eventsOf(bench, "tool_call_end").map((data) => data["output"])).toEqual(["look done", "look done"]);
});
