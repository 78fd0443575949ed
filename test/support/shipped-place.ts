import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../src/cli/run.ts";
import { shippedTeams } from "./shipped.ts";

/** A folder with the shipped teams and their environments, as in a fresh clone, for the command line to work in. */

const project = join(import.meta.dirname, "../..");

/** The product's `wrangler.toml` without the environments of teams that were added to it. */
const shippedWrangler = (): string =>
  readFileSync(join(project, "wrangler.toml"), "utf8")
    .split(/^(?=\[)/m)
    .filter((table) => {
      const [, team] = /^\[+env\.([\w-]+)/.exec(table) ?? [];
      return team === undefined || shippedTeams.includes(team);
    })
    .join("");

export interface ShippedPlace {
  readonly root: string;
  readonly write: (path: string, content: string) => void;
  readonly read: (path: string) => string;
  /** Runs a command; its exit code and the lines that it printed. */
  readonly call: (...given: string[]) => Promise<{ code: number; lines: string[] }>;
  readonly remove: () => void;
}

export const createShippedPlace = (): ShippedPlace => {
  const root = mkdtempSync(join(tmpdir(), "limpet-cli-"));
  for (const team of shippedTeams)
    cpSync(join(project, "config", team), join(root, "config", team), { recursive: true });
  const write = (path: string, content: string): void => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  write("wrangler.toml", shippedWrangler());
  return {
    root,
    write,
    read: (path) => readFileSync(join(root, path), "utf8"),
    call: async (...given) => {
      const lines: string[] = [];
      const code = await run(given, { root, print: (line) => lines.push(...line.split("\n")) });
      return { code, lines };
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
};
