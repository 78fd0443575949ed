import { createApi } from "../support/api-client.ts";
import { buildTestTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import {
  createLongSession,
  measureLoad,
  measureScroll,
  measureStream,
  speakQuickly,
} from "../support/console-speed.ts";
import type { Results } from "./table.ts";
import { startRuntime } from "../support/runtime.ts";

/** How quick the console is in Chromium, which runs on the machine that serves it. */
export const measureConsole = async (passes: number, results: Results): Promise<void> => {
  const team = await buildTestTeam("default", "shipped", { edit: speakQuickly });
  const server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  const browser = await launchChromium();
  const session = await createLongSession(createApi(server.url), 2_000);
  for (let pass = 0; pass < passes; pass++) {
    results.add("consoleLoad", await measureLoad(browser, server.url, session));
    const scroll = await measureScroll(browser, server.url, session);
    const stream = await measureStream(browser, server.url);
    results.add("scrollTask", scroll.longest);
    results.add("scrollFrames", scroll.dropped * 100);
    results.add("streamTask", stream.longest);
    results.add("streamFrames", stream.dropped * 100);
  }
  await browser.close();
  await server.close();
  team.remove();
};
