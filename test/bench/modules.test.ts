import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readModules, roomOf } from "./modules.ts";

test("a place in a bundle belongs to the module whose comment stands above it", () => {
  const folder = mkdtempSync(join(tmpdir(), "limpet-modules-"));
  const bundle = join(folder, "worker.js");
  const text = `import "x";
// ../../home/limpet/node_modules/zod/src/core.js
const a = 1; // src/none.ts
  // ../../home/limpet/src/agent/loop/next.ts
const b = 2;
`;
  writeFileSync(bundle, text);
  const { atLine, atOffset } = readModules(bundle);
  rmSync(folder, { recursive: true });
  expect([0, 2, 4].map(atLine)).toEqual([
    "bundler",
    "node_modules/zod/src/core.js",
    "src/agent/loop/next.ts",
  ]);
  expect(atOffset(text.indexOf("const a"))).toBe("node_modules/zod/src/core.js");
  expect(atOffset(text.indexOf("const b"))).toBe("src/agent/loop/next.ts");
});

test("a room is a folder of ours, or a package", () => {
  expect(
    [
      "src/agent/loop/next.ts",
      "src/chat/text.ts",
      "src/toolboxes/mcp/deep/client.ts",
      "durable-objects/session.ts",
      "durable-objects/rows/store.ts",
      "node_modules/hono/dist/router.js",
      "node_modules/@anthropic-ai/sdk/core/error.mjs",
    ].map(roomOf),
  ).toEqual([
    "src/agent/loop",
    "src/chat",
    "src/toolboxes/mcp",
    "durable-objects",
    "durable-objects/rows",
    "node_modules/hono",
    "node_modules/@anthropic-ai/sdk",
  ]);
});
