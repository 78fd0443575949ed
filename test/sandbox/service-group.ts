import { unpackTar } from "modern-tar";
import { expect, test } from "vitest";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, freshKey } from "./bench.ts";

/** Capabilities, settings, errors, and the end of a sandbox. */
export function serviceGroup(connect: () => Fetcher): void {
  test("TB-28: every answer names its instance, the same until the memory of commands is lost", async () => {
    const { raw, run, sandbox, put } = bench(connect);
    const instance = await sandbox.instance();
    expect(instance).not.toBe("");
    await run("true");
    for (const response of [
      await raw("GET", "/running"),
      await raw("GET", "/file/workspace/none"),
      await raw("POST", "/exec", { body: "{}" }),
    ]) {
      expect(response.headers.get("Sandbox-Instance")).toBe(instance);
    }
    await put("a", "x");
    expect((await raw("DELETE", "")).status).toBe(204);
    expect((await raw("GET", "/running")).headers.get("Sandbox-Instance")).not.toBe(instance);
    expect((await raw("GET", "/file/workspace/a")).status).toBe(404);
  });

  test("TB-36: a capability that is not claimed answers 501", async () => {
    const { raw, sandbox } = bench(connect);
    const { processes, git, persistent, egress } = await sandbox.capabilities();
    const statusOf = async (method: string, path: string, body = "{}"): Promise<number> =>
      (await raw(method, path, method === "GET" ? {} : { body })).status;
    if (!git) expect(await statusOf("POST", "/git/status")).toBe(501);
    if (!processes) {
      expect(await statusOf("PUT", "/mcp/server")).toBe(501);
      expect(await statusOf("POST", "/mcp/server")).toBe(501);
      expect(await statusOf("GET", "/mcp/server")).toBe(501);
    }
    if (persistent) {
      expect(await statusOf("POST", "/persist")).toBe(501);
      expect(await statusOf("POST", "/hydrate")).toBe(501);
    }
    if (egress === "none") {
      expect(await statusOf("PUT", "", '{"egress":["example.com"]}')).toBe(501);
      expect(await statusOf("PUT", "", '{"credentials":[{"host":"h","headers":{}}]}')).toBe(501);
    }
    expect(await statusOf("POST", "/fs/unheard-of")).toBe(501);
    expect(await statusOf("POST", "/search/unheard-of")).toBe(501);
  });

  test("TB-32: without egress no command reaches a network", async () => {
    const { run, sandbox } = bench(connect);
    const { egress } = await sandbox.capabilities();
    if (egress === "open") return;
    const { stdout, code } = await run("curl -s -m 2 http://127.0.0.1:1/ && echo reached");
    expect([stdout, code === 0]).toEqual(["", false]);
  });

  test("TB-28: settings are idempotent and name a field that is wrong", async () => {
    const { raw } = bench(connect);
    const body = JSON.stringify({ limits: { wall: 60_000 }, env: { A: "1" } });
    expect([(await raw("PUT", "", { body })).status, (await raw("PUT", "", { body })).status]).toEqual([
      204, 204,
    ]);
    const wrong = await raw("PUT", "", { body: '{"limits":{"wall":"soon"}}' });
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({ error: expect.stringContaining("limits.wall") });
  });

  test("TB-28: errors are JSON with a sentence and a code, and name no host path", async () => {
    const { raw } = bench(connect);
    const cases = [
      ["GET", "/nowhere", undefined, 404],
      ["POST", "/fs/stat", "not json", 400],
      ["POST", "/fs/stat", "{}", 400],
      ["POST", "/fs/edit", '{"path":"a","old_text":"x","extra":1}', 400],
      ["GET", "/exec/unknown?after=0", undefined, 404],
      ["GET", "/exec/unknown?after=x", undefined, 400],
      ["PUT", "/file/workspace/%E0%A4", "x", 400],
    ] as const;
    for (const [method, path, body, status] of cases) {
      const response = await raw(method, path, body === undefined ? {} : { body });
      expect([path, response.status]).toEqual([path, status]);
      const text = await response.text();
      expect(JSON.parse(text)).toEqual({ error: expect.any(String), code: expect.any(String) });
      expect(text).not.toMatch(/\.ts:|at \w+ \(/);
    }
  });

  test("AG-38: skills lie in .skills, are replaced as a whole, and neither tools nor commands change them", async () => {
    const { fetcher, id, raw, run, sandbox, text } = bench(connect);
    const place = async (digest: string, files: object): Promise<number> =>
      (await raw("PUT", "/skills", { body: JSON.stringify({ digest, files }) })).status;
    if ((await raw("GET", "/skills")).status === 501) return;
    expect(await (await raw("GET", "/skills")).json()).toEqual({ digest: null });
    expect(await place("d1", { "maps/SKILL.md": "Read.", "maps/data/legend.txt": "Blue." })).toBe(204);
    expect(await (await raw("GET", "/skills")).json()).toEqual({ digest: "d1" });
    expect((await run("cat .skills/maps/SKILL.md .skills/maps/data/legend.txt")).stdout).toBe("Read.Blue.");
    for (const script of [
      "echo x > .skills/maps/SKILL.md",
      "rm -r .skills",
      "mv .skills s",
      "touch .skills/new",
    ])
      expect((await run(script)).code, script).not.toBe(0);
    const refused = sandbox.write(".skills/maps/SKILL.md", "x", { key: freshKey() });
    await expect(refused).rejects.toMatchObject({ code: "path_not_writable" });
    expect(await place("d2", { "other/SKILL.md": "Other." })).toBe(204);
    expect(await text(".skills/other/SKILL.md")).toBe("Other.");
    expect((await raw("GET", "/file/workspace/.skills/maps/SKILL.md")).status).toBe(404);
    expect(await sandbox.list(".")).toMatchObject([{ name: ".skills" }]);
    const people = createWorkspaceFiles(fetcher, id);
    expect(await people.list(".", { limit: 1 })).toEqual([]);
    expect(await unpackTar(await (await people.pack(".")).arrayBuffer())).toEqual([]);
    expect(await place("d3", { "../out": "x" })).toBe(400);
    expect(await place("d4", { "a/../../../out": "x" })).not.toBe(204);
    expect(await (await raw("GET", "/skills")).json()).toEqual({ digest: "d2" });
  });

  test("TB-33: the wall limit ends a command whose own time-out is longer", async () => {
    const { raw, run } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { wall: 1000 } }) });
    expect((await run("sleep 30", { timeoutMs: 60_000 })).reason).toBe("timeout");
  });

  test("TB-33: no more commands run at a time than are allowed", async () => {
    const { raw, run, sandbox } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { processes: 1 } }) });
    const first = run("touch on; sleep 30", { timeoutMs: 60_000 }).catch(() => null);
    await expect
      .poll(() =>
        sandbox.stat("on").then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await expect(run("true")).rejects.toMatchObject({ code: "limit" });
    await raw("DELETE", "");
    await first;
  });
}
