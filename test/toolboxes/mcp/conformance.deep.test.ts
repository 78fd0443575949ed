import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Scenario } from "../../support/conformance.ts";
import { playScenario } from "../../support/conformance.ts";
import { root, startGroup } from "../../support/dev-server.ts";

/** The official conformance suite plays its client scenarios against sessions on the bench, from YAML. */

/** Plays the scenarios that it is asked for. */
const startPlayer = async (): Promise<string> => {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      playScenario(JSON.parse(text) as Scenario).then(
        () => response.writeHead(200).end(),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
};

/** Runs the suite with these options; returns its scenarios by name, and whether they passed. */
const runSuite = async (player: string, options: readonly string[]): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-conformance-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const suite = join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const client = `${process.execPath} ${join(root, "test/support/conformance-client.ts")} ${player}`;
  const args = [suite, "client", "--command", client, ...options, "-o", folder, "--timeout", "230000"];
  const group = startGroup(process.execPath, args, { cwd: folder });
  await group.ended;
  return group.output();
};

/** Counts the scenarios that a revision requires of clients, and lists those that failed; the refused ones fail at once. */
const playRevision = async (revision: string, refused: readonly string[]) => {
  const player = await startPlayer();
  const output = await runSuite(player, ["--requirements", revision]);
  const [, summary = ""] = output.split("=== SUITE SUMMARY ===");
  const [all = "", unscored = ""] = summary.split("Total:");
  const extra = [...unscored.matchAll(/^ *[✓✗] (\S+) \(/gm)].map(([, name]) => name);
  const scored = [...all.matchAll(/^([✓✗]) (\S+): /gm)].filter(([, , name]) => !extra.includes(name));
  const failed: string[] = [];
  for (const [, mark, name = ""] of scored) {
    if (mark === "✓") continue;
    // All scenarios of a set run at once, where a slow machine makes a probe time out; alone they do not.
    const args = ["--scenario", name, "--spec-version", revision];
    const passes = !refused.includes(name) && (await runSuite(player, args)).includes("OVERALL: PASSED");
    if (!passes) failed.push(name);
  }
  return { count: scored.length, failed };
};

/** This has a 2025 server ask a question, which such servers are not offered (TB-26). */
const questionOf2025 = ["elicitation-sep1034-client-defaults"];

for (const [revision, count, failed] of [
  ["2025-11-25", 18, questionOf2025],
  ["2026-07-28", 32, []],
] as const)
  test(`TB-27 TB-21 TB-26: every scenario that ${revision} requires of clients passes, but for a question of a 2025 server`, async () => {
    expect(await playRevision(revision, failed)).toEqual({ count, failed });
  });
