import * as z from "zod";
import { defineTool } from "../../tools/define-tool.ts";
import { pressEnter, typeInto } from "./elements.ts";
import { describePlace, requireArrival } from "./page-text.ts";
import { actsOnPage, callTimeout, selectorParameter } from "./parameters.ts";
import { useOpenPage } from "./session-page.ts";

export const browserType = defineTool({
  name: "browser_type",
  description:
    "Replaces the text of a field of the open page, or chooses an option of a list. Returns {url, title}.",
  params: z.strictObject({
    selector: selectorParameter("Field"),
    text: z.string().max(20_000).describe("Text to type, or the option's label or value."),
    submit: z.boolean().default(false).describe("True presses Enter afterwards."),
  }),
  safety: "unsafe",
  workspace: "none",
  timeout: callTimeout,
  hosts: ["*"],
  does: ["egress"],
  acts: (_, page) => actsOnPage(page),
  run: ({ selector, text, submit }, context) =>
    useOpenPage(context, async (page) => {
      await typeInto(page, selector, text);
      if (submit) await pressEnter(page);
      await page.settle();
      requireArrival(page);
      return describePlace(page);
    }),
});
