#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { resolve } from "node:path";
import { runProcess } from "./process.ts";

/** Runs the commands of a clone. It is executable, since the links that npx creates to a clone may lead here. */

// Without this cache, compiling unchanged code would take a third of a command's time.
enableCompileCache();
const { run } = await import("./run.ts");

await runProcess(run, resolve(import.meta.dirname, "../.."));
