import { asksScript } from "./asks.ts";
import { connectionScript } from "./connection.ts";
import { viewScript } from "./view.ts";

/** The page's program: how it stays connected, and what it shows. */
export const script = `"use strict";\n${connectionScript}\n${asksScript}\n${viewScript}`;
