import type { Team } from "../config/team.ts";
import type { BrowserReach } from "../tools/egress/browser-page.ts";
import { closeBrowser } from "../toolboxes/browser/browsers.ts";
import { isFetcher } from "./sandboxes.ts";
import type { Bindings } from "./secrets/secrets.ts";

/** Finds the browsers of the platform that a deployment binds. */

const missingBrowser =
  'this deployment has no BROWSER binding; add browser = { binding = "BROWSER" } to its environment in wrangler.toml';

/** Lists the toolboxes that need a browser, with the reason why they cannot be served. */
export const unavailableWithoutBrowser = (env: Bindings): readonly (readonly [string, string])[] =>
  isFetcher(env["BROWSER"]) ? [] : [["browser", missingBrowser]];

/** Base URL of the browsers, whose binding ignores the host. */
const host = "https://browser";

/** Returns the access to the browsers of a deployment. */
export const browserReachOf = (team: Pick<Team, "browser">, env: Bindings): BrowserReach => {
  const binding = env["BROWSER"];
  return {
    request: (path, init) =>
      isFetcher(binding)
        ? binding.fetch(new Request(`${host}${path}`, init))
        : Promise.reject(new Error(missingBrowser)),
    searchUrl: team.browser.search_url ?? null,
  };
};

/** Closes a browser that a session opened. */
export const browserCloserOf = (reach: BrowserReach) => (id: string) => closeBrowser(reach, id);
