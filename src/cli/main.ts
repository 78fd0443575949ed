#!/usr/bin/env node
import { resolve } from "node:path";
import { run } from "./run.ts";

process.exitCode = await run(process.argv.slice(2), {
  root: resolve(import.meta.dirname, "../.."),
  print: (line) => process.stdout.write(`${line}\n`),
});
