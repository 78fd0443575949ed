import { asksScript } from "./asks.ts";
import { connectionScript } from "./connection.ts";
import { viewScript } from "./view.ts";

/** Defines the page's program: its connection and what it shows. */
export const script = `"use strict";\n${connectionScript}\n${asksScript}\n${viewScript}`;
