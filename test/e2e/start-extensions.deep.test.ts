import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApi } from "../support/api-client.ts";
import { freePort, startGroup } from "../support/dev-server.ts";
import type { Group } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";

/** `npm start` of a team with a tool of its own: mistakes in its extensions are told, and mended without a restart (CF-30). */

const extensions = `import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import { tideOf } from "./tides/tide.ts";
import words from "./words.json" with { type: "json" };

const tideAt = defineTool({
  name: "tide_at",
  description: "Says whether the tide is in or out.",
  params: z.strictObject({ hour: z.int().describe("Hour of the day.") }),
  safety: "read",
  run: ({ hour }) => ({ content: tideOf(hour, words) }),
});

export const toolboxes = [{ name: "sea", description: "The sea.", tools: [tideAt] }];
`;
const tide = `export const tideOf = (hour: number, words: { in: string; out: string }): string => {
  return hour % 12 < 6 ? words.in : words.out;
};
`;
const script = `script: 1
scenes:
  - { name: said, when: { last: { tool: tide_at } }, reply: [{ text: I asked the sea. }] }
  - { name: asked, reply: [{ call: tide_at, args: { hour: 3 } }] }
`;
const teamFile = `providers:
  - { name: told, kind: scripted, model: told-1, context_window: 64000, script: scripts/told.yaml }
agents:
  - { name: helper, instructions: Help., toolboxes: [sea] }
`;

let project: ProjectCopy;
let group: Group;
let port: number;

const write = (path: string, text: string): void => {
  const file = join(project.folder, "config/acme", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

beforeAll(async () => {
  project = copyProject({ packages: true, console: true });
  port = await freePort();
  const toml = join(project.folder, "wrangler.toml");
  const own = readFileSync(toml, "utf8")
    .split(/^(?=\[env\.)/m)
    .find((table) => table.startsWith("[env.dev-team]"));
  writeFileSync(toml, `${readFileSync(toml, "utf8")}\n${(own ?? "").replaceAll("dev-team", "acme")}`);
  write("team.yaml", teamFile);
  write("scripts/told.yaml", script);
  write("words.json", '{ "in": "It is in.", "out": "It is out." }');
  write("tides/tide.ts", tide);
  write("extensions.ts", extensions.replace("z.strictObject(", "z.strictObject(("));
  const args = ["-s", "start", "--", "--env", "acme", "--port", String(port)];
  group = startGroup("npm", [...args, `--persist-to=${join(project.folder, ".storage")}`], {
    cwd: project.folder,
  });
});
afterAll(async () => {
  await group?.kill();
  project?.remove();
});

/** What was printed since an earlier state of the output, without the warnings of npm. */
const since = (from: number): string =>
  group
    .output()
    .slice(from)
    .replaceAll(/^npm warn .*\n/gm, "");

/** Writes a file, and waits until the server has said something that matches. */
const change = async (path: string, text: string, said: RegExp): Promise<string> => {
  const from = group.output().length;
  write(path, text);
  await group.until(`it says ${String(said)} in ${path}:\n${text}\n`, () => said.test(since(from)) || null);
  return since(from);
};

const api = () => createApi(`http://localhost:${port}`);

/** What the tool says in a new session. */
const askTide = async (): Promise<unknown> => {
  const session = await api().create({});
  await api().post(`/v1/sessions/${session}/messages`, { content: "And now?", wait: 60 });
  const { body } = await api().get(`/v1/sessions/${session}/events?after=0`);
  const events = body["data"] as readonly {
    readonly type: string;
    readonly data: { readonly output?: unknown };
  }[];
  return events.find(({ type }) => type === "tool_call_end")?.data.output;
};

const kept = "acme has errors; its last good build is still served";
const anew = /acme was rebuilt/;

test("CF-30: at the first start a mistake in extensions.ts is told, and waited for", async () => {
  await group.until("it waits for the fix", () => /Fix it:/.test(group.output()) || null);
  expect(since(0)).toMatch(
    /^Building acme …\nconfig\/acme\/extensions\.ts:\d+:\d+ error extension_invalid: .+\n/,
  );
  expect(since(0)).toContain("Fix it: the server starts once config/acme is valid.");
  await change("extensions.ts", extensions, /^stop +Ctrl-C$/m);
  expect(await askTide()).toBe("It is in.");
});

/** How each mistake is told is held where teams are validated; these are one of each kind. */
test("CF-30: while it serves, a mistake is told with its place and the last good build goes on", async () => {
  const mistakes: readonly (readonly [string, string, string])[] = [
    ["extensions.ts", `${extensions}export const more = [;\n`, "config/acme/extensions.ts:15:22 error "],
    ["extensions.ts", `${extensions}while (true) {}\n`, "it is not done after 10 s"],
    ["tides/tide.ts", `${tide}throw new Error("ebb");\n`, "(config/acme/tides/tide.ts:4:7)"],
  ];
  for (const [path, text, place] of mistakes) {
    const said = await change(path, text, new RegExp(kept));
    expect(said).toContain(place);
    expect(await askTide(), place).toBe("It is in.");
    write(path, path === "extensions.ts" ? extensions : tide);
  }
  await change("tides/tide.ts", tide.replace("words.in :", "`${words.in} Swim.` :"), anew);
  await group.until("the new build is served", async () =>
    (await askTide()) === "It is in. Swim." ? true : null,
  );
});

test("CF-6 CF-30: what the types forbid is told behind the build, which is served all the same", async () => {
  const mistaken = extensions.replace("({ hour })", "({ hour, day })");
  const said = await change("extensions.ts", mistaken, /acme is served anyway/);
  expect(said).toMatch(
    /^acme was rebuilt.*\nconfig\/acme\/extensions\.ts:11:17 error extension_invalid: Property 'day' does not exist on type .*\nacme is served anyway; limpet deploy refuses it\.\n$/,
  );
  expect(await askTide()).toBe("It is in. Swim.");
});

test("AP-70: what a tool throws is told with the first place in the team's own code", async () => {
  await change("extensions.ts", extensions, anew);
  const place = "  at config/acme/tides/tide.ts:2:9\n";
  const said = await change(
    "tides/tide.ts",
    tide.replace("  return", '  throw new Error("no tide");\n  return'),
    anew,
  );
  expect(said).toBe("acme was rebuilt; new sessions begin with it\n");
  const from = group.output().length;
  await group.until("the new build is served", async () =>
    (await askTide()) === "failed: no tide" ? true : null,
  );
  await group.until("the place is told", () => since(from).includes(place) || null);
  expect(since(from)).toBe(`tide_at threw: no tide\n${place}`);
  await change("tides/tide.ts", tide.replace("words.in :", "`${words.in} Swim.` :"), anew);
});

test("CF-30: what only the runtime refuses ends no more than the server's run until it is mended", async () => {
  write("../common.ts", "export const timer = setTimeout(() => undefined, 1);\n");
  const importing = `import { timer } from "../common.ts";\nvoid timer;\n${extensions}`;
  const said = await change("extensions.ts", importing, /Fix it: the server starts again/);
  expect(said).toContain("Disallowed operation called within global scope");
  write("extensions.ts", extensions);
  await group.until("it serves again", async () =>
    (await askTide().catch(() => null)) === "It is in. Swim." ? true : null,
  );
});
