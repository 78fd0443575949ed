import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Diagnostic } from "../../config/document/diagnostics.ts";
import { teamFolder } from "../../config/build/files.ts";

/** This file says what the types forbid in a team's extensions, which Node strips of them before they are loaded. */

/** A name that nothing uses is no mistake while its file is written. */
const milder = { noUnusedLocals: false, noUnusedParameters: false };

/** Returns the project's compiler options as arguments: of the whole project, the compiler would check every file. */
const readOptions = (file: string): readonly string[] => {
  const { compilerOptions } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly compilerOptions: Readonly<Record<string, unknown>>;
  };
  return Object.entries({ ...compilerOptions, ...milder }).flatMap(([name, value]) => [
    `--${name}`,
    [value].flat().join(","),
  ]);
};

/** Runs the compiler; returns what it printed. */
const runCompiler = async (root: string, args: readonly string[]): Promise<string> => {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const child = spawn(process.execPath, [compiler, "--ignoreConfig", "--pretty", "false", ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await once(child, "close");
  return output;
};

/** Reads `FILE(LINE,COLUMN): error CODE: MESSAGE`, below which indented lines lead to what is wrong in particular. */
const toDiagnostic = (entry: string): readonly Diagnostic[] => {
  const [, file, line, column, message, more = ""] =
    /^(config\/.+?)\((\d+),(\d+)\): error TS\d+: (.+)((?:\n +.+)*)/.exec(entry) ?? [];
  if (file === undefined || message === undefined) return [];
  const hint = more.trim().split("\n").at(-1)?.trim() ?? "";
  const place = { file, line: Number(line), column: Number(column) };
  const about = { severity: "error", code: "extension_invalid", path: "", message } as const;
  return [{ ...place, ...about, ...(hint === "" ? {} : { hint }) }];
};

/** Checks the types of a team's `extensions.ts` and of what it imports below `config/`; a place without types has none. */
export const checkTypes = async (root: string, team: string): Promise<readonly Diagnostic[]> => {
  const file = join(teamFolder(root, team), "extensions.ts");
  const settings = join(root, "tsconfig.json");
  if (!existsSync(file) || !existsSync(settings)) return [];
  const output = await runCompiler(root, [...readOptions(settings), file]);
  return output.split(/\n(?! )/).flatMap(toDiagnostic);
};
