import { cleanText } from "../chat/text.ts";
import { SandboxError } from "../sandbox/contract.ts";
import type { Sandbox } from "../sandbox/contract.ts";
import { headAndTail } from "./cut.ts";

/** Project context that a workspace brings along (AG-40). */

const named = ["AGENTS.md", "CLAUDE.md", ".cursorrules"];
const rulesFolder = ".cursor/rules";
const mostRules = 50;
/** A shorter rest of a text is worth nothing. */
const leastCharacters = 100;

/** No such path, or a file where a folder should be. */
const absent: readonly string[] = ["workspace_read_not_found", "conflict"];

const orNothing = async <T>(work: Promise<T>, nothing: T): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SandboxError && absent.includes(error.code)) return nothing;
    throw error;
  }
};

/** The first bytes of a file as text; nothing if there is no such file. */
const textAt = async (sandbox: Sandbox, path: string, bytes: number): Promise<string> => {
  const stat = await orNothing(sandbox.stat(path), null);
  const length = Math.min(stat?.size ?? 0, bytes);
  if (stat?.type !== "file" || length === 0) return "";
  const content = await sandbox.read(path, { offset: 0, length });
  // A character that the limit cuts is left out.
  const text = new TextDecoder().decode(content, { stream: true });
  return cleanText(text.replaceAll("\r\n", "\n"));
};

const withoutFrontmatter = (text: string): string =>
  text.replace(/^---[ \t]*\n(?:[\s\S]*?\n)?---[ \t]*(?:\n|$)/, "");

const rulePaths = async (sandbox: Sandbox): Promise<readonly string[]> => {
  const found = await orNothing(sandbox.list(rulesFolder), []);
  return found
    .filter(({ name, type }) => type === "file" && name.endsWith(".mdc"))
    .map(({ name }) => `${rulesFolder}/${name}`)
    .toSorted()
    .slice(0, mostRules);
};

/** What stands in AGENTS.md, CLAUDE.md, .cursorrules and .cursor/rules/*.mdc, joined by blank lines and cut to `characters`. Throws if the workspace cannot be read. */
export const readExternalContext = async (
  sandbox: Sandbox,
  { fileBytes, characters }: { readonly fileBytes: number; readonly characters: number },
): Promise<string> => {
  const texts: string[] = [];
  for (const path of named) texts.push(await textAt(sandbox, path, fileBytes));
  for (const path of await rulePaths(sandbox))
    texts.push(withoutFrontmatter(await textAt(sandbox, path, fileBytes)));
  const text = texts
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .join("\n\n");
  const whole = [...text].length <= characters;
  return whole || characters >= leastCharacters ? headAndTail(text, characters) : "";
};
