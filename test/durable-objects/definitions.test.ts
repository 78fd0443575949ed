import { evictDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { teamObjectName } from "../../src/engine/access/names.ts";
import type { TeamDirectory } from "../../src/engine/access/rpc.ts";
import { create } from "../support/worker-session.ts";

const team = (): DurableObjectStub & TeamDirectory => {
  const { TeamObject } = exports as unknown as {
    readonly TeamObject: { getByName(name: string): DurableObjectStub & TeamDirectory };
  };
  return TeamObject.getByName(teamObjectName);
};

test("★ CF-33: once a session is acknowledged the team has the definition that it pins, so a deploy finds it", async () => {
  const sessions = await Promise.all(["text", "text", "text"].map((agent) => create(agent)));
  const revisions = await Promise.all(
    sessions.map(async (session) => String((await session.call("GET")).body["revision"])),
  );
  for (const revision of revisions) {
    const definition = await team().definition(revision);
    expect(JSON.parse(definition ?? "null")).toMatchObject({ format: 1, entry_agent: "text" });
  }
  await evictDurableObject(team());
  expect(await team().definition(revisions[0] ?? "")).not.toBeNull();
});
