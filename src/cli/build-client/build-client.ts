import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { InlineConfig } from "vite";
import type { ExitCode, Terminal } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import { printOperations } from "./operations.ts";

/** Bundles a module into the package's `dist`, without the machine's own settings. */
const bundle = async (root: string, { build: own, ...rest }: InlineConfig): Promise<void> => {
  const { build } = await import("vite");
  const shared = { root, configFile: false, envDir: false, publicDir: false, logLevel: "warn" } as const;
  await build({ ...shared, ...rest, build: { outDir: "dist", emptyOutDir: false, ...own } });
};

/** Bundles the client into one module without dependencies: small for pages, readable in the errors that Node prints. */
const writeBundle = (root: string, name: "client.js" | "client.node.js"): Promise<void> =>
  bundle(root, {
    build: {
      target: "es2023",
      minify: false,
      rolldownOptions: { output: { minify: name === "client.js", comments: false } },
      lib: { entry: "src/client/index.ts", formats: ["es"], fileName: () => name },
    },
  });

/** Bundles the commands for servers, for a package that contains no source. */
const writeCommands = (root: string): Promise<void> =>
  bundle(root, {
    ssr: { noExternal: true },
    build: {
      ssr: "src/cli/packed.ts",
      target: "node20",
      rolldownOptions: { output: { codeSplitting: false, entryFileNames: "limpet.js" } },
    },
  });

/** Lets the compiler write the declarations of the client, and joins them into one file. */
const writeDeclarations = async (root: string): Promise<void> => {
  const { joinDeclarations } = await import("./declarations.ts");
  mkdirSync(join(root, ".limpet"), { recursive: true });
  const folder = mkdtempSync(join(root, ".limpet/declarations-"));
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: "out",
    rootDir: root,
  };
  const project = {
    extends: join(root, "tsconfig.json"),
    include: [join(root, "src/client/index.ts")],
    compilerOptions,
  };
  try {
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
    const compiler = join(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))), "bin/tsc");
    execFileSync(process.execPath, [compiler, "-p", folder], { stdio: ["ignore", "inherit", "inherit"] });
    writeFileSync(
      join(root, "dist/client.d.ts"),
      joinDeclarations(join(folder, "out/src/client/index.d.ts")),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/**
 * Runs `limpet build-client`: writes the files of the client that follow from the operations, then the client
 * with its types, and `dist/limpet.js`.
 */
export const buildClient = async ({ root, print }: Terminal): Promise<ExitCode> => {
  for (const [name, text] of Object.entries(printOperations())) {
    const file = join(root, "src/client/operations", name);
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
  }
  await writeBundle(root, "client.js");
  await writeBundle(root, "client.node.js");
  await writeCommands(root);
  await writeDeclarations(root);
  print("built the client into dist/client.js and dist/client.d.ts");
  return exitCodes.fine;
};
