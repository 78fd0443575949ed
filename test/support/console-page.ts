import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { createApi } from "./api-client.ts";
import type { Api } from "./api-client.ts";
import { buildTestTeam } from "./built-team.ts";
import { launchChromium } from "./chromium.ts";
import type { DevServer } from "./dev-server.ts";
import { startRuntime } from "./runtime.ts";

/** The console in a browser, as its tests use it. */
export interface ConsolePage {
  readonly page: Page;
  /** What the page complained about, but for a server that is gone. */
  readonly complaints: readonly string[];
  /** Types into the field for messages and sends. */
  readonly say: (text: string) => Promise<void>;
  /** Waits until the head of the conversation says so. */
  readonly state: (words: string | RegExp) => Promise<void>;
  /** All that the log shows. */
  readonly logText: () => Promise<string>;
  /** Opens the first page and sends a first message; gives the session's id. */
  readonly start: (text: string) => Promise<string>;
  /** Presses a key while no field has the focus. */
  readonly press: (key: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const desk = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

/** Gives the page another size and waits until it is laid out for it: a key that is pressed before may reach nothing. */
export const resize = async (page: Page, size: typeof desk): Promise<void> => {
  await page.setViewportSize(size);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
};

/** What a server answers that takes no so long body. */
export const tooMuch = {
  status: 413,
  contentType: "application/problem+json",
  json: {
    type: "",
    title: "",
    status: 413,
    detail: "That is too much.",
    code: "payload_too_large",
    retryable: false,
  },
};

const isOffline = (text: string): boolean =>
  /WebSocket|ERR_CONNECTION|ERR_SOCKET|ERR_EMPTY|ERR_INCOMPLETE|ERR_FAILED|favicon/.test(text);

const sessionAddress = /#(s_[a-z2-7]{26})/;

export const openConsole = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<ConsolePage> => {
  const context = await browser.newContext({ viewport: desk, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (line) => {
    if (line.type() === "error" && !isOffline(line.text())) complaints.push(line.text());
  });
  const say = async (text: string): Promise<void> => {
    await page.locator("#composer").fill(text);
    await page.locator("#composer").press("Enter");
  };
  return {
    page,
    complaints,
    say,
    state: (words) => page.locator(".conversation .head-words", { hasText: words }).waitFor(),
    logText: async () => (await page.locator(".log").textContent()) ?? "",
    start: async (text) => {
      await page.goto(`${url}/console`);
      await page.getByRole("button", { name: "Start" }).waitFor();
      await say(text);
      await page.waitForURL(sessionAddress);
      return sessionAddress.exec(page.url())?.[1] ?? "";
    },
    press: async (key) => {
      await page.evaluate("document.activeElement?.blur()");
      await page.keyboard.press(key);
    },
    close: () => context.close(),
  };
};

/** What a test file of the console needs: a server, a browser, and for each test a page of its own. */
export interface ConsoleSite {
  readonly server: DevServer;
  readonly browser: Browser;
  readonly api: Api;
  /** The page of the test that runs. */
  readonly shown: ConsolePage;
}

/** What has to be there before the server starts. */
interface Surroundings {
  /** Changes the built files of the team. */
  readonly edit?: (text: string) => string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly close?: () => Promise<void>;
}

interface SiteOptions {
  readonly prepare?: () => Promise<Surroundings>;
  /** Tells whether a page may complain of this in the tests of the file. */
  readonly allows?: (complaint: string) => boolean;
}

/**
 * Serves a team to the tests of the file that calls it, opens a page before each and closes it after; a page that
 * complains fails its test. The parts of the site are there once the tests run.
 */
export const serveConsole = (
  team: string,
  home: "test" | "shipped",
  { prepare = async () => ({}), allows = () => false }: SiteOptions = {},
): ConsoleSite => {
  const ends: (() => unknown)[] = [];
  let parts: Omit<ConsoleSite, "shown"> | null = null;
  let page: ConsolePage | null = null;
  const requireParts = (): Omit<ConsoleSite, "shown"> => {
    if (parts === null) throw new Error("the console is served while tests run");
    return parts;
  };
  beforeAll(async () => {
    const { edit, vars = {}, close } = await prepare();
    if (close !== undefined) ends.push(close);
    const built = await buildTestTeam(team, home, edit === undefined ? {} : { edit });
    ends.push(built.remove);
    const server = await startRuntime({ team: built, vars: { LIMPET_DEV: "1", ...vars } });
    ends.push(server.close);
    const browser = await launchChromium();
    ends.push(() => browser.close());
    parts = { server, browser, api: createApi(server.url) };
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  beforeEach(async () => {
    page = await openConsole(requireParts().browser, requireParts().server.url);
  });
  afterEach(async () => {
    expect(page?.complaints.filter((each) => !allows(each))).toEqual([]);
    await page?.close();
  });
  return {
    get server() {
      return requireParts().server;
    },
    get browser() {
      return requireParts().browser;
    },
    get api() {
      return requireParts().api;
    },
    get shown() {
      if (page === null) throw new Error("a page is there while a test runs");
      return page;
    },
  };
};

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: unknown; readonly failureSummary: string }[];
}

/** What axe finds, as one line for each element. */
export const violationsOf = async (
  page: Page,
  rules: readonly string[] | null = null,
): Promise<readonly string[]> => {
  await page.evaluate(`if (!window.axe) { ${axe.source} }`);
  const found = await page.evaluate<readonly Violation[]>(
    `axe.run(${rules === null ? "" : JSON.stringify({ runOnly: rules })}).then(({ violations }) => violations)`,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${JSON.stringify(target)} ${failureSummary}`),
  );
};
