import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";

/** The browser of the console's tests: at `CHROMIUM`, else where Linux has it; it asks nothing of any network. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
