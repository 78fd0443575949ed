import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, "..", file), "utf8"));

const lock = read("package-lock.json") as { readonly packages: Readonly<Record<string, Locked>> };

interface Entry extends Locked {
  readonly name: string;
}

/** The packages that are installed, by the names that the registry knows them by. */
const entries = Object.entries(lock.packages).flatMap(([path, locked]): Entry[] =>
  path === "" ? [] : [{ ...locked, name: locked.name ?? path.slice(path.lastIndexOf("node_modules/") + 13) }],
);

/** Whether `name` is found from the package at `from`, by walking up as Node does. */
const isLocked = (from: string, name: string): boolean => {
  if (`${from === "" ? "" : `${from}/`}node_modules/${name}` in lock.packages) return true;
  return from !== "" && isLocked(from.slice(0, Math.max(0, from.lastIndexOf("node_modules/") - 1)), name);
};

test("the lock file holds every package for every platform, or npm ci refuses a fresh clone", () => {
  const missing = Object.entries(lock.packages).flatMap(([from, locked]) =>
    Object.keys({ ...locked.dependencies, ...locked.devDependencies, ...locked.optionalDependencies })
      .filter((name) => !isLocked(from, name))
      .map((name) => `${from} needs ${name}`),
  );
  expect(missing).toEqual([]);
});

const others =
  "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc";
const more = `${others} linux-arm64-musl linux-x64-musl`;

/** Builds for other platforms that the registry did not serve where this lock file was made: npm takes them by name and version alone. */
const unchecked = Object.entries({
  "@cloudflare/workerd-": "darwin-64 darwin-arm64 windows-64",
  "@oxlint-tsgolint/": "darwin-arm64 darwin-x64 win32-arm64 win32-x64",
  "@oxc-parser/binding-": others,
  "@oxfmt/binding-": more,
  "@oxlint/binding-": more,
}).flatMap(([prefix, platforms]) => platforms.split(" ").map((platform) => prefix + platform));

/** Where the registry has a package. */
const addressOf = ({ name, version }: Entry): string =>
  `https://registry.npmjs.org/${name}/-/${name.slice(name.indexOf("/") + 1)}-${version}.tgz`;

test("RE-T34: each package is locked to its address at the npm registry and its SHA-512, but for the builds of platforms that are named here", () => {
  const open = entries.filter(({ resolved, integrity }) => resolved === undefined && integrity === undefined);
  expect(open.map(({ name }) => name).toSorted()).toEqual(unchecked.toSorted());
  expect(open.filter(({ optional, os }) => optional !== true || os === undefined)).toEqual([]);
  for (const entry of entries.filter((each) => !open.includes(each))) {
    expect(entry.resolved, entry.name).toBe(addressOf(entry));
    expect(entry.integrity, entry.name).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  }
});

test("RE-T34: only these packages have install scripts, and npm 11 is told to run that of node alone", () => {
  const scripted = entries.filter(({ hasInstallScript }) => hasInstallScript === true);
  const names = scripted.map(({ name }) => name).toSorted();
  expect(names).toEqual(["@mongodb-js/zstd", "esbuild", "node", "node-liblzma", "workerd"]);
  const { allowScripts } = read("package.json") as { allowScripts: Readonly<Record<string, boolean>> };
  expect(allowScripts).toEqual(Object.fromEntries(names.map((name) => [name, name === "node"])));
});
