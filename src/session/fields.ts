import type * as z from "zod";
import { meantBranch } from "../schema.ts";
import type { Problem } from "./problems.ts";

/** This file reports what a schema found wrong in a request, field by field. */

type FieldProblem = NonNullable<Problem["errors"]>[number];

type SchemaIssue = z.core.$ZodIssue;

const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Lists what the branches of a union accept, unless the union has a message of its own. */
const unionMessage = ({ errors, message }: z.core.$ZodIssueInvalidUnion): string => {
  const taken = message === "Invalid input" ? errors.flat().map((issue) => issue.message) : [];
  return [...new Set(taken)].join("; or ") || message;
};

/** Returns the problems of an issue; for a union, those of the branch that the caller meant. */
const problemsOf = (issue: SchemaIssue, base: readonly PropertyKey[]): readonly FieldProblem[] => {
  const path = [...base, ...issue.path];
  const pointer = pointerOf(path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({
      pointer: pointerOf([...path, key]),
      code: "unknown_field",
      message: `${key} is not a field here`,
    }));
  if (issue.code !== "invalid_union") return [{ pointer, code: issue.code, message: issue.message }];
  const meant = meantBranch(issue);
  return meant === undefined
    ? [{ pointer, code: issue.code, message: unionMessage(issue) }]
    : meant.flatMap((inner) => problemsOf(inner, path));
};

/** Lists the first fields that do not fit, each by its pointer. */
export const fieldProblems = ({ issues }: z.ZodError): readonly FieldProblem[] =>
  issues.slice(0, 20).flatMap((issue) => problemsOf(issue, []));

const isContainer = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Finds, at any depth, a name that a schema with free names would drop silently; returns null if there is none. */
export const findReservedField = (params: unknown): FieldProblem | null => {
  const open: { readonly value: unknown; readonly path: string }[] = [{ value: params, path: "" }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!isContainer(next.value)) continue;
    const { value, path } = next;
    if (Object.hasOwn(value, "__proto__"))
      return { pointer: `${path}/__proto__`, code: "reserved_key", message: "no field may have this name" };
    for (const [key, each] of Object.entries(value))
      if (isContainer(each)) open.push({ value: each, path: `${path}${pointerOf([key])}` });
  }
  return null;
};
