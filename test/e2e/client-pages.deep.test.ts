import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildTestTeam } from "../support/built-team.ts";
import type { BuiltTeam } from "../support/built-team.ts";
import { launchChromium } from "../support/chromium.ts";
import { root, runCommand } from "../support/dev-server.ts";
import type { DevServer } from "../support/dev-server.ts";
import { pages } from "../support/readme.ts";
import { startRuntime } from "../support/runtime.ts";

/** The pages of the documents in a real browser: the client's example, with React as it is in development, and the guide's. */

let folder: string;
let team: BuiltTeam;
let server: DevServer;
let browser: Browser;
const complaints: string[] = [];

const [, example = ""] =
  /^```tsx react\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, "src/client/README.md"), "utf8")) ?? [];

const { text: guidePage = "" } = pages.guide.blocks.find(({ role }) => role === "page/index.html") ?? {};
const [script = "", guideCode = ""] = /<script type="module">([^]*)<\/script>/.exec(guidePage) ?? [];

/** Writes the programs of the pages where the packages of this project are found. */
const writePages = (): void => {
  mkdirSync(join(root, ".limpet"), { recursive: true });
  folder = mkdtempSync(join(root, ".limpet", "pages-"));
  writeFileSync(join(folder, "page.tsx"), example);
  writeFileSync(join(folder, "guide.js"), guideCode);
};

const bundle = async (file: string): Promise<string> => {
  const result = await build({
    root: folder,
    mode: "development",
    configFile: false,
    logLevel: "warn",
    define: { "process.env.NODE_ENV": '"development"' },
    resolve: { alias: { "limpet/client": join(root, "src/client/index.ts") } },
    build: {
      write: false,
      minify: false,
      target: "es2024",
      rolldownOptions: { input: join(folder, file) },
    },
  });
  const [chunk] = [result].flat().flatMap((made) => ("output" in made ? made.output : []));
  if (chunk?.type !== "chunk") throw new Error(`${file} gives no program`);
  return chunk.code;
};

/** The program and the HTML of each page, by its address. */
let served: Readonly<Record<string, readonly [string, string]>> = {};

/** Opens a page of the documents in a tab of its own; what it complains of is kept. */
const openPage = async (address: string): Promise<Page> => {
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", ({ message }) => complaints.push(message));
  // React complains on the console; of what cannot be reached the browser does.
  page.on("console", (message) => {
    if (message.type() === "error" && !/net::ERR|WebSocket/.test(message.text()))
      complaints.push(message.text());
  });
  for (const [name, [code, body]] of Object.entries(served)) {
    await page.route(`**/${name}`, (route) => route.fulfill({ contentType: "text/html", body }));
    await page.route(`**/${name}.js`, (route) =>
      route.fulfill({ contentType: "text/javascript", body: code }),
    );
  }
  await page.goto(`${server.url}/${address}`);
  return page;
};

beforeAll(async () => {
  writePages();
  served = {
    example: [
      await bundle("page.tsx"),
      '<!doctype html><body><script type="module" src="/example.js"></script>',
    ],
    guide: [
      await bundle("guide.js"),
      guidePage.replace(script, '<script type="module" src="/guide.js"></script>'),
    ],
  };
  team = await buildTestTeam("default", "shipped");
  server = await startRuntime({ team, vars: { LIMPET_DEV: "1" } });
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
  team?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const say = async (page: Page, text: string): Promise<void> => {
  await page.locator("input").fill(text);
  await page.locator("input").press("Enter");
};

test("AP-51: the example has at most 60 lines", () => {
  expect(example.trimEnd().split("\n").length).toBeLessThanOrEqual(60);
});

test("AP-51: it compiles with React's types", { timeout: 120_000 }, async () => {
  const options = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      jsx: "react-jsx",
      lib: ["es2024", "dom", "dom.iterable", "esnext"],
      types: [],
      noPropertyAccessFromIndexSignature: false,
      paths: { "limpet/client": [join(root, "src/client/index.ts")] },
    },
    files: ["page.tsx"],
    include: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(options));
  expect(await runCommand(join(root, "node_modules/.bin/tsc"), ["-p", folder], { cwd: root })).toBe("");
});

test("AP-51: in strict mode it streams a reply, shows a call, takes an approval and answers, and goes on after the server was gone", async () => {
  const page = await openPage("example");
  await page.locator("output", { hasText: "live, idle" }).waitFor();
  await say(page, "hello");
  await page.locator("li.user", { hasText: "hello" }).waitFor();
  await page.locator("li.assistant").first().waitFor();
  await page.locator("output", { hasText: "live, idle" }).waitFor();
  await say(page, "approve");
  await page.locator("p", { hasText: "Allow shared_state_set" }).getByText("Allow", { exact: true }).click();
  await page.locator("li.call", { hasText: "shared_state_set: ok" }).waitFor();
  await page.locator("output", { hasText: "live, idle" }).waitFor();
  for (const answer of [
    () => page.getByRole("button", { name: "It stays where it is" }).click(),
    () => say(page, "It stays where it is"),
  ]) {
    await say(page, "ask");
    await page.locator("p", { hasText: "Where does a limpet go" }).waitFor();
    await answer();
    await page.locator("li.assistant", { hasText: "Your answer: It stays" }).last().waitFor();
    await page.locator("output", { hasText: "live, idle" }).waitFor();
  }
  await server.kill();
  await page.locator("output", { hasText: "offline" }).waitFor();
  await say(page, "files");
  await page.locator("p", { hasText: "One message is pending." }).waitFor();
  await server.start();
  await page.locator("li.call", { hasText: "fs_write: ok" }).waitFor();
  await page.locator("output", { hasText: "live, idle" }).waitFor();
  expect(await page.locator("li.user", { hasText: "files" }).count()).toBe(1);
  await page.reload();
  await page.locator("li.user", { hasText: "files" }).waitFor();
  expect(complaints).toEqual([]);
});

test("AP-51: a message that waits is not lost by its button to stop: it begins the next run", async () => {
  const page = await openPage("example");
  await page.locator("output", { hasText: "live, idle" }).waitFor();
  await say(page, "slow");
  await page.locator("output", { hasText: "live, running" }).waitFor();
  await say(page, "hello");
  await page.locator("p", { hasText: "One message is accepted." }).waitFor();
  await page.getByText("Stop").click();
  await page.locator("li.user", { hasText: "hello" }).waitFor();
  expect(complaints).toEqual([]);
});

test("AP-51: the guide's page shows what an approval is about, takes yes and no alone, and queues what is sent meanwhile", async () => {
  const page = await openPage("guide");
  const shows = (text: string): Promise<void> => page.locator("pre", { hasText: text }).waitFor();
  await say(page, "approve");
  await shows("Dear sea, please be gentle.");
  const alerted = page.waitForEvent("dialog");
  page.once("dialog", (dialog) => void dialog.accept());
  await say(page, "perhaps");
  expect((await alerted).message()).toBe("Write yes or no.");
  expect(await page.locator("input").inputValue()).toBe("perhaps");
  await say(page, "Yes");
  await shows("That was **approve**");
  await say(page, "slow");
  await shows("slow");
  await say(page, "hello");
  await shows("hello (waits)");
  expect(complaints).toEqual([]);
});
