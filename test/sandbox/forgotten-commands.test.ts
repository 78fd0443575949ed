import { expect, test } from "vitest";
import { bench } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

const day = 24 * 60 * 60 * 1000;

/** A body whose second half the test lets go. */
const slowBody = (text: string) => {
  const rest = Promise.withResolvers<void>();
  const half = Math.floor(text.length / 2);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(text.slice(0, half))),
    pull: async (controller) => {
      await rest.promise;
      controller.enqueue(encoder.encode(text.slice(half)));
      controller.close();
    },
  });
  return { body, finish: rest.resolve };
};

test("AP-45: an upload during which old commands are forgotten is written, and so is one that began before", async () => {
  const local = createLocalWorkspace();
  const { id, sandbox, run, text } = bench(() => local);
  await run("true");
  const instance = await sandbox.instance();
  const slow = slowBody("whole");
  const put = (path: string, body: BodyInit): Promise<Response> =>
    local.fetch(
      new Request(`http://sandbox/v1/sandbox/${id}/file/workspace/${path}`, {
        method: "PUT",
        body,
        headers: { "Sandbox-Instance": instance },
        duplex: "half",
      } as RequestInit),
    );
  const first = put("a", slow.body);
  local.advance(day + 1);
  local.server.expire();
  slow.finish();
  expect((await first).status).toBe(200);
  expect(await text("a")).toBe("whole");
  const second = await put("b", "second");
  expect(second.status).toBe(200);
  expect(second.headers.get("Sandbox-Instance")).not.toBe(instance);
});
