import { fieldsOf } from "../../chat/json.ts";
import type { JsonObject } from "../../chat/json.ts";
import { BrowserFailure } from "./failure.ts";
import type { AttachedPage } from "./page.ts";

/** Finds elements of a page and acts on them as a person does: by mouse and keyboard. */

const missing = "missing";

/** Runs a function with the first element that matches; fails if there is none or the selector is invalid. */
const onElement = async (page: AttachedPage, selector: string, body: string): Promise<JsonObject> => {
  const text = JSON.stringify(selector);
  const script = `(() => { let element; try { element = document.querySelector(${text}); } catch { return "invalid"; }
    if (element === null) return ${JSON.stringify(missing)}; ${body} })()`;
  const found = await page.evaluate(script);
  if (found === missing) throw new BrowserFailure("no_match", `nothing on the page matches ${selector}`);
  if (found === "invalid")
    throw new BrowserFailure("invalid_arguments", `selector: ${selector} is not a CSS selector`);
  return fieldsOf(found);
};

/** Rectangle in CSS pixels of the window. */
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Scrolls an element into view and returns its place; fails if it has no size. */
export const locateElement = async (page: AttachedPage, selector: string): Promise<Box> => {
  const { x, y, width, height } = await onElement(
    page,
    selector,
    `element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
     const { x, y, width, height } = element.getBoundingClientRect(); return { x, y, width, height };`,
  );
  const box = { x: Number(x), y: Number(y), width: Number(width), height: Number(height) };
  if (box.width > 0 && box.height > 0) return box;
  throw new BrowserFailure("failed", `${selector} is not visible`);
};

/** Clicks in the middle of an element. */
export const clickElement = async (page: AttachedPage, selector: string): Promise<void> => {
  const { x, y, width, height } = await locateElement(page, selector);
  const place = { x: x + width / 2, y: y + height / 2 };
  const button = { ...place, button: "left", clickCount: 1 };
  await page.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...place });
  await page.act("Input.dispatchMouseEvent", { type: "mousePressed", ...button });
  await page.act("Input.dispatchMouseEvent", { type: "mouseReleased", ...button });
};

const longestLabel = 100;

/**
 * Returns the script that finds the option of a list by its label or value, or selects the text of a field to
 * replace.
 */
const takeFocus = (text: string): string => `
  if (element instanceof HTMLSelectElement) {
    const wanted = ${JSON.stringify(text)};
    const options = [...element.options];
    const chosen = options.findIndex((each) => each.label.trim() === wanted || each.value === wanted);
    return { chosen, options: options.slice(0, 50).map((each) => each.label.trim().slice(0, ${longestLabel})) };
  }
  element.scrollIntoView({ block: "center", behavior: "instant" });
  element.focus();
  if (element.isContentEditable) getSelection()?.selectAllChildren(element);
  else element.select?.();
  return { focused: document.activeElement === element };`;

const chooseOption = (selector: string, index: number): string => `(() => {
  const element = document.querySelector(${JSON.stringify(selector)});
  element.selectedIndex = ${index};
  element.dispatchEvent(new Event("input", { bubbles: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
})()`;

/** Types a text into a field in place of its content. */
export const typeInto = async (page: AttachedPage, selector: string, text: string): Promise<void> => {
  const { focused, chosen, options } = await onElement(page, selector, takeFocus(text));
  if (typeof chosen === "number" && chosen >= 0) {
    await page.act("Runtime.evaluate", { expression: chooseOption(selector, chosen) });
    return;
  }
  if (Array.isArray(options)) {
    const labels = options.slice(0, 50).map((each) => String(each).slice(0, longestLabel));
    throw new BrowserFailure("no_match", `${selector} has no option "${text}"; it has: ${labels.join(", ")}`);
  }
  if (focused !== true) throw new BrowserFailure("failed", `${selector} does not accept text`);
  if (text !== "") await page.act("Input.insertText", { text });
  else await pressKey(page, { key: "Backspace", code: "Backspace", windowsVirtualKeyCode: 8 });
};

const pressKey = async (page: AttachedPage, key: JsonObject): Promise<void> => {
  await page.act("Input.dispatchKeyEvent", { type: "keyDown", ...key });
  const { key: name = "", code = "" } = key;
  await page.act("Input.dispatchKeyEvent", { type: "keyUp", key: name, code });
};

export const pressEnter = (page: AttachedPage): Promise<void> =>
  pressKey(page, { key: "Enter", code: "Enter", text: "\r", windowsVirtualKeyCode: 13 });
