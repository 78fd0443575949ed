import { answerAsset } from "./assets.ts";
import type { Route } from "./route.ts";

/** Serves the web page of `/console`, whose files the build writes; they are public because they hold no secrets. */

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

/** Returns the caching of a file: the names of all files but the page contain a hash of their content. */
const cachingOf = (path: string): string =>
  path === "/console" ? "no-cache" : "public, max-age=31536000, immutable";

const consoleRoute = (path: string): Route => ({
  method: "GET",
  path,
  scope: "open",
  handle: async (context) => {
    const { pathname } = context.url;
    const found = await answerAsset(context);
    const response = new Response(found.body, found);
    response.headers.set("Content-Security-Policy", contentPolicy);
    response.headers.set("Referrer-Policy", "no-referrer");
    if (found.ok) response.headers.set("Cache-Control", cachingOf(pathname));
    return response;
  },
});

/** Leads to the page from the address that `npm start` prints, and from the page's own with a slash. */
const frontRoute = (path: string): Route => ({
  method: "GET",
  path,
  scope: "open",
  handle: () => new Response(null, { status: 302, headers: { Location: "/console" } }),
});

export const consoleRoutes: readonly Route[] = [
  frontRoute("/"),
  frontRoute("/console/"),
  consoleRoute("/console"),
  consoleRoute("/console/:file"),
];
