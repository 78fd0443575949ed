import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildOnce, filesIn } from "./source-mark.ts";

/**
 * Writes the console as files that the Worker serves and does not load: `console.html` and `console/` in
 * `.limpet/public`.
 */

const root = resolve(import.meta.dirname, "../../..");
const folder = join(root, ".limpet/public");

const listSources = (): readonly string[] => [
  "src/cli/build/console.ts",
  ...["src/console", "src/client"].flatMap((room) => filesIn(room, /\.(?:tsx?|css|html)$/)),
];

interface BuiltFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

/** Builds the page, its program and its style sheet. */
const buildFiles = async (): Promise<readonly BuiltFile[]> => {
  // The bundler is loaded only if there is something to build.
  const { build } = await import("vite");
  const result = await build({
    root: join(root, "src/console"),
    base: "/",
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    // Elements do not contain their places in the source, whatever NODE_ENV is in the building process.
    oxc: { jsx: { runtime: "automatic", importSource: "preact", development: false } },
    build: {
      write: false,
      target: "es2024",
      // The page preloads its program's direct imports; later modules are requested when needed, with their styles.
      modulePreload: {
        polyfill: false,
        resolveDependencies: (_, files, { hostType }) =>
          hostType === "html" ? files : files.filter((name) => name.endsWith(".css")),
      },
      assetsInlineLimit: 0,
      rolldownOptions: {
        input: join(root, "src/console/console.html"),
        output: {
          // All that the first page needs is one file: that is one request, and compresses best.
          codeSplitting: { groups: [{ name: "console", tags: ["$initial"] }] },
          entryFileNames: "console/[name]-[hash].js",
          chunkFileNames: "console/[name]-[hash].js",
          assetFileNames: "console/[name]-[hash][extname]",
        },
      },
    },
  });
  return [result].flat().flatMap((made) =>
    "output" in made
      ? made.output.map((file) => ({
          name: file.fileName,
          content: file.type === "chunk" ? file.code : file.source,
        }))
      : [],
  );
};

/** Writes the console unless it is up to date, since `wrangler dev` reloads for each file that changes. */
export const writeConsole = (): Promise<void> =>
  buildOnce("console", listSources(), async () => {
    const files = await buildFiles();
    const draft = join(root, `.limpet/.${process.pid}-console`);
    mkdirSync(join(draft, "console"), { recursive: true });
    for (const { name, content } of files) writeFileSync(join(draft, name), content);
    mkdirSync(folder, { recursive: true });
    for (const name of ["console", "console.html"]) {
      rmSync(join(folder, name), { recursive: true, force: true });
      renameSync(join(draft, name), join(folder, name));
    }
    rmSync(draft, { recursive: true });
  });
