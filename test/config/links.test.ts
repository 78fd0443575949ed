import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listTeams, readTeamFiles } from "../../src/config/build/files.ts";

/** Links in a team's folder stand for what they lead to. */

test("CF-1: links to files and folders are followed, once each, and one that leads nowhere is not there", () => {
  const root = mkdtempSync(join(tmpdir(), "limpet-links-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folder = join(root, "config", "acme");
  mkdirSync(join(folder, "skills"), { recursive: true });
  mkdirSync(join(root, "common", "review"), { recursive: true });
  writeFileSync(join(root, "common", "team.yaml"), "agents: []\n");
  writeFileSync(join(root, "common", "review", "SKILL.md"), "Look.\n");
  symlinkSync("../../common/team.yaml", join(folder, "team.yaml"));
  symlinkSync("../../../common/review", join(folder, "skills", "review"));
  symlinkSync("..", join(root, "common", "review", "up"));
  symlinkSync("nowhere", join(folder, "context"));
  symlinkSync("acme", join(root, "config", "other"));
  const paths = [...readTeamFiles(root, "acme").keys()];
  expect(paths).toEqual(["skills/review/SKILL.md", "skills/review/up/team.yaml", "team.yaml"]);
  expect(listTeams(root)).toEqual(["acme", "other"]);
});
