import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExitCode, Terminal } from "../usage.ts";
import { exitCodes } from "../usage.ts";
import { printOperations } from "./operations.ts";

/** Bundles the client into one module without dependencies. */
const writeBundle = async (root: string): Promise<void> => {
  const { build } = await import("vite");
  await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    build: {
      outDir: "dist",
      emptyOutDir: false,
      target: "es2023",
      rolldownOptions: { output: { minify: true } },
      lib: { entry: "src/client/index.ts", formats: ["es"], fileName: () => "client.js" },
    },
  });
};

/** `limpet build-client`: writes what of the client follows from the operations, then `dist/client.js`. */
export const buildClient = async ({ root, print }: Terminal): Promise<ExitCode> => {
  for (const [name, text] of Object.entries(printOperations())) {
    const file = join(root, "src/client", name);
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
  }
  await writeBundle(root);
  print("built the client into dist/client.js");
  return exitCodes.fine;
};
