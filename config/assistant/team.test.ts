import { openSession } from "limpet/testing";
import { expect, test } from "vitest";

/** What the team promises: run by `npm test`, without a model and without a network. */

test("the assistant works on the files of its workspace", async () => {
  const session = await openSession(import.meta.dirname, {
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
  expect(session.eventsOf("tool_call_end").map(({ outcome }) => outcome)).toEqual(["ok", "ok"]);
  expect(session.requests[0]?.system).toContain("You have a workspace");
});
