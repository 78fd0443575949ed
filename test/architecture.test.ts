import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** Who may import whom. A room may import itself and the rooms listed. */
const rooms: Record<string, readonly string[]> = {
  "src/schema.ts": [],
  "src/chat": [],
  "src/sandbox": ["src/schema.ts"],
  "src/tools": ["src/schema.ts", "src/chat", "src/sandbox"],
  "src/model": ["src/schema.ts", "src/chat", "src/sandbox", "src/tools"],
  "src/protocols": ["src/chat", "src/tools", "src/model"],
  "src/providers": ["src/schema.ts", "src/chat", "src/tools", "src/model", "src/protocols"],
  "src/agent": ["src/schema.ts", "src/chat", "src/sandbox", "src/tools", "src/model"],
  "src/effects": ["src/schema.ts", "src/chat", "src/sandbox", "src/tools", "src/model", "src/agent"],
  "src/guards": ["src/schema.ts", "src/chat", "src/sandbox", "src/tools", "src/model", "src/agent"],
  "src/toolboxes": ["src/chat", "src/sandbox", "src/tools"],
  "src/config": [
    "src/schema.ts",
    "src/chat",
    "src/sandbox",
    "src/tools",
    "src/model",
    "src/providers",
    "src/agent",
    "src/effects",
    "src/guards",
    "src/toolboxes",
  ],
  "src/engine": [
    "src/chat",
    "src/sandbox",
    "src/tools",
    "src/model",
    "src/protocols",
    "src/providers",
    "src/agent",
    "src/effects",
    "src/guards",
    "src/toolboxes",
    "src/config",
  ],
  "durable-objects": [
    "src/chat",
    "src/sandbox",
    "src/tools",
    "src/model",
    "src/agent",
    "src/config",
    "src/engine",
  ],
  "src/api": ["src/chat", "src/tools", "src/agent", "src/config", "src/engine", "src/console"],
  "src/cli": ["src/config", "src/engine"],
  "src/console": [],
  "src/index.ts": [
    "src/chat",
    "src/tools",
    "src/providers",
    "src/toolboxes",
    "src/api",
    "src/agent",
    "src/config",
    "src/engine",
    "durable-objects",
  ],
};
/** Rooms of which another may import types only. */
const typesOnly: Record<string, readonly string[]> = { "src/api": ["durable-objects"] };

/** Third parties, and the only rooms that may use them. */
const thirdParties: Record<string, readonly string[]> = {
  "@anthropic-ai/sdk": ["src/protocols"],
  openai: ["src/protocols"],
  hono: ["src/api", "src/sandbox/worker"],
  yaml: ["src/config"],
  "just-bash": ["src/sandbox/worker"],
  "#shell": ["src/sandbox/worker"],
  vite: ["src/cli"],
  re2js: ["src/sandbox/worker"],
  "cloudflare:workers": ["durable-objects", "src/sandbox/worker"],
  zod: ["src", "durable-objects"],
  node: ["src/cli", "src/config/files"],
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

const sources = ["src", "durable-objects"].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes(".wrangler"))
    .map((name) => join(top, name)),
);

const imports: Import[] = sources.flatMap((file) => {
  const text = readFileSync(join(root, file), "utf8");
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\s+from\s+)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g,
  );
  return [...found].map((match) => ({
    file,
    typeOnly: match[1] !== undefined,
    target: match[2] ?? match[3] ?? "",
  }));
});

const roomOf = (path: string): string => {
  const names = Object.keys(rooms).filter((room) => path === room || path.startsWith(`${room}/`));
  return names.sort((a, b) => b.length - a.length)[0] ?? path;
};

test("every source file stands in a room of the table", () => {
  expect(sources.filter((file) => rooms[roomOf(file)] === undefined)).toEqual([]);
});

test("rooms import only what the table allows", () => {
  const wrong = imports
    .filter(({ target }) => target.startsWith("."))
    .map((entry) => ({
      ...entry,
      from: roomOf(entry.file),
      to: roomOf(relative(root, resolve(root, dirname(entry.file), entry.target))),
    }))
    .filter(
      ({ from, to, typeOnly }) =>
        from !== to &&
        !(rooms[from] ?? []).includes(to) &&
        !(typeOnly && (typesOnly[from] ?? []).includes(to)),
    )
    .map(({ file, target }) => `${file} imports ${target}`);
  expect(wrong).toEqual([]);
});

test("third parties stay in their rooms", () => {
  const wrong = imports
    .filter(({ target }) => !target.startsWith("."))
    .filter(({ file, target }) => {
      const name = target.startsWith("node:")
        ? "node"
        : Object.keys(thirdParties).find((party) => target === party || target.startsWith(`${party}/`));
      return name === undefined || !(thirdParties[name] ?? []).some((room) => file.startsWith(room));
    })
    .map(({ file, target }) => `${file} imports ${target}`);
  expect(wrong).toEqual([]);
});

test("relative imports name the file with its ending", () => {
  expect(imports.filter(({ target }) => target.startsWith(".") && !/\.(ts|tsx|json)$/.test(target))).toEqual(
    [],
  );
});

test("the rooms form no cycle", () => {
  const visit = (room: string, path: readonly string[]): readonly string[] =>
    path.includes(room)
      ? [[...path, room].join(" → ")]
      : (rooms[room] ?? []).flatMap((next) => visit(next, [...path, room]));
  expect(Object.keys(rooms).flatMap((room) => visit(room, []))).toEqual([]);
});
