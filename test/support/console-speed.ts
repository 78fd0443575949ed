import type { Browser, Page } from "playwright-core";
import type { Api } from "./api-client.ts";
import { openConsole } from "./console-page.ts";

/** Measures in Chromium how quick the console is, for the bench and for its test. */

export interface LongSession {
  readonly id: string;
  /** So many messages were sent to it. */
  readonly messages: number;
}

/** Creates a session with at least so many events. */
export const createLongSession = async (api: Api, events: number): Promise<LongSession> => {
  const id = await api.create({ title: "A long one" });
  let messages = 0;
  for (let head = 0; head < events; messages += 1) {
    await api.post(`/v1/sessions/${id}/messages`, { content: "files", wait: 60 });
    head = Number((await api.get(`/v1/sessions/${id}`)).body["head_seq"]);
  }
  return { id, messages };
};

/** The script speaks 24 characters at a time; so many milliseconds apart, these are 500 pieces in a second. */
export const speakQuickly = (text: string): string => text.replaceAll(/"delay_ms": ?15\b/g, '"delay_ms":2');

/** Notes, from the beginning of a page, when the end of the conversation was drawn, and with how many rows. */
const watchFirstRows = (page: Page): Promise<unknown> =>
  page.addInitScript(`
    const look = () => {
      const isDone = document.querySelector(".conversation .head-words")?.textContent.includes("done");
      const end = [...document.querySelectorAll(".speech")].at(-1)?.textContent ?? "";
      if (!isDone || !end.includes("That was files")) return requestAnimationFrame(look);
      const rows = document.querySelectorAll(".entry").length;
      requestAnimationFrame(() => setTimeout(() => { window.first = { rows, at: performance.now() }; }));
    };
    requestAnimationFrame(look);
  `);

const distanceToEnd =
  "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)";

/** Waits in the page, frame by frame, until an expression holds. */
const holds = (page: Page, expression: string): Promise<unknown> =>
  page.evaluate(`new Promise((done) => {
    const look = () => ((${expression}) ? done() : requestAnimationFrame(look));
    requestAnimationFrame(look);
  })`);

/** Opens a long session's address; returns the page and after how many milliseconds its newest rows were drawn. */
const openLong = async (browser: Browser, url: string, session: string) => {
  const { page, close } = await openConsole(browser, url);
  await watchFirstRows(page);
  await page.goto(`${url}/console#${session}`);
  await holds(page, "window.first");
  const first = await page.evaluate<{ rows: number; at: number }>("window.first");
  // The rows above come after; the end stays where it is.
  await holds(page, `${distanceToEnd}(document.querySelector(".log")) < 2`);
  return { page, close, at: first.at };
};

/** Returns the milliseconds from opening a session's address until its newest rows are drawn. */
export const measureLoad = async (browser: Browser, url: string, { id }: LongSession): Promise<number> => {
  const { at, close } = await openLong(browser, url, id);
  await close();
  return at;
};

/** What a person feels: the longest task in milliseconds, and the share of frames that were dropped. */
export interface Smoothness {
  readonly longest: number;
  readonly dropped: number;
}

const watchTasks = (page: Page): Promise<unknown> =>
  page.evaluate(`
    window.long = []; window.frames = [];
    new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: "longtask" });
    const frame = (at) => { frames.push(at); requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
  `);

const readTasks = async (page: Page): Promise<Smoothness> => {
  const { long, frames } = await page.evaluate<{ long: number[]; frames: number[] }>("({ long, frames })");
  const gaps = frames.slice(1).map((at, place) => at - (frames[place] ?? at));
  const missed = gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / (1_000 / 60)) - 1), 0);
  return { longest: Math.max(0, ...long), dropped: missed / (frames.length + missed) };
};

/** Measures a page while an answer streams to it, of a server that speaks quickly. */
export const measureStream = async (browser: Browser, url: string): Promise<Smoothness> => {
  const { page, start, state, say, close } = await openConsole(browser, url);
  await start("hello");
  await state("done");
  await watchTasks(page);
  await say("slow");
  await page.locator(".speech", { hasText: "That was slow" }).waitFor();
  const measured = await readTasks(page);
  await close();
  return measured;
};

/** So many pixels are a notch of the wheel, which is turned by one at each frame. */
const notch = 120;

/** Measures a page while a person turns the wheel from the end of a long session to its first message. */
export const measureScroll = async (
  browser: Browser,
  url: string,
  { id, messages }: LongSession,
): Promise<Smoothness> => {
  const { page, close } = await openLong(browser, url, id);
  await watchTasks(page);
  await page.locator(".log").hover();
  const isRead = `document.querySelector(".log").scrollTop === 0
    && document.querySelectorAll(".log .said").length >= ${messages}`;
  const lookInNextFrame = `new Promise((done) => requestAnimationFrame(() => done(${isRead})))`;
  do await page.mouse.wheel(0, -notch);
  while (!(await page.evaluate<boolean>(lookInNextFrame)));
  const measured = await readTasks(page);
  await close();
  return measured;
};
