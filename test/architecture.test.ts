import { existsSync, readFileSync, readdirSync } from "node:fs";
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
  "src/protocols": ["src/chat", "src/sandbox", "src/tools", "src/model"],
  "src/providers": ["src/schema.ts", "src/chat", "src/tools", "src/model", "src/protocols"],
  "src/agent": ["src/schema.ts", "src/chat", "src/sandbox", "src/tools", "src/model"],
  "src/driver": ["src/chat", "src/sandbox", "src/tools", "src/model", "src/agent"],
  "src/session": ["src/schema.ts", "src/chat", "src/sandbox", "src/tools", "src/model", "src/agent"],
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
    "src/session",
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
    "src/driver",
    "src/session",
    "src/config",
    "src/engine",
  ],
  "src/api": ["src/chat", "src/sandbox", "src/tools", "src/session", "src/config", "src/engine"],
  "src/client": [],
  // The build makes the documents of the API; no room that the Worker loads imports them.
  "src/api/documents": [
    "src/chat",
    "src/sandbox",
    "src/tools",
    "src/model",
    "src/agent",
    "src/session",
    "src/engine",
    "src/api",
  ],
  "src/cli": [
    "src/chat",
    "src/config",
    "src/engine",
    "src/toolboxes",
    "src/session",
    "src/api",
    "src/api/documents",
    "src/client",
  ],
  "src/console": ["src/client"],
  "src/index.ts": [
    "src/chat",
    "src/tools",
    "src/protocols",
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
const typesOnly: Record<string, readonly string[]> = {
  "src/api": ["durable-objects"],
  "src/client": ["src/chat", "src/sandbox", "src/model", "src/agent", "src/session"],
  "src/console": ["src/chat", "src/sandbox", "src/model", "src/agent", "src/session"],
};

/** Third parties, and the only rooms that may use them. */
const thirdParties: Record<string, readonly string[]> = {
  "@anthropic-ai/sdk": ["src/protocols"],
  openai: ["src/protocols"],
  hono: ["src/api", "src/sandbox/worker"],
  preact: ["src/console"],
  htmlparser2: ["src/toolboxes"],
  "@modelcontextprotocol/client": ["src/toolboxes/mcp"],
  yaml: ["src/config"],
  "just-bash": ["src/sandbox/worker"],
  "#shell": ["src/sandbox/worker"],
  "just-git": ["src/sandbox/worker"],
  "#git": ["src/sandbox/worker"],
  vite: ["src/cli"],
  "smol-toml": ["src/cli"],
  re2js: ["src/sandbox/worker"],
  "modern-tar": ["src/sandbox/worker"],
  "cloudflare:workers": ["durable-objects", "src/sandbox/worker"],
  zod: ["src", "durable-objects"],
  node: [
    "src/cli",
    "src/config/build/files",
    "src/sandbox/base64",
    "src/sandbox/worker/byte-text",
    "src/sandbox/worker/meter",
    "src/sandbox/worker/shell/files",
    "durable-objects/rows/pack",
  ],
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

/** Rooms of the core. Each may import itself and those before it, types too. */
const core = [
  "state",
  "definition",
  "transaction",
  "asks",
  "budgets",
  "context",
  "calls",
  "memory",
  "hooks",
  "inputs",
  "turn",
  "stores",
  "run",
  "delegation",
  "loop",
];

/** Files of the core that name promises or signals: types of what effects, memories and teams' code are. */
const namesPromises = [
  "src/agent/definition/checks.ts",
  "src/agent/definition/effect.ts",
  "src/agent/definition/memory.ts",
  "src/agent/hooks/effects.ts",
];

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
    .map(({ file, target }) => `${file} imports ${relative(root, resolve(root, dirname(file), target))}`);
  expect(wrong).toEqual([]);
});

const positionInCore = (path: string): number => core.indexOf(/^src\/agent\/(\w+)\//.exec(path)?.[1] ?? "");

test("rooms of the core import only those before them", () => {
  const found = imports
    .filter(({ file, target }) => file.startsWith("src/agent/") && target.startsWith("."))
    .map(({ file, target }) => ({ file, to: relative(root, resolve(root, dirname(file), target)) }));
  const wrong = found
    .filter(({ file, to }) => positionInCore(to) > positionInCore(file) || to.startsWith("src/session/"))
    .map(({ file, to }) => `${file} imports ${to}`);
  expect([...new Set(wrong)].sort()).toEqual([]);
  expect(found.filter(({ file }) => positionInCore(file) < 0)).toEqual([]);
});

test("the core waits for nothing", () => {
  const wrong = sources
    .filter((file) => file.startsWith("src/agent/"))
    .filter((file) =>
      /\basync \(|\bawait\b|\bPromise\b|\bAbortSignal\b/.test(readFileSync(join(root, file), "utf8")),
    );
  expect(wrong.sort()).toEqual(namesPromises);
});

/**
 * Lines of the READMEs that are longer than a page: the map of the code, how to write a team, a page with the client,
 * and the table of operations, which a new one makes longer.
 */
const manuals: Readonly<Record<string, number>> = {
  src: 180,
  config: 245,
  "src/client": 100,
  "src/session": 80,
};

test("every room says what it is for, in at most a page", () => {
  const tops = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = ["src", "durable-objects", "config", "test", ...tops.map(({ name }) => `src/${name}`)];
  const lengths = folders.map((folder) => {
    const file = join(root, folder, "README.md");
    return [folder, existsSync(file) ? readFileSync(file, "utf8").split("\n").length : Infinity] as const;
  });
  expect(lengths.filter(([folder, lines]) => lines > (manuals[folder] ?? 60))).toEqual([]);
});

test("the map and the rooms' READMEs name files that are there", () => {
  const missing = (folder: string): string[] => {
    const text = readFileSync(join(root, folder, "README.md"), "utf8");
    const named = [...text.matchAll(/`((?:[\w.-]+\/)*[\w-]+\.(?:ts|md)|(?:[\w-]+\/)+)`/g)].map(
      (match) => match[1] ?? "",
    );
    const inside = folder === "src" ? sources : sources.filter((file) => file.startsWith(`${folder}/`));
    return named
      .filter((name) => !inside.some((file) => `/${file}`.includes(`/${name}`)))
      .filter((name) => ![folder, "src", "."].some((base) => existsSync(join(root, base, name))))
      .map((name) => `${folder}/README.md: ${name}`);
  };
  const tops = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(["src", "durable-objects", ...tops.map(({ name }) => `src/${name}`)].flatMap(missing)).toEqual([]);
});

test("an exported type name stands in one file", () => {
  const files = new Map<string, Set<string>>();
  for (const file of sources) {
    const found = readFileSync(join(root, file), "utf8").matchAll(/^export (?:interface|type|class) (\w+)/gm);
    for (const [, name = ""] of found) files.set(name, (files.get(name) ?? new Set()).add(file));
  }
  expect([...files].filter(([, places]) => places.size > 1)).toEqual([]);
});

test("no folder of source holds more than 20 files", () => {
  const counts = new Map<string, number>();
  for (const file of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > 20)).toEqual([]);
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
  expect(
    imports.filter(({ target }) => target.startsWith(".") && !/\.(ts|tsx|json|css)$/.test(target)),
  ).toEqual([]);
});

test("the rooms form no cycle", () => {
  const visit = (room: string, path: readonly string[]): readonly string[] =>
    path.includes(room)
      ? [[...path, room].join(" → ")]
      : (rooms[room] ?? []).flatMap((next) => visit(next, [...path, room]));
  expect(Object.keys(rooms).flatMap((room) => visit(room, []))).toEqual([]);
});

/** What runs outside Durable Objects: nothing of it is kept in memory by a timer. */
const outsideObjects = /^src\/(api|cli|client|console)\//;

test("a time limit leaves no timer, which would keep a Durable Object in memory: no AbortSignal.timeout there", () => {
  const found = sources.filter(
    (file) =>
      !outsideObjects.test(file) && readFileSync(join(root, file), "utf8").includes("AbortSignal.timeout("),
  );
  expect(found).toEqual([]);
});
