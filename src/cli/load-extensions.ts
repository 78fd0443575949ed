import { existsSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { teamFolder } from "../config/build/files.ts";
import { createPlacer } from "../config/document/place.ts";
import type { ExtensionModule, ModulePlace } from "../config/extensions.ts";

/** This file loads a team's `extensions.ts`, and finds where in it an error arose. */

/** A place in any file. */
interface FilePlace {
  readonly file: string;
  readonly place: ModulePlace;
}

/** The place in the head of a syntax error's stack: `FILE:LINE`, the code, and a line of carets below the mistake. */
const placeInHead = (stack: string): FilePlace | null => {
  const [, file, line, blanks = ""] = /^(.+):(\d+)\n(?:.*\n)*?( *)\^+\n/.exec(stack) ?? [];
  if (file === undefined) return null;
  return {
    file: file.startsWith("file:") ? fileURLToPath(file) : file,
    place: { line: Number(line), column: blanks.length + 1 },
  };
};

/** The newest call in a stack that stands in the file. */
const placeOfCall = (stack: string, url: string): ModulePlace | null => {
  const from = stack.indexOf(`${url}:`);
  const [, line, column] = /^:(\d+):(\d+)/.exec(from < 0 ? "" : stack.slice(from + url.length)) ?? [];
  return line === undefined ? null : { line: Number(line), column: Number(column) };
};

/** Where a file imports another, whose path or name the text has; the importing file's text is searched for its name. */
const placeOfImport = (path: string, imported: string): ModulePlace | undefined => {
  const text = readFileSync(path, "utf8");
  const end = ['"', "'"].map((quote) => text.indexOf(`${basename(imported)}${quote}`)).find((at) => at >= 0);
  if (end === undefined) return undefined;
  const start = Math.max(text.lastIndexOf('"', end), text.lastIndexOf("'", end));
  const { line, column } = createPlacer(path, text)(start);
  return { line, column };
};

/** Says why the file at `path` could not be loaded, and where in it. */
const explainLoadError = (error: Error, path: string, root: string): ExtensionModule => {
  const { message, stack = "" } = error;
  const [why = ""] = message.split("\n");
  const head = placeInHead(stack);
  if (head?.file === path) return { error: why, place: head.place };
  if (head !== null) {
    const where = `${relative(root, head.file)}:${head.place.line}:${head.place.column}`;
    return { error: `${why} (${where})`, place: placeOfImport(path, head.file) };
  }
  const [, missing] = /^Cannot find (?:module|package) '([^']+)'/.exec(message) ?? [];
  const called =
    missing === undefined ? placeOfCall(stack, pathToFileURL(path).href) : placeOfImport(path, missing);
  return { error: why, place: called ?? undefined };
};

/** Loads `extensions.ts` if the team has one; Node strips its types. */
export const loadExtensions = async (root: string, team: string): Promise<ExtensionModule | undefined> => {
  const path = join(teamFolder(root, team), "extensions.ts");
  if (!existsSync(path)) return undefined;
  try {
    const exports = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
    return { exports: { ...exports } };
  } catch (error) {
    return error instanceof Error ? explainLoadError(error, path, root) : { error: "it throws" };
  }
};
