import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

/** Where Linux has it: without windows, which takes less than half the time for a page, else the whole browser. */
const places = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** The program at `CHROMIUM`, else where Linux has it. */
export const chromiumPath = (): string =>
  process.env["CHROMIUM"] ?? places.find((path) => existsSync(path)) ?? "/usr/bin/chromium";

/** The browser of the console's tests; it asks nothing of any network. */
export const launchChromium = (more: readonly string[] = []): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...more,
    ],
  });
