import * as z from "zod";
import { fieldsOf } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import { fromBase64 } from "../../sandbox/base64.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { textIn } from "./devtools.ts";
import { locateElement } from "./elements.ts";
import { BrowserFailure } from "./failure.ts";
import type { AttachedPage } from "./page.ts";
import { actsOnPage, callTimeout, optionalSelector } from "./parameters.ts";
import { useOpenPage } from "./session-page.ts";

/** Most bytes of a picture, since providers accept images of up to 5 MiB in base64. */
const mostBytes = 3_932_160;

/** Longest side in pixels, since models refuse larger images. */
const longestSide = 8_000;

const fullPage = async (page: AttachedPage): Promise<JsonObject> => {
  const { cssContentSize } = await page.send("Page.getLayoutMetrics");
  const { width, height } = fieldsOf(cssContentSize);
  return {
    x: 0,
    y: 0,
    width: Math.min(longestSide, Number(width)),
    height: Math.min(longestSide, Number(height)),
    scale: 1,
  };
};

const clipOf = async (
  page: AttachedPage,
  selector: string | undefined,
  full: boolean,
): Promise<JsonObject | null> => {
  if (selector === undefined) return full ? fullPage(page) : null;
  const { x, y, width, height } = await locateElement(page, selector);
  const { pageX, pageY } = fieldsOf((await page.send("Page.getLayoutMetrics"))["cssVisualViewport"]);
  return {
    x: x + Number(pageX),
    y: y + Number(pageY),
    width: Math.min(longestSide, width),
    height: Math.min(longestSide, height),
    scale: 1,
  };
};

/** Formats in the order in which they are tried: sharp ones first, then small ones. */
const formats = [
  { media_type: "image/png", params: { format: "png" } },
  { media_type: "image/jpeg", params: { format: "jpeg", quality: 70 } },
  { media_type: "image/jpeg", params: { format: "jpeg", quality: 30 } },
] as const;

const capture = async (page: AttachedPage, clip: JsonObject | null) => {
  for (const { media_type, params } of formats) {
    const shot = await page.send("Page.captureScreenshot", {
      ...params,
      ...(clip === null ? {} : { clip, captureBeyondViewport: true }),
    });
    const bytes = fromBase64(textIn(shot, "data"));
    if (bytes.length <= mostBytes) return { media_type, bytes };
  }
  throw new BrowserFailure("too_large", "the picture is larger than 3.75 MiB; name a selector");
};

export const browserScreenshot = defineTool({
  name: "browser_screenshot",
  description: "Shows a picture of the open page: of the visible part, of one element, or of the whole page.",
  params: z.strictObject({
    selector: optionalSelector("Only this element"),
    full_page: z.boolean().default(false).describe("True shows the whole page, up to 8000 pixels."),
  }),
  safety: "read",
  workspace: "none",
  timeout: callTimeout,
  hosts: ["*"],
  does: ["egress"],
  acts: (_, page) => actsOnPage(page),
  run: ({ selector, full_page }, context) =>
    useOpenPage(context, async (page) => {
      if (!context.sees.images)
        throw new BrowserFailure("unsupported", "this model sees no images; browser_extract reads the page");
      const { media_type, bytes } = await capture(page, await clipOf(page, selector, full_page));
      const { url = "" } = context.page.get() ?? {};
      const image = { type: "image", media_type, blob: context.keep(bytes), name: "screenshot" } as const;
      return { content: [{ type: "text", text: `The page at ${url}:` }, image] };
    }),
});
