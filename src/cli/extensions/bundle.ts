import { dirname, join, relative, resolve, sep } from "node:path";
import type { Diagnostic, SourcePlace } from "../../config/document/diagnostics.ts";
import { teamFolder } from "../../config/build/files.ts";
import type { ModulePlace } from "../../config/extensions.ts";

/**
 * Writes a team's extensions as one module beside the compiled team, so that what is served changes only when a
 * build succeeds. It holds the modules and data of the team's folder; packages and the product's own modules are
 * imported, because a second copy of them would be other classes.
 */

type BundledExtensions =
  | { readonly files: ReadonlyMap<string, string> }
  | { readonly diagnostics: readonly Diagnostic[] };

/** Returns the import path of a file for a module in `folder`. */
const importPath = (folder: string, path: string): string => {
  const way = relative(folder, path).split(sep).join("/");
  return way.startsWith(".") ? way : `./${way}`;
};

/** Keeps every import external that leads out of the team's folder. */
const keepOutside = (folder: string, out: string) => ({
  name: "outside",
  enforce: "pre" as const,
  resolveId: (source: string, importer: string | undefined) => {
    if (importer === undefined) return null;
    if (!/^[./]/.test(source)) return { id: source, external: true };
    const path = resolve(dirname(importer), source);
    return path.startsWith(`${folder}${sep}`) ? null : { id: importPath(out, path), external: true };
  },
});

/** Mistake as the bundler reports it. */
interface BundlerError {
  readonly message: string;
  readonly loc?: ModulePlace & { readonly file?: string };
}

const isBundlerError = (value: unknown): value is BundlerError =>
  typeof value === "object" && value !== null && "message" in value && typeof value.message === "string";

/** Returns the sentence of a bundler's message, which precedes its excerpt of the code. */
const sentenceOf = ({ message }: BundlerError): string =>
  message
    .replace(/^(\[[\w-]+\] )+/, "")
    .split("\n")[0]
    ?.trim() ?? "";

const toDiagnostic = (error: BundlerError, root: string, entry: string): Diagnostic => {
  const { file = entry, line = 1, column = 0 } = error.loc ?? {};
  const place: SourcePlace = { file: relative(root, file), line, column: column + 1 };
  const message = `the file could not be bundled: ${sentenceOf(error)}`;
  return { ...place, severity: "error", code: "extension_invalid", path: "", message };
};

/** Bundles the extensions of a team for the folder `out`, which will hold them. */
export const bundleExtensions = async (
  root: string,
  team: string,
  out: string,
): Promise<BundledExtensions> => {
  // The bundler is loaded only if there is something to bundle.
  const { build } = await import("vite");
  const folder = teamFolder(root, team);
  const input = join(folder, "extensions.ts");
  try {
    const result = await build({
      root,
      configFile: false,
      envDir: false,
      publicDir: false,
      logLevel: "silent",
      plugins: [keepOutside(folder, out)],
      ssr: { target: "webworker" },
      build: {
        ssr: true,
        write: false,
        minify: false,
        target: "esnext",
        // A stack trace names the team's own files and lines.
        sourcemap: true,
        outDir: out,
        rolldownOptions: {
          input,
          preserveEntrySignatures: "strict",
          output: { codeSplitting: false, entryFileNames: "extensions.js" },
        },
      },
    });
    const files = [result].flat().flatMap((made) => ("output" in made ? made.output : []));
    return {
      files: new Map(
        files.map((file) => [file.fileName, file.type === "chunk" ? file.code : String(file.source)]),
      ),
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const listed = "errors" in error && Array.isArray(error.errors) ? error.errors : [error];
    return { diagnostics: listed.filter(isBundlerError).map((each) => toDiagnostic(each, root, input)) };
  }
};
