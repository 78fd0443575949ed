import { fieldsOf } from "../../chat/json.ts";
import type { Json } from "../../chat/message.ts";
import { textIn } from "./devtools.ts";
import { firstCharacters } from "../../chat/text.ts";

const mostResults = 30;
const longestTitle = 300;
const longestAddress = 2_000;
const longestSnippet = 500;

/** Reads the script's results and limits their lengths: the page can change what the script does. */
export const readResults = (found: Json | undefined) =>
  (Array.isArray(found) ? found : []).slice(0, mostResults).map((each) => {
    const fields = fieldsOf(each);
    return {
      title: firstCharacters(textIn(fields, "title"), longestTitle),
      url: firstCharacters(textIn(fields, "url"), longestAddress),
      snippet: firstCharacters(textIn(fields, "snippet"), longestSnippet),
    };
  });

/**
 * Script for a search page: finds the links to other hosts that are headings, each with the text beside it, and
 * whether the page asks for a captcha instead. It is not specific to any search engine.
 */
export const findResults = String.raw`(() => {
  const most = ${mostResults};
  const clean = (text, length) => (text ?? "").replace(/\s+/g, " ").trim().slice(0, length);
  const isWeb = (url) => url !== null && /^https?:$/.test(url.protocol);
  /** Some pages link to results by an address of their own that contains the real one. */
  const addressOf = (link) => {
    const url = URL.parse(link.href);
    if (!isWeb(url)) return null;
    const inner = [...url.searchParams.values()].map((value) => URL.parse(value)).find((each) => isWeb(each) && each.host !== location.host);
    return url.host === location.host ? (inner ?? null) : url;
  };
  const isHeading = (link) =>
    link.closest("h1, h2, h3, h4, [role=heading]") !== null || link.querySelector("h1, h2, h3, h4, [role=heading]") !== null ||
    /\bresult\b.*\b(a|link|title)\b|result[_-]+(a|link|title)/i.test(link.className);
  const headings = [...document.querySelectorAll("a[href]")].filter(isHeading);
  /** Returns the largest part of the page that contains a result and no other. */
  const partOf = (link) => {
    let part = link;
    while (part.parentElement !== null && part.parentElement !== document.body &&
      !headings.some((other) => other !== link && part.parentElement.contains(other))) part = part.parentElement;
    return part;
  };
  const found = new Map();
  for (const link of headings) {
    const url = addressOf(link);
    const title = clean(link.querySelector("h1, h2, h3, h4, [role=heading]")?.textContent ?? link.textContent, ${longestTitle});
    if (url === null || url.href.length > ${longestAddress} || title === "" || found.has(url.href)) continue;
    const around = headings.length === 1 ? (link.closest("article, li, div") ?? link) : partOf(link);
    const snippet = clean(clean(around.innerText, 2000).replace(title, ""), ${longestSnippet});
    found.set(url.href, { title, url: url.href, snippet });
    if (found.size === most) break;
  }
  const asks = document.querySelector(
    'iframe[src*="captcha" i], form[action*="captcha" i], [class*="captcha" i], [id*="captcha" i], [class*="anomaly-modal" i], [id^="cf-chl" i]',
  ) !== null;
  const says = /not a robot|unusual traffic|verify (that )?you are (a )?human|are you (a )?human|bots use/i.test(document.body?.innerText ?? "");
  return { captcha: asks || (says && found.size === 0), results: [...found.values()] };
})()`;
