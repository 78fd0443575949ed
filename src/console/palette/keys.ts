/** The keys of the page; the dialog of keys says what they do. */

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

const isInSight = (element: Element): boolean => {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
};

/** Presses the button that a key stands for; of asks it is that of the one in which one is, or of the only one in sight. */
const pressFor = (key: string): boolean => {
  const ask = document.activeElement?.closest("[data-ask]") ?? null;
  const [button, ...others] = [
    ...(ask ?? document).querySelectorAll<HTMLButtonElement>(`[data-key="${CSS.escape(key)}"]`),
  ].filter((each) => !each.disabled && each.offsetParent !== null);
  if (button === undefined) return false;
  const isOfAsk = ask === null && button.closest("[data-ask]") !== null;
  if (isOfAsk && (others.length > 0 || !isInSight(button))) return false;
  button.click();
  return true;
};

const focusById = (id: string): boolean => {
  const element = document.getElementById(id);
  element?.focus();
  return element !== null;
};

const stepLine = (by: number): boolean => {
  const lines = [...document.querySelectorAll<HTMLElement>(".log [data-line]")];
  const at = lines.findIndex((line) => line === document.activeElement);
  const next = at === -1 ? lines.at(-1) : lines[at + by];
  next?.focus();
  return next !== undefined;
};

const toggleLine = (): boolean => {
  const line = document.activeElement;
  if (!(line instanceof HTMLElement) || !line.matches("[aria-expanded]")) return false;
  line.click();
  return true;
};

export interface PageKeys {
  readonly openPalette: () => void;
  readonly showKeys: () => void;
  readonly startNew: () => void;
  /** Goes back from where one is, else stops the run. */
  readonly leave: () => void;
}

/** Letters work only while no field has the focus. */
const pressLetter = (key: string, page: PageKeys): boolean => {
  const actions: Readonly<Record<string, () => boolean | void>> = {
    "/": () => focusById("search"),
    "?": page.showKeys,
    n: page.startNew,
    j: () => stepLine(1),
    k: () => stepLine(-1),
    o: toggleLine,
  };
  const action = Object.hasOwn(actions, key) ? actions[key] : undefined;
  return action === undefined ? pressFor(key) : action() !== false;
};

const pressWithCommand = (key: string, page: PageKeys): boolean => {
  if (key === "k") page.openPalette();
  return key === "k" || (key === "enter" && pressFor("mod-enter"));
};

const press = (event: KeyboardEvent, page: PageKeys): boolean => {
  const key = event.key.toLowerCase();
  if (event.metaKey || event.ctrlKey) return pressWithCommand(key, page);
  if (key === "escape") {
    const { target } = event;
    if (isField(target) && target instanceof HTMLElement && target.id !== "composer") target.blur();
    else page.leave();
    return true;
  }
  return !event.altKey && !isField(event.target) && pressLetter(key, page);
};

/** Answers a key of the page; what a region has answered already comes here no more. */
export const pressKey = (event: KeyboardEvent, page: PageKeys): void => {
  if (
    event.defaultPrevented ||
    event.isComposing ||
    event.repeat ||
    document.querySelector("dialog[open]") !== null
  )
    return;
  if (press(event, page)) event.preventDefault();
};
