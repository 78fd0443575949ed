import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { clickElement } from "./elements.ts";
import { describePlace, requireArrival } from "./page-text.ts";
import { actsOnPage, callTimeout, selectorParameter } from "./parameters.ts";
import { useOpenPage } from "./session-page.ts";

export const browserClick = defineTool({
  name: "browser_click",
  description:
    "Clicks an element of the open page and returns {url, title} of the page after that; browser_extract reads it.",
  params: z.strictObject({ selector: selectorParameter("Element to click") }),
  safety: "unsafe",
  workspace: "none",
  timeout: callTimeout,
  hosts: ["*"],
  does: ["egress"],
  acts: (_, page) => actsOnPage(page),
  run: ({ selector }, context) =>
    useOpenPage(context, async (page) => {
      await clickElement(page, selector);
      await page.settle();
      await page.followWindow();
      requireArrival(page);
      return describePlace(page);
    }),
});
