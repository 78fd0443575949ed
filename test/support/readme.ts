import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./dev-server.ts";

/** The pages with samples, as what they say and what they show. */

/** A fenced block: its language, the word behind it, and its text. */
export interface Block {
  readonly language: string;
  /** How the block is to be read: `start curl recipe account test picture tree`, or the file it belongs to; may be empty. */
  readonly role: string;
  readonly text: string;
  /** Where it stands: `README.md:12`. */
  readonly place: string;
}

interface Page {
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const readPage = (path: string): Page => {
  const text = readFileSync(join(root, path), "utf8");
  const blocks = Array.from(text.matchAll(/^```(\w+)(?: (.+))?\n([\s\S]*?)^```$/gm), (match) => ({
    language: match[1] ?? "",
    role: match[2] ?? "",
    text: match[3] ?? "",
    place: `${path}:${text.slice(0, match.index).split("\n").length}`,
  }));
  return { path, text, blocks };
};

export const pages: Readonly<Record<"readme" | "guide" | "teams" | "code", Page>> = {
  readme: readPage("README.md"),
  guide: readPage("src/api/guide.md"),
  teams: readPage("config/README.md"),
  code: readPage("src/README.md"),
};

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

/** Targets of a page's links that are files of the project, from its root. */
export const linkedFiles = ({ path, text }: Page): readonly string[] =>
  Array.from(text.matchAll(/\]\((?!https?:)([^)#]+)/g), ([, target = ""]) => join(dirname(path), target));

/** A recipe of config/README.md or the guide by its first words: its YAML, and its commands as a script. */
export const recipeOf = (title: string): { readonly yaml: string; readonly commands: string } => {
  const page = [pages.teams, pages.guide].find(({ text }) => text.includes(`**${title}.**`));
  const { text, blocks } = page ?? pages.teams;
  const from = text.indexOf(`**${title}.**`);
  const next = text.slice(from + 2).search(/^(\*\*|## )/m);
  const part = text.slice(from, next < 0 ? text.length : from + 2 + next);
  const own = from < 0 ? [] : blocks.filter((block) => part.includes(block.text));
  const textOf = (wanted: string): string =>
    own.flatMap(({ language, text: shown }) => (language === wanted ? [shown] : [])).join("\n");
  if (own.length === 0) throw new Error(`no page has the recipe "${title}"`);
  return { yaml: textOf("yaml"), commands: textOf("sh") };
};
