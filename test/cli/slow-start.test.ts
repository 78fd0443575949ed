import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { watchStart } from "../../src/cli/serve/slow-start.ts";

/** What `npm start` says when wrangler does not come up (AP-70). */

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A wrangler that never says its port. */
const silent = () => ({
  child: spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] }),
  lastLines: () => ["⎔ Starting local server..."],
});

test("AP-70: a server that never answers is told after a while, and ends with what to do", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const exit = vi.spyOn(process, "exit").mockImplementation(() => undefined as never);
  const lines: string[] = [];
  const server = silent();
  const ended = once(server.child, "exit");
  watchStart(
    () => server,
    (line) => lines.push(line),
  );
  vi.advanceTimersByTime(59_999);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(lines).toEqual(["Still starting: wrangler has not answered yet …"]);
  vi.advanceTimersByTime(120_000);
  expect(lines.slice(1)).toEqual([
    "⎔ Starting local server...",
    expect.stringMatching(/^The server is not up after 3 minutes; .* npm start -- --persist-to /),
  ]);
  await ended;
  expect(exit).toHaveBeenCalledWith(1);
});

test("AP-70: a server that answers in time is not spoken of", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const lines: string[] = [];
  const stop = watchStart(
    () => null,
    (line) => lines.push(line),
  );
  vi.advanceTimersByTime(59_000);
  stop();
  vi.advanceTimersByTime(600_000);
  expect(lines).toEqual([]);
});
