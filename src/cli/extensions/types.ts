import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Diagnostic } from "../../config/document/diagnostics.ts";
import { teamFolder } from "../../config/build/files.ts";

/** Checks the types of a team's extensions, which Node strips before they are loaded. */

/** Compiler options: no files are emitted. */
const options = {
  noEmit: true,
  composite: false,
  incremental: false,
};

/** Returns the project's settings for one team's extensions, for a folder in `.limpet/`. */
const settingsFor = (team: string): string =>
  JSON.stringify({
    extends: "../../tsconfig.json",
    compilerOptions: options,
    files: [`../../config/${team}/extensions.ts`],
    include: [],
  });

interface CompilerOutput {
  readonly isFine: boolean;
  readonly output: string;
}

/** Runs the compiler with the settings in a folder of `.limpet/`; places are relative to the root. */
const runCompiler = async (root: string, folder: string): Promise<CompilerOutput> => {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const child = spawn(process.execPath, [compiler, "-p", `.limpet/${folder}`, "--pretty", "false"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { isFine: code === 0, output };
};

/** Compiles a team's extensions with separate settings, in a folder that neither git nor a watcher sees. */
const compileExtensions = async (root: string, team: string): Promise<CompilerOutput> => {
  const builds = join(root, ".limpet");
  mkdirSync(builds, { recursive: true });
  const folder = mkdtempSync(join(builds, ".types-"));
  try {
    writeFileSync(join(folder, "tsconfig.json"), settingsFor(team));
    return await runCompiler(root, basename(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const about = { severity: "error", code: "extension_invalid", path: "" } as const;

/** The compiler's numbers for names that are never used, which only a check of the whole project refuses. */
const unusedNumbers: ReadonlySet<string> = new Set(["6133", "6138", "6192", "6196", "6198", "6199", "6205"]);

/** Explains in a sentence what a tool returns wrongly; the compiler explains how two functions differ. */
const resultProblem = (reasons: readonly string[]): string | null => {
  const found = reasons
    .map((line) => /^Type '(.+)' is not assignable to type '.*\bToolOutput\b.*'\.$/.exec(line)?.[1])
    .findLast((type) => type !== undefined);
  return found === undefined ? null : `run has to return { content: "…" }, and returns ${found}`;
};

/** Reads `FILE(LINE,COLUMN): error CODE: MESSAGE`, below which indented lines lead to the specific mistake. */
const toDiagnostic = (entry: string): readonly Diagnostic[] => {
  const [, file, line, column, number = "", message, more = ""] =
    /^(config\/.+?)\((\d+),(\d+)\): error TS(\d+): (.+)((?:\n +.+)*)/.exec(entry) ?? [];
  if (file === undefined || message === undefined) return [];
  const reasons = more.split(/\n +/).filter((reason) => reason !== "");
  const result = resultProblem(reasons);
  const hint = reasons.at(-1);
  // The returned type is already in the sentence, unless one of its values is wrong.
  const isTold = hint === undefined || (result !== null && hint.includes("ToolOutput"));
  const place = { file, line: Number(line), column: Number(column) };
  const severity = unusedNumbers.has(number) ? "warning" : about.severity;
  return [{ ...place, ...about, severity, message: result ?? message, ...(isTold ? {} : { hint }) }];
};

/** Reports that the compiler failed for another reason than a mistake in the team's own files. */
const failureOf = (team: string, output: string): Diagnostic => ({
  ...about,
  file: `config/${team}/extensions.ts`,
  line: 1,
  column: 1,
  message: "its types could not be checked; the compiler says:",
  hint: output.trim().replaceAll("\n", "\n  "),
});

/**
 * Checks the types of a team's `extensions.ts` and of its imports below `config/`; without installed types, reports
 * nothing.
 */
export const checkTypes = async (root: string, team: string): Promise<readonly Diagnostic[]> => {
  const file = join(teamFolder(root, team), "extensions.ts");
  if (!existsSync(file) || !existsSync(join(root, "tsconfig.json"))) return [];
  const { isFine, output } = await compileExtensions(root, team);
  if (isFine) return [];
  const found = output.split(/\n(?! )/).flatMap(toDiagnostic);
  return found.length > 0 ? found : [failureOf(team, output)];
};
