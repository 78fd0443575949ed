#!/usr/bin/env node
import { existsSync } from "node:fs";

/** This file is `npx limpet`: a clone runs its source, a package, which has none, what `limpet build-client` bundled. */

const source = new URL("main.ts", import.meta.url);
await import(existsSync(source) ? source.href : new URL("../../dist/limpet.js", import.meta.url).href);
