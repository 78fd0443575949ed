import * as fc from "fast-check";
import { expect, test } from "vitest";
import { applyFileChanges } from "../../../src/agent/state/files.ts";
import type { FileChange } from "../../../src/sandbox/contract.ts";

const none: Parameters<typeof applyFileChanges>[0] = { created: [], modified: [], deleted: [] };

const change = (op: FileChange["op"], path: string, from?: string): FileChange => ({
  op,
  path,
  ...(from === undefined ? {} : { from }),
});

test.each([
  ["created and edited is created", [change("create", "a"), change("modify", "a")], { created: ["a"] }],
  ["edited twice is modified once", [change("modify", "a"), change("modify", "a")], { modified: ["a"] }],
  ["edited and deleted is deleted", [change("modify", "a"), change("delete", "a")], { deleted: ["a"] }],
  [
    "created and deleted is nothing",
    [change("create", "a"), change("modify", "a"), change("delete", "a")],
    {},
  ],
  ["deleted and made again is modified", [change("delete", "a"), change("create", "a")], { modified: ["a"] }],
  [
    "edited, deleted, made again and deleted is deleted",
    [change("modify", "a"), change("delete", "a"), change("create", "a"), change("delete", "a")],
    { deleted: ["a"] },
  ],
  ["moved is deleted there and created here", [change("move", "b", "a")], { created: ["b"], deleted: ["a"] }],
  [
    "created and moved is created at its place",
    [change("create", "a"), change("move", "b", "a")],
    { created: ["b"] },
  ],
  [
    "moved and moved back is modified",
    [change("move", "b", "a"), change("move", "a", "b")],
    { modified: ["a"] },
  ],
  [
    "moved over an edited file is modified",
    [change("modify", "b"), change("move", "b", "a")],
    { modified: ["b"], deleted: ["a"] },
  ],
] as const)("SE-44: a file that is %s", (_, changes, expected) => {
  expect(applyFileChanges(none, changes)).toEqual({ ...none, ...expected });
  const oneByOne = changes.reduce((files, each) => applyFileChanges(files, [each]), none);
  expect(oneByOne).toEqual({ ...none, ...expected });
});

test("SE-44: whatever a run does, a file stands in one list at most, and the lists tell what it comes to", () => {
  const names = ["a", "b", "c"];
  fc.assert(
    fc.property(
      fc.subarray(names),
      fc.array(
        fc.tuple(
          fc.constantFrom("write", "delete", "move"),
          fc.constantFrom(...names),
          fc.constantFrom(...names),
        ),
        {
          maxLength: 12,
        },
      ),
      (atStart, steps) => {
        const disk = new Set(atStart);
        const changes = steps.flatMap(([step, path, from]): FileChange[] => {
          if (step === "write") {
            const op = disk.has(path) ? "modify" : "create";
            disk.add(path);
            return [change(op, path)];
          }
          if (step === "delete") return disk.delete(path) ? [change("delete", path)] : [];
          if (path === from || !disk.has(from) || disk.has(path)) return [];
          disk.delete(from);
          disk.add(path);
          return [change("move", path, from)];
        });
        const { created, modified, deleted } = applyFileChanges(none, changes);
        const all = [...created, ...modified, ...deleted];
        expect(new Set(all).size).toBe(all.length);
        expect(created.toSorted()).toEqual([...disk].filter((path) => !atStart.includes(path)).toSorted());
        expect(deleted.toSorted()).toEqual(atStart.filter((path) => !disk.has(path)).toSorted());
        expect(modified.every((path) => disk.has(path) && atStart.includes(path))).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
});
