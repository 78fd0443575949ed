import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { teamFolder } from "../../config/build/files.ts";
import { createPlacer } from "../../config/document/place.ts";
import type { ExtensionModule, ModulePlace } from "../../config/extensions.ts";

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

/** The newest call in a stack that stands in a file of the folder. */
const placeOfCall = (stack: string, folder: string): FilePlace | null => {
  const calls = stack.matchAll(/(file:\/\/[^\s()]+):(\d+):(\d+)/g);
  const [, url, line, column] = calls.find(([, file = ""]) => isWithin(folder, file)) ?? [];
  return url === undefined
    ? null
    : { file: fileURLToPath(url), place: { line: Number(line), column: Number(column) } };
};

const isWithin = (folder: string, url: string): boolean => url.startsWith(`${pathToFileURL(folder).href}/`);

/** Where a file imports another; its text is searched for the other's name. */
const placeOfImport = (path: string, imported: string): ModulePlace | undefined => {
  const text = readFileSync(path, "utf8");
  const end = ['"', "'"].map((quote) => text.indexOf(`${basename(imported)}${quote}`)).find((at) => at >= 0);
  if (end === undefined) return undefined;
  const start = Math.max(text.lastIndexOf('"', end), text.lastIndexOf("'", end));
  const { line, column } = createPlacer(path, text)(start);
  return { line, column };
};

/** Says why the file at `path` could not be loaded, and where in it; another file's place stands in the sentence. */
const explainLoadError = (error: Error, path: string, root: string): ExtensionModule => {
  const { message, stack = "" } = error;
  const [why = ""] = message.split("\n");
  const [, missing] = /^Cannot find (?:module|package) '([^']+)'/.exec(message) ?? [];
  const found = placeInHead(stack) ?? placeOfCall(stack, dirname(path));
  if (found === null)
    return { error: why, place: missing === undefined ? undefined : placeOfImport(path, missing) };
  if (found.file === path) return { error: why, place: found.place };
  const where = `${relative(root, found.file)}:${found.place.line}:${found.place.column}`;
  return { error: `${why} (${where})`, place: placeOfImport(path, found.file) };
};

/** What a Worker may not use while its modules are loaded, only when it is called: time, network and chance. */
const forbidden = [
  [globalThis, "fetch"],
  [globalThis, "setTimeout"],
  [globalThis, "setInterval"],
  [crypto, "randomUUID"],
  [crypto, "getRandomValues"],
] as const;

/** Loads a module; its folder's own code is refused what a Worker refuses it, which would not start with it. */
const importAsWorker = async (path: string): Promise<Record<string, unknown>> => {
  const folder = dirname(path);
  const restore = forbidden.map(([owner, name]) => {
    const original: unknown = Reflect.get(owner, name);
    const refuse = function (this: unknown, ...given: readonly unknown[]): unknown {
      if (placeOfCall(new Error().stack ?? "", folder) !== null)
        throw new Error(`a Worker has no ${name} while its modules are loaded; use it in a function`);
      return typeof original === "function" ? Reflect.apply(original, this, given) : undefined;
    };
    Reflect.set(owner, name, refuse);
    return () => Reflect.set(owner, name, original);
  });
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } finally {
    for (const each of restore) each();
  }
};

/** Loads `extensions.ts` if the team has one; Node strips its types. */
export const loadExtensions = async (root: string, team: string): Promise<ExtensionModule | undefined> => {
  const path = join(teamFolder(root, team), "extensions.ts");
  if (!existsSync(path)) return undefined;
  try {
    return { exports: { ...(await importAsWorker(path)) } };
  } catch (error) {
    return error instanceof Error ? explainLoadError(error, path, root) : { error: "it throws" };
  }
};
