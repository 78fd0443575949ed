import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";
import type { IconName } from "./icon-paths.ts";

/** Buttons, menus and tabs that work by keyboard and tell what they are. */

interface IconButtonProps {
  readonly name: IconName;
  readonly label: string;
  readonly onClick: (event: MouseEvent) => void;
  readonly disabled?: boolean;
}

export const IconButton = ({ name, label, onClick, disabled = false }: IconButtonProps) => (
  <button type="button" class="icon" aria-label={label} title={label} onClick={onClick} disabled={disabled}>
    <Icon name={name} />
  </button>
);

/** Copies a text, and says for a moment that it did; a page over plain HTTP has no clipboard. */
export const CopyButton = ({
  text,
  label,
  words,
}: {
  readonly text: string;
  readonly label: string;
  readonly words?: string;
}) => {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 1_500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = (): void =>
    void navigator.clipboard.writeText(text).then(
      () => setDone(true),
      () => setDone(false),
    );
  if (!isSecureContext) return null;
  if (words !== undefined)
    return (
      <button type="button" class="plain" onClick={copy}>
        {done ? "Copied" : words}
      </button>
    );
  return (
    <button type="button" class="icon" aria-label={done ? "Copied" : label} title={label} onClick={copy}>
      <Icon name={done ? "check" : "copy"} />
    </button>
  );
};

export interface MenuItem {
  readonly label: string;
  readonly hint?: string;
  readonly run: () => void;
  /** Set where one of the items is the chosen one. */
  readonly checked?: boolean;
  readonly bad?: boolean;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly children?: ComponentChildren;
  readonly opens?: "up" | "down";
  readonly side?: "left" | "right";
  readonly class?: string;
}

/** Moves the focus among the siblings of an element, from end to start. */
export const moveFocus = (all: readonly HTMLElement[], by: number): void => {
  const at = all.findIndex((each) => each === document.activeElement);
  all.at((at + by + all.length) % all.length)?.focus();
};

const stepOf: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

const menuItemsIn = (root: HTMLElement | null): HTMLElement[] => [
  ...(root?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? []),
];

/** Focuses an item of an open menu, and closes the menu when the focus or a click goes elsewhere. */
const useOpenMenu = (
  root: { readonly current: HTMLElement | null },
  open: boolean,
  close: () => void,
): void => {
  useEffect(() => {
    if (!open) return undefined;
    const items = menuItemsIn(root.current);
    (items.find((each) => each.getAttribute("aria-checked") === "true") ?? items[0])?.focus();
    const leave = (event: Event): void => {
      if (!(event.target instanceof Node) || root.current?.contains(event.target) !== true) close();
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
    };
  }, [open]);
};

const ItemButton = ({ item, onPick }: { readonly item: MenuItem; readonly onPick: () => void }) => (
  <button
    type="button"
    role={item.checked === undefined ? "menuitem" : "menuitemradio"}
    aria-checked={item.checked}
    tabIndex={-1}
    class={item.bad === true ? "bad" : ""}
    onClick={() => {
      onPick();
      item.run();
    }}
  >
    <span>{item.label}</span>
    {item.hint !== undefined && <span class="meta">{item.hint}</span>}
  </button>
);

/** The height of an item for a finger, and that of what may stand at the foot of the page, in pixels. */
const [itemHeight, footHeight] = [44, 60];

/** Turns a menu upwards that would not fit below its button. */
const wayOf = (root: HTMLElement | null, wanted: "down" | "up", items: number): "down" | "up" => {
  const { bottom = 0, top = 0 } = root?.getBoundingClientRect() ?? {};
  const below = innerHeight - bottom - footHeight;
  return below < items * itemHeight && below < top ? "up" : wanted;
};

/** A button that opens a list of things to do, or of choices. */
export const Menu = ({
  label,
  items,
  children,
  opens = "down",
  side = "right",
  class: kind = "",
}: MenuProps) => {
  const [way, setWay] = useState<"down" | "up" | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const open = way !== null;
  const setOpen = (isOpen: boolean): void => setWay(isOpen ? wayOf(root.current, opens, items.length) : null);
  const id = useId();
  useOpenMenu(root, open, () => setOpen(false));
  const close = (): void => {
    setOpen(false);
    root.current?.querySelector<HTMLElement>("[aria-haspopup]")?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    if (!open) return;
    const step = stepOf[event.key];
    if (step !== undefined) moveFocus(menuItemsIn(root.current), step);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isIcon = children === undefined;
  return (
    <div class={`menu ${kind}`} ref={root} onKeyDown={press}>
      <button
        type="button"
        class={isIcon ? "icon" : "plain"}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={isIcon ? label : undefined}
        title={label}
        onClick={() => setOpen(!open)}
      >
        {children ?? <Icon name="more" />}
        {!isIcon && <Icon name="down" />}
      </button>
      {open && (
        <div role="menu" id={id} aria-label={label} class={`${way} ${side}`}>
          {items.map((item) => (
            <ItemButton key={item.label} item={item} onPick={close} />
          ))}
        </div>
      )}
    </div>
  );
};

interface TabsProps<T extends string> {
  readonly label: string;
  readonly tabs: readonly { readonly id: T; readonly label: ComponentChildren }[];
  readonly chosen: T;
  readonly onChoose: (id: T) => void;
  readonly class?: string;
  /** The id of the element that the tabs change. */
  readonly controls?: string;
}

/** Tabs: the arrows choose, Tab goes on. */
export const Tabs = <T extends string>({
  label,
  tabs,
  chosen,
  onChoose,
  class: kind,
  controls,
}: TabsProps<T>) => {
  const root = useRef<HTMLDivElement>(null);
  const press = (event: KeyboardEvent): void => {
    const step = stepOf[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs.at((at + step + tabs.length) % tabs.length);
    if (next === undefined) return;
    onChoose(next.id);
    root.current?.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div role="tablist" aria-label={label} class={kind ?? "segments"} ref={root} onKeyDown={press}>
      {tabs.map(({ id, label: name }) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`${controls ?? "tab"}-${id}`}
          aria-selected={id === chosen}
          aria-controls={id === chosen ? controls : undefined}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
};

/** Stands where something is being read; what is there at once shows nothing of it. */
export const Loading = () => (
  <div class="loading" aria-label="Loading">
    <span />
    <span />
    <span />
  </div>
);
