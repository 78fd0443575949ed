import { countCharacters } from "../../chat/text.ts";
import { maximumBytes } from "../document/safety.ts";
import type { FolderReport, TeamFiles } from "./files-map.ts";
import { isForeign, readTextFile, scriptFile } from "./files-map.ts";

/** File of `context/`, with its length in characters. */
export interface ContextFile {
  readonly path: string;
  readonly length: number;
}

/** Project context of a team folder. */
export interface ContextText {
  /** `context/*.md` in name order, joined by blank lines. */
  readonly context_text: string;
  /** Text of `context/HEARTBEAT.md`. */
  readonly heartbeat_text: string;
}

export const readContext = (
  report: FolderReport,
  files: TeamFiles,
  maximum: number,
): ContextText & { readonly files: readonly ContextFile[] } => {
  const paths = [...files.keys()].filter((path) => /^context\/[^/]+\.md$/.test(path)).toSorted();
  const texts = paths.flatMap((path) => {
    const text = readTextFile(report, path, files.get(path) ?? "", maximumBytes);
    return text === null ? [] : [{ path, text: text.trim() }];
  });
  const context_text = texts.map(({ text }) => text).join("\n\n");
  const read = texts.map(({ path, text }) => ({ path, length: countCharacters(text) }));
  const total = countCharacters(context_text);
  const last = texts.at(-1);
  if (total > maximum && last !== undefined) {
    const sizes = read.map(({ path, length }) => `${path} ${length}`).join(", ");
    const message = `the project context has ${total} characters, at most ${maximum} are allowed: ${sizes}`;
    report.addFile("context_too_large", last.path, message, "shorten it, or raise context.max_chars");
  }
  const heartbeat = texts.find(({ path }) => path === "context/HEARTBEAT.md");
  return { context_text, heartbeat_text: heartbeat?.text ?? "", files: read };
};

const usedFiles = [
  /^team\.yaml$/,
  /^skills\/[^/]+\/.+/,
  /^context\/[^/]+\.md$/,
  scriptFile,
  /^mcp\.lock\.json$/,
  /^extensions\.ts$/,
  /^[^/]+\.test\.ts$/,
];

/** Paths that `extensions.ts` may import. */
const importable = /\.(?:[cm]?[jt]s|json)$/;

/** Returns why a file of the team folder has no use; null if it has one. */
const unusedText = (path: string, files: TeamFiles): string | null => {
  if (isForeign(path)) return `nothing reads this ${path.endsWith("/") ? "folder" : "hidden file"}`;
  const folder = /^skills\/[^/]+\//.exec(path)?.[0];
  if (folder !== undefined && !files.has(`${folder}SKILL.md`))
    return `${folder} has no SKILL.md, so this file is not used`;
  if (files.has("extensions.ts") && importable.test(path)) return null;
  return usedFiles.some((pattern) => pattern.test(path)) ? null : "nothing reads this file";
};

/** Ways to make a file that nothing reads what it seems to be meant as, by its path. */
const waysOut: readonly (readonly [RegExp, string])[] = [
  [/^skills\/([^/]+)\.md$/, "a skill is a folder: make this skills/$1/SKILL.md"],
  [/^context\/.+\/([^/]+\.md)$/, "move it to context/$1: folders in context/ are not read"],
  [/^context\/([^/]+)\.(?:txt|md|mdx|markdown)$/i, "rename it to $1.md"],
  [/^scripts\/([^/]+)\.yml$/, "rename it to $1.yaml"],
  [/^.+\/([^/]+\.test\.ts)$/, "move it beside team.yaml: $1"],
];

/** Warns about files that nothing uses. */
export const checkUnusedFiles = (report: FolderReport, files: TeamFiles): void => {
  for (const path of files.keys()) {
    const text = unusedText(path, files);
    const [pattern, way] = waysOut.find(([known]) => known.test(path)) ?? [];
    const hint = pattern === undefined || isForeign(path) ? undefined : path.replace(pattern, way ?? "");
    if (text !== null) report.addFile("unused_file", path, text, hint);
  }
};
