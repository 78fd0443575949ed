import { readFileSync } from "node:fs";

/** Which module of a bundle a place in it belongs to: the bundler writes a comment with its path above each module. */

interface Module {
  readonly path: string;
  readonly line: number;
  readonly offset: number;
}

/** `src/agent/loop/next.ts`, `node_modules/zod/v4/core/parse.js`: a path from the project's root. */
const rootedPath = (path: string): string =>
  /node_modules\/(?!.*node_modules\/).*$/.exec(path)?.[0] ??
  /\b(?:src|durable-objects|test)\/.*$/.exec(path)?.[0] ??
  path;

const modulesOf = (text: string): readonly Module[] => {
  const modules: Module[] = [];
  let offset = 0;
  for (const [line, content] of text.split("\n").entries()) {
    const path = /^\s*\/\/ (\S+\.[cm]?[jt]s)$/.exec(content)?.[1];
    if (path !== undefined) modules.push({ path: rootedPath(path), line, offset });
    offset += content.length + 1;
  }
  return modules;
};

const last = (modules: readonly Module[], isBefore: (module: Module) => boolean): string =>
  modules.findLast(isBefore)?.path ?? "bundler";

export interface Modules {
  /** Path of the module at a line, counted from 0. */
  readonly atLine: (line: number) => string;
  /** Path of the module at a character, counted from 0. */
  readonly atOffset: (offset: number) => string;
}

/** Reads a bundle that was not minified. */
export const readModules = (bundle: string): Modules => {
  const modules = modulesOf(readFileSync(bundle, "utf8"));
  return {
    atLine: (line) => last(modules, (module) => module.line <= line),
    atOffset: (offset) => last(modules, (module) => module.offset <= offset),
  };
};

/** `src/agent/loop`, `src/chat`, `durable-objects/rows`, `node_modules/zod`, `test/bench`. */
export const roomOf = (path: string): string => {
  const parts = path.split("/");
  if (parts[0] === "node_modules")
    return parts.slice(0, parts[1]?.startsWith("@") === true ? 3 : 2).join("/");
  return parts.slice(0, Math.min(parts.length - 1, 3)).join("/") || path;
};
