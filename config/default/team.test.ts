import { openSession } from "limpet/testing";
import { expect, test } from "vitest";

/**
 * What any team promises: `npm test` runs it, without a model and without a network. Say beside it what yours promises;
 * config/README.md shows how.
 */

test("the team answers", async () => {
  const session = await openSession(import.meta.dirname, {
    script: { replies: [{ reply: [{ text: "Good morning." }] }] },
  });
  await session.send("Hello.");
  expect(session.answerText()).toBe("Good morning.");
});
