import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { needsSession, pathParametersOf } from "../../src/session/define-operation.ts";
import { clientFrameSchema } from "../../src/session/frames.ts";
import { operations } from "../../src/session/operations.ts";

/** The table of operations, from which routes, scopes, keys and frames follow (AP-5, AP-6, AP-11, AP-22). */

test("AP-11: a name and an address belong to one operation each", () => {
  expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
  expect(new Set(operations.map(({ method, path }) => `${method} ${path}`)).size).toBe(operations.length);
});

test("AP-5: what a path names is a parameter that must be there, and only a create and a fork begin sessions", () => {
  const missing = operations.flatMap((operation) => {
    const { shape } = operation.params;
    const fields = new Map(Object.entries(shape));
    return pathParametersOf(operation)
      .filter((name) => fields.get(name)?.safeParse(undefined).success !== false)
      .map((name) => `${operation.name}: ${name}`);
  });
  expect(missing).toEqual([]);
  expect(operations.filter((each) => !needsSession(each)).map(({ name }) => name)).toEqual([
    "create",
    "fork",
  ]);
});

test("AP-22: a command's frame is a call of its operation, with the ids of its path and its body", () => {
  const body = { content: "x", mode: "now", decision: "deny" };
  const cases: readonly [object, string, object][] = [
    [{ type: "send", input: body }, "send", body],
    [{ type: "withdraw", input: "in_1" }, "withdraw", { input: "in_1" }],
    [{ type: "answer", ask: "a1", answer: { ...body, ask: "a2" } }, "answer", { ...body, ask: "a1" }],
    [{ type: "cancel", cancel: body }, "cancel", body],
    [{ type: "cancel" }, "cancel", {}],
  ];
  for (const [frame, op, params] of cases)
    expect(clientFrameSchema.parse({ ...frame, id: "c1" })).toEqual({
      type: "command",
      id: "c1",
      op,
      params,
    });
  const wrong: readonly object[] = [
    { type: "send", id: "c1" },
    { type: "send", input: body },
    { type: "answer", id: "c1", answer: body },
    { type: "withdraw", id: "c1", input: "in_1", withdraw: {} },
    { type: "compact", id: "c1", compact: {} },
    { type: "command", id: "c1", op: "delete", params: {} },
  ];
  for (const frame of wrong) expect(clientFrameSchema.safeParse(frame).success).toBe(false);
});

const room = join(import.meta.dirname, "../../src/session");

/** Returns the file in which the record of each operation stands. */
const recordFiles = (): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(join(room, "operations")).flatMap((file) => {
      const text = readFileSync(join(room, "operations", file), "utf8");
      return [...text.matchAll(/define(?:Read|Write)\(\{\s*name: "(\w+)"/g)].map(
        ([, name = ""]) => [name, file] as const,
      );
    }),
  );

test("the README of the room lists the operations, each with its file and a sentence", () => {
  const text = readFileSync(join(room, "README.md"), "utf8");
  const files = recordFiles();
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const shown = rows.map((line) =>
    line
      .split("|")
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
  expect(shown).toEqual(
    operations.map(({ name, method, path, scopes, summary }) => [
      `\`${name}\``,
      files.get(name),
      `${method} ${path.replace("/v1/sessions/:session", "S")}`,
      scopes.join(", "),
      summary,
    ]),
  );
  expect(operations.filter(({ summary }) => !/^[A-Z][^.]*\.$/.test(summary))).toEqual([]);
});
