import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { listTeams, readTeamFiles } from "../../src/config/build/files.ts";
import { createShippedPlace } from "../support/shipped-place.ts";
import { team } from "./support.ts";

/** What in a team's folder is read: links stand for what they lead to, and what other programs leave there is told. */

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

test("CF-1: a link that leads to nothing is an error: what it stood for would be missing", async () => {
  const { root, write, call, remove } = createShippedPlace();
  onTestFinished(remove);
  write("config/acme/team.yaml", team());
  write("config/acme/context/tides.md", "Low water is at nine.");
  symlinkSync("../../../common/house.md", join(root, "config/acme/context/house.md"));
  symlinkSync("itself.md", join(root, "config/acme/context/itself.md"));
  symlinkSync("me@harbour.4711", join(root, "config/acme/context/.#tides.md"));
  expect(await call("validate", "acme")).toEqual({
    code: 1,
    lines: [
      "config/acme/context/house.md:1:1 error file_missing: this link leads to nothing",
      "  remove it, or make what it leads to",
      "config/acme/context/itself.md:1:1 error file_missing: this link leads to nothing",
      "  remove it, or make what it leads to",
    ],
  });
});

test("CF-4 CF-1: what editors, systems and package managers leave in a team's folder is told once and is no part of the team", async () => {
  const { write, read, call, remove } = createShippedPlace();
  onTestFinished(remove);
  write("config/acme/team.yaml", team());
  write("config/acme/skills/tides/SKILL.md", "Times are UTC.");
  write("config/acme/skills/tides/table.md", "Nine.");
  for (const name of ["skills/tides/.SKILL.md.swp", "context/._house.md", "scripts/.tour.yaml"])
    write(`config/acme/${name}`, "\0\0Bud1");
  for (const name of ["zod/index.js", "zod/README.md"]) write(`config/acme/node_modules/${name}`, "x");
  write("config/acme/.idea/workspace.xml", "<x/>");
  expect(await call("build", "acme")).toEqual({
    code: 0,
    lines: [
      ...[
        ".idea/",
        "context/._house.md",
        "node_modules/",
        "scripts/.tour.yaml",
        "skills/tides/.SKILL.md.swp",
      ].map(
        (path) =>
          `config/acme/${path}:1:1 warning unused_file: nothing reads this ${path.endsWith("/") ? "folder" : "hidden file"}`,
      ),
      "built acme into .limpet/acme/",
    ],
  });
  const built = read(".limpet/acme/team.js");
  expect(built).toContain("table.md");
  expect(built).not.toMatch(/Bud1|swp|house/);
});

test("CF-7: a file of any size is a diagnostic: of a huge one only the beginning is read", async () => {
  const { root, write, call, remove } = createShippedPlace();
  onTestFinished(remove);
  write("config/acme/team.yaml", team());
  write("config/acme/skills/tides/SKILL.md", "Times are UTC.");
  // Files without content take no place on the disk.
  for (const path of ["dump.bin", "skills/tides/table.csv"]) {
    write(`config/acme/${path}`, "");
    truncateSync(join(root, "config/acme", path), 3 * 1024 ** 3);
  }
  expect(await call("validate", "acme")).toEqual({
    code: 1,
    lines: [
      "config/acme/dump.bin:1:1 warning unused_file: nothing reads this file",
      "config/acme/skills/tides/table.csv:1:1 error file_too_large: the file has more than 262144 bytes, and no more are allowed",
    ],
  });
});

test("CF-4 CF-9: a file beside a skill may have a name that objects have for themselves", async () => {
  const { root, write, call, remove } = createShippedPlace();
  onTestFinished(remove);
  write("config/acme/team.yaml", team());
  write("config/acme/skills/tides/SKILL.md", "Times are UTC.");
  const names = ["__proto__", "constructor", "toString"];
  for (const name of names) write(`config/acme/skills/tides/${name}`, name);
  expect((await call("build", "acme")).code).toBe(0);
  const built = (await import(pathToFileURL(join(root, ".limpet/acme/team.js")).href)) as {
    default: { skills: readonly { files: object }[] };
  };
  expect(Object.entries(built.default.skills[0]?.files ?? {})).toEqual(names.map((name) => [name, name]));
});
