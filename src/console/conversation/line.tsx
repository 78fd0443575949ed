import type { ComponentChildren } from "preact";
import { Icon } from "../parts/icons.tsx";
import type { IconName } from "../parts/icon-paths.ts";

interface LineProps {
  readonly icon: IconName;
  readonly tone?: "good" | "bad" | "";
  readonly children: ComponentChildren;
  readonly result: ComponentChildren;
  readonly time: ComponentChildren;
  readonly open: boolean;
  readonly onToggle: () => void;
}

/** The row of a call or of something alike; all rows of a log are one stop of the Tab key. */
export const Line = ({ icon, tone = "", children, result, time, open, onToggle }: LineProps) => (
  <button type="button" class="line" data-line aria-expanded={open} tabIndex={-1} onClick={onToggle}>
    <Icon name={icon} class={tone} />
    <span class="line-words">{children}</span>
    <span class="line-result">{result}</span>
    <span class="line-time">{time}</span>
    <Icon name="chevron" class="chevron" />
  </button>
);
