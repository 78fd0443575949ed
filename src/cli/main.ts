#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { resolve } from "node:path";

// Without this cache, compiling unchanged code would take a third of a command's time.
enableCompileCache();
const { run } = await import("./run.ts");

// A reader that has seen enough ("limpet explain … | head") is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await run(process.argv.slice(2), {
  root: resolve(import.meta.dirname, "../.."),
  print: (line) => process.stdout.write(`${line}\n`),
  serving: process.env["WRANGLER_COMMAND"] === "dev",
});
