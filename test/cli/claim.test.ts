import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claimFolder } from "../../src/cli/serve/claim.ts";

/** Who serves a folder of sessions keeps others off it for as long as its process lives (AP-70). */

const file = join(import.meta.dirname, "../../src/cli/serve/claim.ts");
const claiming = `
  import { claimFolder } from ${JSON.stringify(file)};
  console.log(await claimFolder(process.argv[1], "http://localhost:1"));
  setInterval(() => undefined, 1_000);`;

test("AP-70: a folder has one server at a time, and one that was killed does not hold it", async () => {
  const folder = `/sessions/${process.pid}`;
  const first = spawn(process.execPath, ["--input-type=module", "-e", claiming, folder], { stdio: "pipe" });
  const [said] = (await once(first.stdout, "data")) as [Buffer];
  expect(String(said)).toBe("null\n");
  expect(await claimFolder(folder, "http://localhost:2")).toBe("http://localhost:1");
  expect(await claimFolder(`${folder}/other`, "http://localhost:2")).toBeNull();
  first.kill("SIGKILL");
  await once(first, "exit");
  expect(await claimFolder(folder, "http://localhost:2")).toBeNull();
  expect(await claimFolder(folder, "http://localhost:3")).toBe("http://localhost:2");
});
