import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root, runCommand, startGroup } from "../support/dev-server.ts";
import { copyProject } from "../support/project-copy.ts";
import type { ProjectCopy } from "../support/project-copy.ts";

/** The client as others get it: packed, unpacked in a folder that has nothing else, imported and compiled. */

let project: ProjectCopy;
let folder: string;

const inPackage = (path: string): string => join(folder, "node_modules/limpet", path);

beforeAll(async () => {
  project = copyProject({ packages: true, console: true });
  folder = mkdtempSync(join(tmpdir(), "limpet-consumer-"));
  await runCommand("npm", ["pack", "--pack-destination", folder], { cwd: project.folder });
  const [archive = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  mkdirSync(inPackage("."), { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, archive), "-C", inPackage("."), "--strip-components=1"]);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
});

afterAll(() => {
  project?.remove();
  rmSync(folder, { recursive: true, force: true });
});

test("AP-51: the packed client has at most 12 KiB and imports nothing", () => {
  const code = readFileSync(inPackage("dist/client.js"));
  expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(12 * 1024);
  expect(code.toString("utf8")).not.toMatch(/\bimport\b\s*[{(*"']|\brequire\(/);
  expect(readFileSync(inPackage("dist/client.d.ts"), "utf8")).not.toMatch(/\bimport\b|\bzod\b/);
  expect(JSON.parse(readFileSync(inPackage("package.json"), "utf8"))).not.toHaveProperty("dependencies");
});

test("AP-51: it is imported by its name in Node", async () => {
  const code = `
    import { createClient, LimpetError } from "limpet/client";
    const client = createClient({ url: "http://127.0.0.1:9" });
    const fault = await client.sessions.list().catch((error) => error);
    if (!(fault instanceof LimpetError)) throw fault;
    console.log(fault.problem.code, fault.message);
  `;
  writeFileSync(join(folder, "use.mjs"), code);
  const said = await runCommand(process.execPath, ["use.mjs"], { cwd: folder });
  expect(said).toBe("unreachable http://127.0.0.1:9 cannot be reached; is a server running there?\n");
});

test("AP-51: what Node prints of an error that nobody catches can be read", async () => {
  const code = `import { createClient } from "limpet/client";
    await createClient({ url: "http://127.0.0.1:9" }).sessions.list();`;
  writeFileSync(join(folder, "uncaught.mjs"), code);
  const group = startGroup(process.execPath, ["uncaught.mjs"], { cwd: folder });
  expect(await group.ended).toBe(1);
  expect(group.output()).toContain("LimpetError: http://127.0.0.1:9 cannot be reached");
  expect(
    Math.max(
      ...group
        .output()
        .split("\n")
        .map(({ length }) => length),
    ),
  ).toBeLessThan(250);
});

test("AP-53: its command line speaks with a server, and says where the other commands work", async () => {
  const { bin } = JSON.parse(readFileSync(inPackage("package.json"), "utf8")) as { bin: { limpet: string } };
  const limpet = async (...words: readonly string[]) => {
    const group = startGroup(process.execPath, [inPackage(bin.limpet), ...words], { cwd: folder });
    return { code: await group.ended, said: group.output() };
  };
  expect(await limpet("sessions", "--url", "http://127.0.0.1:9")).toEqual({
    code: 3,
    said: "No server answers at http://127.0.0.1:9: is that its address? Name another by --url or LIMPET_URL.\n",
  });
  for (const command of ["validate", "build", "deploy", "explain", "new-team"])
    expect(await limpet(command)).toEqual({
      code: 2,
      said: `limpet ${command} works on a project: run it in a clone of Limpet, not from its package.\n`,
    });
  expect((await limpet("chat", "--help")).said).toMatch(/^limpet chat \[session\] /);
});

/** Compiles a module as a strict consumer does; gives what the compiler says. */
const compile = async (code: string): Promise<string> => {
  writeFileSync(join(folder, "use.mts"), code);
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noEmit"];
  const place = ["--target", "es2023", "--module", "nodenext", "--lib", "es2024,dom,dom.iterable,esnext"];
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  try {
    return await runCommand(process.execPath, [compiler, ...strict, ...place, "--types", "", "use.mts"], {
      cwd: folder,
    });
  } catch (error) {
    return String(error);
  }
};

test("AP-51: its types compile for strict consumers: events are told apart by their type", async () => {
  const code = `
    import { createClient } from "limpet/client";
    import type { Transcript } from "limpet/client";
    const client = createClient({ url: "http://x", getToken: async () => "t" });
    const session = await client.sessions.create({ agent: "guide", metadata: { user: "1" } });
    for await (const event of session.events({ types: ["run_end"] }))
      if (event.type === "run_end") console.log(event.data.result.text, event.data.state === "completed");
    const open = session.open();
    const now: Transcript = open.getSnapshot();
    for (const entry of now.threads[0]?.entries ?? [])
      if (entry.kind === "call") console.log(entry.tool, entry.changes.length);
      else if (entry.kind === "message") console.log(entry.parts.length);
    const keys = await client.call("list_keys", { limit: 10 });
    console.log(keys.data[0]?.scopes, (await client.call("get", { session: session.id })).usage.cost_usd);
    const nothing: null = await client.call("revoke_key", { key: "k" });
    const tasks = await client.call("tasks", { session: session.id });
    const blocked: boolean | undefined = tasks.data[0]?.blocked;
    const agents = await client.call("agents", {});
    console.log(nothing, blocked, agents.data.map(({ name, tools }) => name + tools.length), agents.next_cursor);
    const sent = await client.call("send", { session: session.id, content: "x", wait: 60 });
    console.log("result" in sent ? sent.result?.text : sent.input, (await session.send("y")).seq);
  `;
  expect(await compile(code)).toBe("");
});

test.each([
  ["an unknown parameter", 'await session.send({ content: "x", mode: "now" });', "'mode' does not exist"],
  ["a missing parameter", 'await client.call("run", { session: "s" });', "'run' is missing"],
  ["an unknown operation", 'await client.call("launch", {});', '"launch"'],
  [
    "a field that an answer does not have",
    'console.log((await client.call("list_grants", {})).data[0]?.colour);',
    "'colour'",
  ],
  [
    "data of another event",
    'for await (const e of session.events()) if (e.type === "run_end") e.data.tool;',
    "'tool'",
  ],
])("AP-51: %s does not compile", async (_, line, said) => {
  const code = `
    import { createClient } from "limpet/client";
    const client = createClient({ url: "http://x" });
    const session = client.sessions.get("s");
    ${line}
  `;
  expect(await compile(code)).toContain(said);
});
