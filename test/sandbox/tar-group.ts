import { packTar, unpackTar } from "modern-tar";
import type { TarEntry } from "modern-tar";
import { expect, test } from "vitest";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf, everything, freshKey } from "./bench.ts";

/** Folders as tar archives (AP-45). */

const fileOf = (name: string, body: string): TarEntry => ({
  header: { name, size: new TextEncoder().encode(body).length },
  body,
});

const linkOf = (type: "symlink" | "link", name: string, linkname: string): TarEntry => ({
  header: { name, type, size: 0, linkname },
});

const archiveOf = async (...entries: readonly TarEntry[]): Promise<Uint8Array<ArrayBuffer>> =>
  Uint8Array.from(await packTar([...entries]));

export function tarGroup(connect: () => Fetcher): void {
  const open = () => {
    const own = bench(connect);
    const files = createWorkspaceFiles(own.fetcher, own.id);
    const unpack = (archive: Uint8Array<ArrayBuffer>, path = ".", key = freshKey()) =>
      files.unpack(path, new Blob([archive]).stream(), { key });
    const pack = async (path: string) =>
      (await unpackTar(await (await files.pack(path)).arrayBuffer())).map(({ header, data }) => [
        header.name,
        header.type,
        new TextDecoder().decode(data),
      ]);
    return { ...own, files, unpack, pack };
  };
  const long = `${"deep/".repeat(40)}ümläut`;

  test("AP-45 TB-28: what one archive unpacks, another packs again: files and folders, long names and empty ones", async () => {
    const { sandbox, unpack, pack, run } = open();
    const folder: TarEntry = { header: { name: "empty/", type: "directory", size: 0 } };
    const bytes = "x".repeat(3_000);
    const { changes } = await unpack(
      await archiveOf(fileOf("a", bytes), folder, fileOf(long, "1\n"), fileOf("e", "")),
    );
    expect(changes.map(({ path, op }) => [path, op])).toEqual([
      ["a", "create"],
      [long, "create"],
      ["e", "create"],
    ]);
    expect(changes[1]?.diff).toContain("+1");
    expect(Object.keys(await everything(sandbox))).toEqual(["a", long, "e"]);
    await run("ln -s a link");
    const packed = await pack(".");
    expect(packed.filter(([, type]) => type === "file")).toEqual([
      ["a", "file", bytes],
      [long, "file", "1\n"],
      ["e", "file", ""],
    ]);
    expect(packed.map(([name]) => name)).toContain("empty/");
    expect(packed.map(([name]) => name)).not.toContain("link");
    expect((await pack("deep")).at(-1)).toEqual([long.slice("deep/".length), "file", "1\n"]);
    expect(await codeOf(pack("a"))).toBe("conflict");
    expect(await codeOf(pack("none"))).toBe("workspace_read_not_found");
  });

  test("AP-45: a program stays one through an archive, both ways; no other right comes with it", async () => {
    const { unpack, files } = open();
    const modes = async () =>
      (await unpackTar(await (await files.pack(".")).arrayBuffer())).map(({ header }) => [
        header.name,
        header.mode,
      ]);
    const withMode = (name: string, mode: number): TarEntry => {
      const { header, ...rest } = fileOf(name, "echo gone\n");
      return { header: { ...header, mode }, ...rest };
    };
    await unpack(await archiveOf(withMode("a", 0o600), withMode("go.sh", 0o4777)));
    expect(await modes()).toEqual([
      ["a", 0o644],
      ["go.sh", 0o755],
    ]);
    await unpack(await archiveOf(withMode("go.sh", 0o644)));
    expect(await modes()).toContainEqual(["go.sh", 0o644]);
  });

  test("★ AP-45 TB-30: a path that leads out, a link, a device end it by name; those before it stay, nothing is outside", async () => {
    const { sandbox, unpack, run, put } = open();
    await put("kept", "x");
    await run("ln -s /tmp out; mkdir -p in");
    const bad: readonly (readonly [TarEntry, string])[] = [
      [fileOf("../x", "1"), "../x"],
      [fileOf("in/../../x", "1"), "in/../../x"],
      [fileOf("in/../x", "1"), "in/../x"],
      [fileOf("caf\uFFFD", "1"), "caf"],
      [fileOf("/etc/x", "1"), "/etc/x"],
      [fileOf("out/x", "1"), "out/x"],
      [fileOf(".git/hooks/x", "1"), ".git/hooks/x"],
      [fileOf(".skills/x", "1"), ".skills/x"],
      [fileOf("kept/x", "1"), "kept/x"],
      [linkOf("symlink", "soft", "kept"), "soft"],
      [linkOf("link", "hard", "kept"), "hard"],
      [{ header: { name: "dev", type: "character-device", size: 0 } }, "dev"],
    ];
    for (const [index, [entry, name]] of bad.entries()) {
      const archive = await archiveOf(fileOf(`before${index}`, "1"), entry, fileOf("after", "2"));
      await expect(unpack(archive), name).rejects.toMatchObject({
        message: expect.stringContaining(name),
      });
    }
    const names = bad.map((_, index) => `before${index}`);
    const left = Object.keys(await everything(sandbox)).filter((name) => name !== "out");
    expect(left.toSorted()).toEqual([...names, "kept"].toSorted());
  });

  test("AP-45: over 32 MiB unpacked, over 2000 entries, or no whole archive: refused, what came before stays", async () => {
    const { sandbox, unpack, pack, put } = open();
    const half = new Uint8Array(16 * 1024 * 1024 + 1);
    const large = (name: string): TarEntry => ({ header: { name, size: half.length }, body: half });
    expect(await codeOf(unpack(await archiveOf(large("one"), large("two"))))).toBe("payload_too_large");
    expect((await sandbox.list(".")).map(({ name }) => name)).toEqual(["one"]);
    await put("more", half);
    expect(await codeOf(pack("."))).toBe("payload_too_large");
    const many = Array.from({ length: 2001 }, (_, n) => fileOf(`many/${n}`, ""));
    await expect(unpack(await archiveOf(...many))).rejects.toMatchObject({
      code: "payload_too_large",
      message: expect.stringContaining("many/2000"),
    });
    const whole = await archiveOf(fileOf("cut/a", "1"), fileOf("cut/b", "2".repeat(2000)));
    for (const size of [0, 100, 1_600, 2_600, whole.length - 1024])
      await expect(unpack(whole.slice(0, size)), `cut at ${size}`).rejects.toMatchObject({
        code: "invalid_request",
        message: expect.stringContaining("not a complete tar archive"),
      });
    expect((await sandbox.list("cut")).length).toBeGreaterThan(0);
    expect(await codeOf(unpack(Uint8Array.from(new TextEncoder().encode("no archive".repeat(200)))))).toBe(
      "invalid_request",
    );
  });

  test("AP-45 TB-12: an archive is unpacked once per key, and an ended key says what its entries did", async () => {
    const { sandbox, unpack, put, text } = open();
    const archive = await archiveOf(fileOf("a", "1"), fileOf("b", "2"));
    const first = await unpack(archive, "into", "once");
    await put("into/a", "mine");
    expect(await unpack(archive, "into", "once")).toEqual(first);
    expect(await text("into/a")).toBe("mine");
    expect(await codeOf(unpack(await archiveOf(fileOf("a", "other")), "into", "once"))).toBe("key_reused");
    await expect(unpack(await archiveOf(fileOf("c", "1"), fileOf("../d", "2")), ".", "half")).rejects.toThrow(
      "../d",
    );
    expect(await sandbox.settle("half")).toMatchObject({
      changes: [{ path: "c", op: "create" }],
      partial: true,
    });
    expect(await sandbox.settle("once")).toEqual(first);
    expect(await codeOf(unpack(await archiveOf(fileOf("c", "1"), fileOf("d", "2")), ".", "half"))).toBe(
      "capacity_exceeded",
    );
    expect(await codeOf(text("d"))).toBe("workspace_read_not_found");
  });
}
