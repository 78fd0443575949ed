import { expect, test } from "vitest";
import { api, create } from "../support/worker/session.ts";

/** What an alarm was set for is not forgotten when a request brings the session back into memory before it. */

test("AP-5 RE-P2: news that were stored before a crash reach the index within 5 s, although a request wakes the session first", async () => {
  const session = await create("ask", "Go");
  await session.settled();
  const titles = async (): Promise<readonly unknown[]> => {
    const { body } = await api("GET", "/sessions?limit=200");
    return (body["data"] as unknown as { id: string; title: string }[])
      .filter(({ id }) => id === session.id)
      .map(({ title }) => title);
  };
  const end = Date.now() + 5_000;
  await session.call("PATCH", "", { body: { title: "New" } });
  await session.crash();
  await session.call("GET");
  while (Date.now() < end && !(await titles()).includes("New")) await scheduler.wait(20);
  expect(await titles()).toEqual(["New"]);
});
