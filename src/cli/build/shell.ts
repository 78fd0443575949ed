import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExitCode, Terminal } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import { commonImports, mendImports } from "./mends.ts";

const root = resolve(import.meta.dirname, "../../..");
const folder = join(root, ".limpet");

/** Modules that the sandbox Worker imports as `#shell` and `#git`, with the meter inserted. */
const pieces = [
  { file: "shell.js", package: "just-bash/browser", isShell: true },
  { file: "git.js", package: "just-git", isShell: false },
] as const;
type Piece = (typeof pieces)[number];

/** Bundles a package and its imports into one module; the platform's modules stay outside. */
const bundle = async (piece: Piece): Promise<string> => {
  // The bundler and the parser are loaded only if there is something to build.
  const { build } = await import("vite");
  const { instrument, instrumentGit, instrumentShell } = await import("./instrument.ts");
  const input = fileURLToPath(import.meta.resolve(piece.package));
  const transform = (code: string, id: string): string | null => {
    if (id.startsWith("\0")) return null;
    if (id !== realpathSync(input)) return instrument(code);
    return piece.isShell ? instrumentShell(code) : instrumentGit(code);
  };
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
        input,
        external: /^node:/,
        checks: { pluginTimings: false },
        preserveEntrySignatures: "strict",
        output: { codeSplitting: false },
      },
    },
  });
  const [chunk, ...more] = [result].flat().flatMap((made) => ("output" in made ? made.output : []));
  if (chunk?.type !== "chunk" || more.length > 0)
    throw new Error(`${piece.package} and its packages do not fit into one file`);
  return chunk.code;
};

/** What the code takes from the sandbox's Worker: name, and file with what it exports. */
const importsOf = ({ isShell }: Piece): string =>
  Object.entries({ ...commonImports, ...(isShell ? mendImports : {}) })
    .map(([name, place]) => {
      const [file = "", exported = ""] = place.split("#");
      const from = JSON.stringify(relative(folder, join(root, file)));
      return `import { ${exported} as ${name} } from ${from};\n`;
    })
    .join("");

const writePiece = async (piece: Piece, mark: string): Promise<void> => {
  const target = join(folder, piece.file);
  if (existsSync(target) && readFileSync(target, "utf8").startsWith(mark)) return;
  const code = importsOf(piece) + (await bundle(piece));
  const draft = join(folder, `.${process.pid}-${piece.file}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(draft, mark + code);
  renameSync(draft, target);
};

/**
 * Writes `.limpet/shell.js` and `.limpet/git.js`: the embedded shell of just-bash and the git of just-git with a meter
 * in them. `limpet build` and the build step of the sandbox Worker call it; nothing is written if nothing has changed.
 */
export const writeShell = async (): Promise<void> => {
  const maker = [
    "shell.ts",
    "instrument.ts",
    "mends.ts",
    "mend-places.ts",
    "arithmetic-mends.ts",
    "text-mends.ts",
    "natives.ts",
    "../syntax.ts",
  ].map((file) => join(import.meta.dirname, file));
  const hash = createHash("sha256");
  for (const file of [join(root, "package-lock.json"), ...maker]) hash.update(readFileSync(file));
  const mark = `// ${hash.digest("hex")}\n`;
  for (const piece of pieces) await writePiece(piece, mark);
};

/** Runs `limpet build-shell`. */
export const buildShell = async ({ print }: Terminal): Promise<ExitCode> => {
  await writeShell();
  print("built the shell into .limpet/shell.js and its git into .limpet/git.js");
  return exitCodes.fine;
};
