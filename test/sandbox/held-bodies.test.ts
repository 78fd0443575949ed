import { packTar } from "modern-tar";
import { afterEach, expect, test, vi } from "vitest";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import { codeOf, freshKey } from "./bench.ts";
import { createLocalWorkspace } from "./local.ts";

/** The bodies that the workspaces of an isolate hold in its memory together. */

afterEach(() => void vi.useRealTimers());

const most = 32 * 1024 * 1024;

/** Begins to send a body, of which nothing more comes until it is closed. */
const sendSlowly = async (
  send: (content: ReadableStream<Uint8Array>) => Promise<unknown>,
  part: Uint8Array,
) => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const code = codeOf(send(readable));
  const writer = writable.getWriter();
  await writer.write(part);
  return { code, writer };
};

test("★ AP-45 TB-33: the bodies that an isolate holds are bounded: another one is refused until they are over", async () => {
  const files = createWorkspaceFiles(createLocalWorkspace(), "a");
  const write = (path: string): Promise<string> =>
    codeOf(files.put(path, { content: new Uint8Array([66]), size: 1 }, { key: freshKey() }));
  const large = await Promise.all(
    ["b", "c"].map((path) =>
      sendSlowly(
        (content) => files.put(path, { content, size: most }, { key: freshKey() }),
        new Uint8Array(most),
      ),
    ),
  );
  await vi.waitFor(async () => expect(await write("d")).toBe("capacity_exceeded"));
  await Promise.all(large.map(({ writer }) => writer.close()));
  expect(await Promise.all(large.map(({ code }) => code))).toEqual(["none", "none"]);
  expect(await write("d")).toBe("none");
  expect((await files.list(".", { limit: 10 })).map(({ name }) => name)).toEqual(["b", "c", "d"]);
});

test("★ AP-45 TB-33: who sends a file or an archive slowly holds up nobody else", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const slow = createWorkspaceFiles(createLocalWorkspace(), "a");
  const other = createWorkspaceFiles(createLocalWorkspace(), "b");
  const archive = await packTar([{ header: { name: "slow", size: most }, body: new Uint8Array(most) }]);
  const write = (path: string): Promise<string> =>
    codeOf(other.put(path, { content: new Uint8Array([66]), size: 1 }, { key: freshKey() }));
  const file = await sendSlowly(
    (content) => slow.put("slow", { content, size: most }, { key: freshKey() }),
    new Uint8Array(most),
  );
  const folder = await sendSlowly(
    (content) => slow.unpack(".", content, { key: freshKey() }),
    archive.subarray(0, most),
  );
  await vi.waitFor(async () => expect(await write("early")).toBe("capacity_exceeded"));
  vi.setSystemTime(Date.now() + 10_000);
  expect(await write("late")).toBe("none");
  await Promise.all([file, folder].map(({ writer }) => writer.close()));
  expect(await file.code).toBe("capacity_exceeded");
  expect(await folder.code).toBe("invalid_request");
  expect((await slow.list(".", { limit: 10 })).map(({ name }) => name)).toEqual([]);
});

test("★ AP-45 TB-33: an archive that goes on and on after its end is refused and not kept in memory", async () => {
  const files = createWorkspaceFiles(createLocalWorkspace(), "a");
  const piece = new Uint8Array(1024 * 1024);
  let left = 100;
  const zeros = new ReadableStream<Uint8Array>({
    pull: (controller) => (left-- > 0 ? controller.enqueue(piece.slice()) : controller.close()),
  });
  expect(await codeOf(files.unpack(".", zeros, { key: freshKey() }))).toBe("payload_too_large");
  expect(left).toBe(-1);
});
