import type * as z from "zod";
import { meantBranch } from "../../schema.ts";
import { keysAt } from "../json-schema.ts";
import type { TeamSchemas } from "../schema.ts";
import { plainTeamSchemas } from "../schema.ts";
import type { ErrorCode, Path } from "./diagnostics.ts";
import { isCode } from "./diagnostics.ts";
import type { Located } from "./document.ts";
import { at } from "./located.ts";
import { suggester, suggestion } from "./suggest.ts";

/** What the schema found, in the loader's codes and words. */
export interface ShapeIssue {
  readonly code: ErrorCode;
  readonly path: Path;
  readonly which: "key" | "value" | "missing";
  readonly message: string;
  readonly hint?: string | undefined;
}

type Issue = z.core.$ZodIssue;

/** What was checked, and the schemas that name the keys which may stand in it. */
interface Checked {
  readonly root: Located;
  readonly schemas: TeamSchemas;
}

const expectations: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a map",
  record: "a map",
  array: "a list",
};

const foundText = (node: Located | undefined): string => {
  if (node === undefined) return "nothing";
  if (node.kind === "map") return "a map";
  if (node.kind === "list") return "a list";
  if (node.value === null) return "no value";
  if (typeof node.value === "string") return "a text";
  return typeof node.value === "boolean" ? String(node.value) : `the number ${node.value}`;
};

const words: Readonly<Record<string, string>> = { yes: "true", on: "true", no: "false", off: "false" };

/** What to write instead of a text that only looks like the wanted value. */
const typeHint = (expected: string, node: Located | undefined): string | undefined => {
  if (node?.kind !== "scalar") return undefined;
  if (node.value === null) return "give the key a value, or remove it to get the default";
  if (typeof node.value !== "string") return undefined;
  const word = words[node.value.toLowerCase()];
  if (expected === "boolean" && word !== undefined) return `write ${word}`;
  const digits = node.value.replaceAll("_", "");
  if ((expected === "number" || expected === "int") && /^-?\d+(\.\d+)?$/.test(digits))
    return `write ${digits}`;
  return undefined;
};

const missing = (path: Path): ShapeIssue => ({
  code: "missing_key",
  path,
  which: "missing",
  message:
    typeof path.at(-1) === "string"
      ? `"${String(path.at(-1))}" is required here`
      : "a value is required here",
});

const atValue = (path: Path, code: ErrorCode, message: string, hint?: string): ShapeIssue => ({
  code,
  path,
  which: "value",
  message,
  hint,
});

const wrongType = (path: Path, expected: string, node: Located | undefined): ShapeIssue =>
  atValue(
    path,
    "wrong_type",
    `expected ${expectations[expected] ?? expected}, found ${foundText(node)}`,
    typeHint(expected, node),
  );

/** A message that begins with a code and a colon carries both. */
const coded = (issue: Issue, path: Path, otherwise: ErrorCode): ShapeIssue => {
  const [, code = "", sentence = ""] = /^([a-z_]+): ([\s\S]*)$/.exec(issue.message) ?? [];
  if (!isCode(code)) return atValue(path, otherwise, issue.message);
  const own = atValue(path, code as ErrorCode, sentence);
  return code === "missing_key" ? { ...own, which: "missing" } : own;
};

const secretKeys = /^(headers|env|api_key|secret|token)$/;

const valueText = (path: Path, node: Located | undefined): string => {
  const hidden = path.some((part) => typeof part === "string" && secretKeys.test(part));
  if (hidden || node?.kind !== "scalar") return "this value";
  return typeof node.value === "string" && node.value.length <= 64 ? `"${node.value}"` : foundText(node);
};

const unknownKeys = (
  issue: z.core.$ZodIssueUnrecognizedKeys,
  path: Path,
  { root, schemas }: Checked,
): ShapeIssue[] => {
  const guards = path.at(-1) === "guards";
  const suggest = suggester(keysAt(root, path, schemas));
  return issue.keys.map((key) => ({
    code: guards ? "unknown_guard" : "unknown_key",
    path: [...path, key],
    which: "key",
    message: guards ? `there is no guard "${key}"` : `unknown key "${key}"`,
    hint: suggest(key),
  }));
};

const notOneOf = (values: readonly unknown[], path: Path, node: Located | undefined): ShapeIssue => {
  const allowed = values.map(String);
  const sameType = node?.kind === "scalar" && values.some((value) => typeof value === typeof node.value);
  const list = allowed.map((value) => (value === "" ? '""' : value)).join(", ");
  if (!sameType) {
    const expected = values.length === 1 ? list : `one of ${list}`;
    const hint = typeHint(values.some((value) => typeof value === "boolean") ? "boolean" : "", node);
    return atValue(path, "wrong_type", `expected ${expected}, found ${foundText(node)}`, hint);
  }
  const hint = suggestion(String(node.value), allowed) ?? `allowed: ${list}`;
  return atValue(path, "invalid_value", `${valueText(path, node)} is not allowed here`, hint);
};

const sizeIssue = (issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, path: Path): ShapeIssue => {
  const small = issue.code === "too_small";
  const bound = small ? issue.minimum : issue.maximum;
  const list = issue.origin === "array" || issue.origin === "set";
  if (list && small && bound === 1) return atValue(path, "empty_list", "this list needs at least one entry");
  const relation = small
    ? issue.inclusive === true
      ? "at least"
      : "more than"
    : issue.inclusive === true
      ? "at most"
      : "less than";
  const what = list ? "the number of entries" : "the value";
  return atValue(path, "out_of_range", `${what} must be ${relation} ${bound}`);
};

const noKind = (issue: z.core.$ZodIssueInvalidUnion, path: Path, node: Located | undefined): ShapeIssue => {
  if (node === undefined) return missing(path);
  const options = ("options" in issue ? (issue.options as readonly unknown[]) : []).map(String);
  const effect = path.includes("effects");
  if (node.kind !== "scalar" || typeof node.value !== "string") return wrongType(path, "string", node);
  const message = `there is no ${effect ? "effect" : "kind"} ${valueText(path, node)}`;
  return atValue(path, effect ? "unknown_effect" : "invalid_value", message, suggestion(node.value, options));
};

/** Several wrong types become one. */
const unionIssues = (issue: z.core.$ZodIssueInvalidUnion, path: Path, checked: Checked): ShapeIssue[] => {
  const node = at(checked.root, path);
  if (issue.errors.length === 0) return [noKind(issue, path, node)];
  if (node === undefined) return [missing(path)];
  const meant = meantBranch(issue);
  if (meant !== undefined) return meant.flatMap((inner) => toIssues(inner, path, checked));
  const expected = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => {
      if (inner.code === "invalid_type") return [expectations[inner.expected] ?? inner.expected];
      return inner.code === "invalid_value" ? inner.values.map(String) : [];
    }),
  );
  const values = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => (inner.code === "invalid_value" ? inner.values : [])),
  );
  const text = node.kind === "scalar" && values.some((value) => typeof value === typeof node.value);
  const wanted = `expected ${[...new Set(expected)].join(" or ")}`;
  if (!text) return [atValue(path, "wrong_type", `${wanted}, found ${foundText(node)}`)];
  const hint = suggestion(String(node.value), values.map(String));
  return [atValue(path, "invalid_value", `${wanted}, found ${valueText(path, node)}`, hint)];
};

const typeIssue = (issue: z.core.$ZodIssueInvalidType, path: Path, node: Located | undefined): ShapeIssue => {
  if (node === undefined) return missing(path);
  const own = coded(issue, path, "wrong_type");
  return own.message === issue.message ? wrongType(path, issue.expected, node) : own;
};

const toIssues = (issue: Issue, base: Path, checked: Checked): ShapeIssue[] => {
  const path = [...base, ...(issue.path as Path)];
  const node = at(checked.root, path);
  if (issue.code === "unrecognized_keys") return unknownKeys(issue, path, checked);
  if (issue.code === "invalid_union") return unionIssues(issue, path, checked);
  if (issue.code === "too_small" || issue.code === "too_big") return [sizeIssue(issue, path)];
  if (issue.code === "invalid_type") return [typeIssue(issue, path, node)];
  if (issue.code !== "invalid_value") return [coded(issue, path, "invalid_value")];
  return [node === undefined ? missing(path) : notOneOf(issue.values, path, node)];
};

/** Translates the schema's issues; `base` is the path of the value that was checked. */
export const shapeIssues = (
  issues: readonly Issue[],
  base: Path,
  root: Located,
  schemas: TeamSchemas = plainTeamSchemas,
): ShapeIssue[] => issues.flatMap((issue) => toIssues(issue, base, { root, schemas }));
