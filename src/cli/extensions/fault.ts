import { readFileSync } from "node:fs";
import { basename, dirname, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createPlacer } from "../../config/document/place.ts";
import type { ModulePlace } from "../../config/extensions.ts";

/** Explains why a team's `extensions.ts` could not be loaded, and where in it. */

/** Reason, and its place in `extensions.ts` if that is known. */
export interface LoadFault {
  readonly error: string;
  readonly place?: ModulePlace | undefined;
}

interface FilePlace {
  readonly file: string;
  readonly place: ModulePlace;
}

/** Error of an import that a Worker could not load. */
export class RefusedImport extends Error {
  readonly file: string;
  readonly specifier: string;

  constructor(file: string, specifier: string) {
    super(`a Worker has no ${specifier}`);
    this.file = file;
    this.specifier = specifier;
  }
}

/**
 * Returns the place in the head of a syntax error's stack: `FILE:LINE`, the code, and a line of carets below the
 * mistake.
 */
const placeInHead = (stack: string): FilePlace | null => {
  const [, file, line, blanks = ""] = /^(.+):(\d+)\n(?:.*\n)*?( *)\^+\n/.exec(stack) ?? [];
  if (file === undefined) return null;
  return {
    file: file.startsWith("file:") ? fileURLToPath(file) : file,
    place: { line: Number(line), column: blanks.length + 1 },
  };
};

/** Returns whether a file, given by its address, is in a folder. */
export const isWithin = (folder: string, url: string): boolean =>
  url.startsWith(`${pathToFileURL(folder).href}/`);

/** Returns the newest call in a stack that is in a file of the folder. */
export const placeOfCall = (stack: string, folder: string): FilePlace | null => {
  const calls = stack.matchAll(/(file:\/\/\S+):(\d+):(\d+)\)?$/gm);
  const [, url, line, column] = calls.find(([, file = ""]) => isWithin(folder, file)) ?? [];
  return url === undefined
    ? null
    : { file: fileURLToPath(url), place: { line: Number(line), column: Number(column) } };
};

/**
 * Returns the place at which a file imports another; searches its text for a literal that ends with the other's
 * name.
 */
const placeOfImport = (path: string, imported: string): ModulePlace | undefined => {
  const text = readFileSync(path, "utf8");
  const end = ['"', "'"].map((quote) => text.indexOf(`${basename(imported)}${quote}`)).find((at) => at >= 0);
  if (end === undefined) return undefined;
  const start = Math.max(text.lastIndexOf('"', end), text.lastIndexOf("'", end));
  const { line, column } = createPlacer(path, text)(start);
  return { line, column };
};

const placeOfRefusal = ({ file, specifier }: RefusedImport): FilePlace => {
  const text = readFileSync(file, "utf8");
  const start = ['"', "'"].map((quote) => text.indexOf(`${quote}${specifier}${quote}`)).find((at) => at >= 0);
  const { line, column } = createPlacer(file, text)(start ?? 0);
  return { file, place: { line, column } };
};

/**
 * Returns why the file at `path` could not be loaded, and where in it; the place in another file is part of the
 * sentence.
 */
export const explainFault = (error: Error, path: string, root: string): LoadFault => {
  const { message, stack = "" } = error;
  const [why = ""] = message.split("\n");
  const [, missing] = /^Cannot find (?:module|package) '([^']+)'/.exec(message) ?? [];
  const found =
    error instanceof RefusedImport
      ? placeOfRefusal(error)
      : (placeInHead(stack) ?? placeOfCall(stack, dirname(path)));
  if (found === null)
    return { error: why, place: missing === undefined ? undefined : placeOfImport(path, missing) };
  if (found.file === path) return { error: why, place: found.place };
  const where = `${relative(root, found.file)}:${found.place.line}:${found.place.column}`;
  return { error: `${why} (${where})`, place: placeOfImport(path, found.file) };
};
