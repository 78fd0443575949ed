import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".limpet");
const target = join(folder, "shell.js");

/**
 * Writes `.limpet/shell.js`: the embedded shell of just-bash with a meter in it, which the sandbox Worker imports as
 * `#shell`. `limpet build` and the build step of that Worker call it; it writes nothing if nothing has changed.
 */
export const writeShell = async (): Promise<void> => {
  const code = readFileSync(fileURLToPath(import.meta.resolve("just-bash/browser")), "utf8");
  const maker = ["instrument.ts", "syntax.ts"].map((file) =>
    readFileSync(join(import.meta.dirname, file), "utf8"),
  );
  const mark = `// ${createHash("sha256").update(code).update(maker.join("")).digest("hex")}\n`;
  if (existsSync(target) && readFileSync(target, "utf8").startsWith(mark)) return;
  // The parser is loaded only when there is something to parse.
  const { instrument } = await import("./instrument.ts");
  const shell = instrument(code, relative(folder, join(root, "src/sandbox/worker/meter.ts")));
  const draft = join(folder, `.shell-${process.pid}.js`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(draft, mark + shell);
  renameSync(draft, target);
};

/** Runs `limpet build-shell`. */
export const buildShell = async ({ print }: Terminal): Promise<ExitCode> => {
  await writeShell();
  print("built the shell into .limpet/shell.js");
  return exitCodes.fine;
};
