import { iconPaths } from "./icon-paths.ts";
import type { IconName } from "./icon-paths.ts";

/** Icons of 16 px, drawn with lines in the colour of the text around them. */

/** Draws an icon; a button around it needs a name of its own. */
export const Icon = ({ name, class: kind = "" }: { readonly name: IconName; readonly class?: string }) => (
  <svg class={`drawn ${name === "more" ? "bold" : ""} ${kind}`} viewBox="0 0 16 16" aria-hidden="true">
    <path d={iconPaths[name]} />
  </svg>
);

/** Draws the stop square. */
export const StopIcon = () => (
  <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
    <rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" />
  </svg>
);

/** Draws the product's mark: a shell on its rock. */
export const Mark = () => (
  <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
    <path d="M10 2.5c4.6 0 7.5 6.2 8 13.5H2c.5-7.3 3.4-13.5 8-13.5Z" fill="currentColor" />
    <path
      d="M10 5.5V16M7 7.2 5.6 16M13 7.2 14.4 16"
      stroke="var(--side)"
      stroke-width="1.3"
      stroke-linecap="round"
    />
  </svg>
);
