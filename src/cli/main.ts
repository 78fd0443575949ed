#!/usr/bin/env node
import { enableCompileCache } from "node:module";
import { resolve } from "node:path";
import { runProcess } from "./process.ts";

// Without this cache, compiling unchanged code would take a third of a command's time.
enableCompileCache();
const { run } = await import("./run.ts");

await runProcess(run, resolve(import.meta.dirname, "../.."));
