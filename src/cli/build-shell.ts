import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExitCode, Terminal } from "./usage.ts";
import { exitCodes } from "./usage.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".limpet");
const target = join(folder, "shell.js");

/** The code of just-bash and of the packages that it imports, in one piece; the platform's modules stay outside. */
const bundleShell = async (): Promise<string> => {
  // The bundler and the parser are loaded only where there is something to build.
  const { build } = await import("vite");
  const { instrument, instrumentShell } = await import("./instrument.ts");
  const shell = fileURLToPath(import.meta.resolve("just-bash/browser"));
  const transform = (code: string, id: string): string | null =>
    id.startsWith("\0") ? null : id === realpathSync(shell) ? instrumentShell(code) : instrument(code);
  const result = await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    plugins: [{ name: "meter", transform }],
    build: {
      write: false,
      minify: false,
      target: "esnext",
      rolldownOptions: {
        input: shell,
        external: /^node:/,
        preserveEntrySignatures: "strict",
        output: { codeSplitting: false },
      },
    },
  });
  const [chunk, ...more] = [result].flat().flatMap((made) => ("output" in made ? made.output : []));
  if (chunk?.type !== "chunk" || more.length > 0)
    throw new Error("the shell and its packages do not fit into one file");
  return chunk.code;
};

/**
 * Writes `.limpet/shell.js`: the embedded shell of just-bash with a meter in it, which the sandbox Worker imports as
 * `#shell`. `limpet build` and the build step of that Worker call it; nothing is written if nothing has changed.
 */
export const writeShell = async (): Promise<void> => {
  const maker = ["build-shell.ts", "instrument.ts", "natives.ts", "syntax.ts"].map((file) =>
    join(import.meta.dirname, file),
  );
  const hash = createHash("sha256");
  for (const file of [join(root, "package-lock.json"), ...maker]) hash.update(readFileSync(file));
  const mark = `// ${hash.digest("hex")}\n`;
  if (existsSync(target) && readFileSync(target, "utf8").startsWith(mark)) return;
  const meter = JSON.stringify(relative(folder, join(root, "src/sandbox/worker/meter.ts")));
  const shell = `import { meter as $meter } from ${meter};\n${await bundleShell()}`;
  const draft = join(folder, `.shell-${process.pid}.js`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(draft, mark + shell);
  renameSync(draft, target);
};

/** `limpet build-shell`. */
export const buildShell = async ({ print }: Terminal): Promise<ExitCode> => {
  await writeShell();
  print("built the shell into .limpet/shell.js");
  return exitCodes.fine;
};
