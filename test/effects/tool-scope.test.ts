import { expect, test } from "vitest";
import { timeBudget } from "../../src/effects/time-budget.ts";
import { tokenBudget } from "../../src/effects/token-budget.ts";
import { toolScope } from "../../src/effects/tool-scope.ts";
import { contextOf, evaluated } from "./context.ts";

const tools = ["fs_read", "fs_delete", "ci__status", "ci__deploy", "recall"];
const hidden = (params: object): readonly string[] =>
  evaluated(toolScope, contextOf([], { tools }), params).tools?.hide ?? [];

test("EF-40 EF-7: excluded names and globs are hidden", () => {
  expect(hidden({ exclude: ["fs_delete"] })).toEqual(["fs_delete"]);
  expect(hidden({ exclude: ["ci__*", "fs_d*"] })).toEqual(["fs_delete", "ci__status", "ci__deploy"]);
});

test("EF-40 EF-7: with include all others are hidden, and exclude wins", () => {
  expect(hidden({ include: ["fs_*", "recall"] })).toEqual(["ci__status", "ci__deploy"]);
  expect(hidden({ include: ["fs_*"], exclude: ["*_delete"] })).toEqual([
    "fs_delete",
    "ci__status",
    "ci__deploy",
    "recall",
  ]);
});

test("EF-40: nothing configured hides nothing", () => {
  expect(evaluated(toolScope, contextOf([], { tools }))).toEqual({});
});

test("EF-40: the budgets do nothing in the loop", () => {
  expect(evaluated(tokenBudget, contextOf([]), { max_tokens: 0 })).toEqual({});
  expect(evaluated(timeBudget, contextOf([]), {})).toEqual({});
  expect(timeBudget.params.parse({})).toEqual({ max_duration: 600_000, warn_threshold: 0.8 });
});
