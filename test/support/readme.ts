import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./dev-server.ts";

/** The README as what it says and what it shows. */

export const readme = readFileSync(join(root, "README.md"), "utf8");

/** A fenced block: its language, the word behind it, and its text. */
export interface Block {
  readonly language: string;
  /** How the block is to be read: `start curl deploy account test`, or the file it belongs to; may be empty. */
  readonly role: string;
  readonly text: string;
  readonly line: number;
}

export const blocks: readonly Block[] = [...readme.matchAll(/^```(\w+)(?: (.+))?\n([\s\S]*?)^```$/gm)].map(
  (match) => ({
    language: match[1] ?? "",
    role: match[2] ?? "",
    text: match[3] ?? "",
    line: readme.slice(0, match.index).split("\n").length,
  }),
);

/** The commands of a shell block: each begins in the first column of a line that no backslash continues. */
export const commandsOf = ({ text }: Block): readonly string[] =>
  text
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .reduce<string[]>((all, line) => {
      const last = all.at(-1);
      if (line.startsWith(" ") && last !== undefined) all[all.length - 1] = `${last}\n${line}`;
      else all.push(line);
      return all;
    }, []);

/** Targets of the README's links that are files of the project. */
export const linkedFiles: readonly string[] = [...readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(
  ([, target]) => target ?? "",
);
