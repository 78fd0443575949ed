import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { addressSubject } from "../../tools/egress/url.ts";
import { pageLimit, readPage, requireArrival } from "./page-text.ts";
import { callTimeout } from "./parameters.ts";
import { openPage } from "./session-page.ts";

export const browserNavigate = defineTool({
  name: "browser_navigate",
  description:
    "Opens an address in the session's browser and returns {url, title, text, links}: what a person would read there, up to 100 KB. Use it for pages that need a browser; http_fetch is faster.",
  params: z.strictObject({
    url: z
      .string()
      .max(8_192)
      .refine(
        (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""),
        "write an absolute address, which begins with https://",
      )
      .describe("Absolute address."),
  }),
  safety: "read",
  workspace: "none",
  timeout: callTimeout,
  limit: pageLimit,
  hosts: ["*"],
  does: ["egress"],
  acts: ({ url }) => [{ act: "egress", subject: addressSubject(url) }],
  run: ({ url }, context) =>
    openPage(
      context,
      url,
      (other) => ({ url: other }),
      async (page) => {
        await page.open(url);
        await page.settle();
        requireArrival(page);
        return readPage(page);
      },
    ),
});
