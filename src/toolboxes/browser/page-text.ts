import { fieldsOf } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import type { ToolOutput } from "../../tools/define-tool.ts";
import { toolError } from "../../tools/errors.ts";
import { textIn } from "./devtools.ts";
import { BrowserFailure } from "./failure.ts";
import type { AttachedPage } from "./page.ts";
import { firstCharacters } from "../../chat/text.ts";

/** Reads the text of a page for a model. */

const longestHtml = 2_000_000;
const longestText = 100_000;
const longestTitle = 1_000;
const longestAddress = 8_192;

/** Longest result: the text and the links. */
export const pageLimit = 140_000;

/** Shortens an address, which a page can make arbitrarily long, to its origin, by which calls are judged. */
export const shortAddress = (url: string): string =>
  url.length <= longestAddress ? url : `${URL.parse(url)?.origin ?? ""}/`;

/** Returns the first bytes of a text, without half a character at the end. */
const cutText = (text: string): { readonly text: string; readonly cut: boolean } => {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= longestText) return { text, cut: false };
  const decoder = new TextDecoder();
  return { text: decoder.decode(bytes.subarray(0, longestText), { stream: true }), cut: true };
};

/** Returns the script that reads the HTML of a page, or of the elements that match a selector. */
const scriptFor = (selector: string | undefined): string =>
  selector === undefined
    ? `({ html: document.documentElement.outerHTML.slice(0, ${longestHtml}), url: location.href, title: document.title })`
    : `({ html: ${allMatching(selector)}.map((each) => each.outerHTML).join("\\n").slice(0, ${longestHtml}), url: location.href, title: document.title })`;

const allMatching = (selector: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})]`;

/** Reads the address and the title of a page. Its scripts can change the answer, so all of it is cut here. */
const placeIn = (found: JsonObject) => ({
  url: shortAddress(textIn(found, "url")),
  title: firstCharacters(textIn(found, "title"), longestTitle),
});

/** Reads the page's text and links, or those of the elements that match a selector. */
export const readPage = async (page: AttachedPage, selector?: string): Promise<ToolOutput> => {
  const found = fieldsOf(await page.evaluate(scriptFor(selector)));
  const html = firstCharacters(textIn(found, "html"), longestHtml);
  const { url, title } = placeIn(found);
  if (selector !== undefined && html === "")
    return toolError("no_match", `nothing on the page matches ${selector}`);
  // The parser is loaded only when a page is read.
  const { readHtml } = await import("../http/html-text.ts");
  const read = readHtml(html, url);
  const { text, cut } = cutText(read.text);
  const isCut = cut || read.cut || html.length === longestHtml;
  const content = {
    url,
    title,
    ...(page.progress.status >= 400 ? { status: page.progress.status } : {}),
    text,
    links: read.links.map(({ text, url }) => ({ text, url })),
    ...(isCut ? { cut: true } : {}),
  };
  return { content: JSON.stringify(content) };
};

/** Fails if the page was not permitted to go where it wanted. */
export const requireArrival = (page: AttachedPage): void => {
  const refused = page.progress.refused;
  if (refused === null) return;
  throw new BrowserFailure(
    "not_permitted",
    `the page leads to ${shortAddress(refused)}, which needs a separate permission; the page stayed where it was. Open the address with browser_navigate.`,
  );
};

/** Describes the page after an action. */
export const describePlace = async (page: AttachedPage): Promise<ToolOutput> => {
  const place = await page.evaluate("({ url: location.href, title: document.title })");
  return { content: JSON.stringify(placeIn(fieldsOf(place))) };
};
