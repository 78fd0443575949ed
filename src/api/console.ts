import { page } from "../console/page.ts";
import { script } from "../console/script.ts";
import { style } from "../console/style.ts";
import type { Route } from "./route.ts";

/** This file serves the web page of `/console`, which is static and open because it holds no secrets. */

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const staticRoute = (path: string, type: string, text: string): Route => ({
  method: "GET",
  path,
  scope: "open",
  handle: () =>
    new Response(text, {
      headers: {
        "Content-Type": `${type}; charset=utf-8`,
        "Content-Security-Policy": contentPolicy,
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
      },
    }),
});

/** Serves the page at the address that `npm start` prints. */
const frontRoute: Route = {
  method: "GET",
  path: "/",
  scope: "open",
  handle: () => new Response(null, { status: 302, headers: { Location: "/console" } }),
};

export const consoleRoutes: readonly Route[] = [
  frontRoute,
  staticRoute("/console", "text/html", page),
  staticRoute("/console/console.js", "text/javascript", script),
  staticRoute("/console/console.css", "text/css", style),
];
