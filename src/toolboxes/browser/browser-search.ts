import * as z from "zod";
import { fieldsOf } from "../../chat/json.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import type { AttachedPage } from "./page.ts";
import { callTimeout } from "./parameters.ts";
import { findResults, readResults } from "./search-results.ts";
import { openBriefly } from "./session-page.ts";

const noSearchPage =
  "the team names no search page; set browser.search_url to one that answers servers, such as your own SearXNG: public ones ask for a captcha";

const search = async (page: AttachedPage, url: string) => {
  const { host } = new URL(url);
  await page.open(url);
  await page.settle();
  const refused = page.progress.refused;
  if (refused !== null)
    return toolError(
      "unavailable",
      `the search page at ${host} redirects to ${new URL(refused).host}; change browser.search_url`,
    );
  const { results, captcha } = fieldsOf(await page.evaluate(findResults));
  if (captcha === true)
    return toolError(
      "unavailable",
      `${host} asked for a captcha; set browser.search_url to a page that does not ask for one`,
    );
  if (page.progress.status >= 400)
    return toolError(
      "unavailable",
      `${host} answered with status ${page.progress.status}; check browser.search_url`,
    );
  return { content: JSON.stringify(readResults(results)) };
};

export const browserSearch = defineTool({
  name: "browser_search",
  description: "Searches the web and returns up to 30 results: [{title, url, snippet}].",
  params: z.strictObject({ query: z.string().trim().min(1).max(1_000).describe("What to search for.") }),
  safety: "read",
  workspace: "none",
  timeout: callTimeout,
  hosts: ["*"],
  does: ["egress"],
  // The team's file chose the address, so its host needs no rule; a rule on the act itself still applies to the
  // call.
  acts: () => [{ act: "egress", subject: "browser.search_url" }],
  run: async ({ query }, context) => {
    const { searchUrl } = context.browser;
    if (searchUrl === null) return toolError("unavailable", noSearchPage);
    const url = searchUrl.replaceAll("{query}", encodeURIComponent(query));
    return openBriefly(context, url, (page) => search(page, url));
  },
});
