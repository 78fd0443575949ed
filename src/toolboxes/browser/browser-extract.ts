import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { pageLimit, readPage } from "./page-text.ts";
import { actsOnPage, callTimeout, optionalSelector } from "./parameters.ts";
import { useOpenPage } from "./session-page.ts";

export const browserExtract = defineTool({
  name: "browser_extract",
  description: "Returns {url, title, text, links} of the open page as it is now, or of parts of it.",
  params: z.strictObject({ selector: optionalSelector("Only elements that match") }),
  safety: "read",
  workspace: "none",
  timeout: callTimeout,
  limit: pageLimit,
  hosts: ["*"],
  does: ["egress"],
  acts: (_, page) => actsOnPage(page),
  run: ({ selector }, context) => useOpenPage(context, (page) => readPage(page, selector)),
});
