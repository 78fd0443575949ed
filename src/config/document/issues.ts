import type * as z from "zod";
import { editDistance } from "../../tools/suggest.ts";
import { describeSize, expectationTexts, findMeantBranch, foundText, namePattern } from "../../schema.ts";
import { keysAt } from "../json-schema.ts";
import { findMeaning, plainWord } from "./other-words.ts";
import type { ErrorCode, Path } from "./diagnostics.ts";
import { isCode } from "./diagnostics.ts";
import type { Located } from "./document.ts";
import { nodeAt, scalarTextOf } from "./located.ts";
import { explainDash, explainInvisible } from "./syntax-faults.ts";
import { createSuggester, suggestFor } from "./suggest.ts";

/** Finding of the schema, in the loader's codes and words. */
export interface ShapeIssue {
  readonly code: ErrorCode;
  readonly path: Path;
  readonly which: "key" | "value" | "missing";
  readonly message: string;
  readonly hint?: string | undefined;
}

type DocumentIssue = z.core.$ZodIssue;

/** Value that was checked, and the schema of its document, which names its possible keys. */
interface CheckedValue {
  readonly root: Located;
  readonly whole: z.ZodType | undefined;
}

const mostKeysShown = 6;

/** Says what a schema expects, in the words of YAML. */
const expectationOf = (expected: string): string =>
  (expectationTexts[expected] ?? expected).replace("an object", "a map");

/** Says what a value of the file is, in the words of YAML and without its text. */
const foundIn = (node: Located | undefined): string => {
  if (node === undefined) return "nothing";
  if (node.kind !== "scalar") return `a ${node.kind}`;
  if (node.value === null) return "no value";
  return typeof node.value === "string" ? "a text" : foundText(node.value);
};

const booleanWords: Readonly<Record<string, string>> = { yes: "true", on: "true", no: "false", off: "false" };

/** Suggests what to write instead of a text that only looks like the expected value. */
const typeHint = (expected: string, node: Located | undefined): string | undefined => {
  if (node?.kind !== "scalar") return undefined;
  if (node.value === null) return "give the key a value, or remove it to get the default";
  if (typeof node.value !== "string") return expected === "string" ? "put it in quotes" : undefined;
  const word = booleanWords[node.value.toLowerCase()];
  if (expected === "boolean" && word !== undefined) return `write ${word}`;
  const digits = node.value.replaceAll("_", "");
  if (expected !== "number" && expected !== "int") return undefined;
  return /^-?\d+(\.\d+)?$/.test(digits) ? `write ${digits}` : "write digits, without words or a unit";
};

const missingIssue = (path: Path): ShapeIssue => ({
  code: "missing_key",
  path,
  which: "missing",
  message:
    typeof path.at(-1) === "string"
      ? `"${String(path.at(-1))}" is required here`
      : "a value is required here",
});

const valueIssue = (path: Path, code: ErrorCode, message: string, hint?: string): ShapeIssue => ({
  code,
  path,
  which: "value",
  message,
  hint,
});

const wrongTypeIssue = (path: Path, expected: string, node: Located | undefined): ShapeIssue =>
  valueIssue(
    path,
    "wrong_type",
    `expected ${expectationOf(expected)}, found ${foundIn(node)}`,
    typeHint(expected, node),
  );

/** Splits a message that begins with a code and a colon. */
const codedIssue = (issue: DocumentIssue, path: Path, otherwise: ErrorCode): ShapeIssue => {
  const [, code = "", sentence = ""] = /^([a-z_]+): ([\s\S]*)$/.exec(issue.message) ?? [];
  if (!isCode(code)) return valueIssue(path, otherwise, issue.message);
  const own = valueIssue(path, code as ErrorCode, sentence);
  return code === "missing_key" ? { ...own, which: "missing" } : own;
};

const secretKeys = /^(headers|env|api_key|secret|client_secret|private_key|token)$/;

const valueText = (path: Path, node: Located | undefined): string => {
  const hidden = path.some((part) => typeof part === "string" && secretKeys.test(part));
  if (hidden || node?.kind !== "scalar") return "this value";
  return typeof node.value === "string" && node.value.length <= 64 ? `"${node.value}"` : foundIn(node);
};

/** So many maps deep a key of the same name is looked for: `guards.budget.max_cost_usd` of an agent. */
const deepest = 3;

/** Finds the key of this name in the maps below a place, the nearest first; undefined if there is none. */
const findKeyBelow = (path: Path, key: string, { root, whole }: CheckedValue): string | undefined => {
  let level: readonly (readonly string[])[] = [[]];
  for (let depth = 1; depth <= deepest; depth += 1) {
    level = level.flatMap((at) => keysAt(root, [...path, ...at], whole).map((each) => [...at, each]));
    const found = level.find((at) => plainWord(at.at(-1) ?? "") === plainWord(key));
    if (found !== undefined) return found.join(".");
  }
  return undefined;
};

/** Creates the test whether a known key differs from a written one by a single slip, such as a missing `s`. */
const isSlipOf =
  (key: string) =>
  (known: string): boolean =>
    Math.abs(known.length - key.length) <= 1 && editDistance(known, key) === 1;

const meansHint = (keys: readonly string[]): string =>
  `did you mean ${keys.map((key) => `"${key}"`).join(" or ")}?`;

const joinHints = (...hints: readonly (string | undefined)[]): string | undefined =>
  hints.filter((hint) => hint !== undefined).join(" ") || undefined;

/** Returns the keys of a map that stand below an empty text, with the key of that text, whose lines they may be. */
const keysBelowEmpty = (map: Located | undefined): ReadonlyMap<string, string> => {
  const entries = map?.kind === "map" ? [...map.entries] : [];
  const isEmpty = (at: number): boolean => {
    const entry = entries[at]?.[1];
    return entry !== undefined && scalarTextOf(entry.node) === "";
  };
  return new Map(
    entries.flatMap(([key], at) => (isEmpty(at - 1) ? [[key, entries[at - 1]?.[0] ?? ""]] : [])),
  );
};

const flatTextHint = (above: string | undefined): string | undefined =>
  above === undefined ? undefined : `A line of the text of ${above} begins deeper than ${above} itself.`;

const unknownKeyIssues = (
  issue: z.core.$ZodIssueUnrecognizedKeys,
  path: Path,
  checked: CheckedValue,
): ShapeIssue[] => {
  const guards = path.at(-1) === "guards";
  const known = keysAt(checked.root, path, checked.whole);
  const suggest = createSuggester(known, path);
  const texts = keysBelowEmpty(nodeAt(checked.root, path));
  return issue.keys.map((key) => {
    const below = findMeaning(path, key, known) === null ? findKeyBelow(path, key, checked) : undefined;
    return {
      code: guards ? "unknown_guard" : "unknown_key",
      path: [...path, key],
      which: "key",
      message: guards ? `there is no guard "${key}"` : `unknown key "${key}"`,
      hint: joinHints(
        below === undefined ? suggest(key) : meansHint([...known.filter(isSlipOf(key)), below]),
        explainInvisible(key) ?? flatTextHint(texts.get(key)),
      ),
    };
  });
};

const notOneOfIssue = (values: readonly unknown[], path: Path, node: Located | undefined): ShapeIssue => {
  const allowed = values.map(String);
  const sameType = node?.kind === "scalar" && values.some((value) => typeof value === typeof node.value);
  const list = allowed.map((value) => (value === "" ? '""' : value)).join(", ");
  if (!sameType) {
    const expected = values.length === 1 ? list : `one of ${list}`;
    const isMeant = node?.kind === "scalar" && allowed.includes(String(node.value));
    const type = values.some((value) => typeof value === "boolean") ? "boolean" : "";
    const hint = typeHint(isMeant ? typeof values[0] : type, node);
    return valueIssue(path, "wrong_type", `expected ${expected}, found ${foundIn(node)}`, hint);
  }
  const words = allowed.filter((value) => value !== "");
  const hint = suggestFor(String(node.value), words) ?? `allowed: ${list}`;
  return valueIssue(path, "invalid_value", `${valueText(path, node)} is not allowed here`, hint);
};

const sizeIssue = (issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, path: Path): ShapeIssue => {
  const list = issue.origin === "array" || issue.origin === "set";
  return list && issue.code === "too_small" && issue.minimum === 1
    ? valueIssue(path, "empty_list", "this list needs at least one entry")
    : valueIssue(path, "out_of_range", describeSize(issue));
};

/** Returns how an entry is written whose kind stands in the place of a key; undefined for any other entry. */
const kindHint = (entry: Located | undefined, kinds: readonly string[]): string | undefined => {
  const [kind] = entry?.kind === "map" ? entry.entries.keys() : [];
  return kind !== undefined && kinds.includes(kind)
    ? `write it as { kind: ${kind}, params: { … } }`
    : undefined;
};

const noKindIssue = (issue: z.core.$ZodIssueInvalidUnion, path: Path, root: Located): ShapeIssue => {
  const node = nodeAt(root, path);
  const options = ("options" in issue ? (issue.options as readonly unknown[]) : []).map(String);
  if (node === undefined)
    return { ...missingIssue(path), hint: kindHint(nodeAt(root, path.slice(0, -1)), options) };
  const effect = path.includes("effects");
  if (node.kind !== "scalar" || typeof node.value !== "string") return wrongTypeIssue(path, "string", node);
  const message = `there is no ${effect ? "effect" : "kind"} ${valueText(path, node)}`;
  return valueIssue(
    path,
    effect ? "unknown_effect" : "invalid_value",
    message,
    suggestFor(node.value, options),
  );
};

/** Returns the issue of a bare number where a duration is one of the choices. */
const bareNumberIssue = (
  { errors }: z.core.$ZodIssueInvalidUnion,
  path: Path,
  node: Located,
): ShapeIssue | undefined => {
  if (node.kind !== "scalar" || typeof node.value !== "number") return undefined;
  const issues = errors.flat().map((inner) => codedIssue(inner, path, "wrong_type"));
  const own = issues.find(({ code }) => code === "invalid_duration");
  const others = errors.flat().flatMap((inner) => (inner.code === "invalid_value" ? inner.values : []));
  return own === undefined ? undefined : { ...own, message: [own.message, ...others].join(", or ") };
};

/** Merges several wrong types into one issue. */
const unionIssues = (
  issue: z.core.$ZodIssueInvalidUnion,
  path: Path,
  checked: CheckedValue,
): ShapeIssue[] => {
  const node = nodeAt(checked.root, path);
  if (issue.errors.length === 0) return [noKindIssue(issue, path, checked.root)];
  if (node === undefined) return [missingIssue(path)];
  const meant = findMeantBranch(issue);
  if (meant !== undefined) return meant.flatMap((inner) => toIssues(inner, path, checked));
  const bare = bareNumberIssue(issue, path, node);
  if (bare !== undefined) return [bare];
  const types = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => (inner.code === "invalid_type" ? [inner.expected] : [])),
  );
  const expected = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => {
      if (inner.code === "invalid_type") return [expectationOf(inner.expected)];
      return inner.code === "invalid_value" ? inner.values.map(String) : [];
    }),
  );
  const values = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => (inner.code === "invalid_value" ? inner.values : [])),
  );
  const text = node.kind === "scalar" && values.some((value) => typeof value === typeof node.value);
  const wanted = `expected ${[...new Set(expected)].join(" or ")}`;
  const better = isNestedList(path, node) ? nestedHint : choiceHint(node, values, types);
  if (!text) return [valueIssue(path, "wrong_type", `${wanted}, found ${foundIn(node)}`, better)];
  const hint = better ?? suggestFor(String(node.value), values.map(String));
  return [valueIssue(path, "invalid_value", `${wanted}, found ${valueText(path, node)}`, hint)];
};

/** Lists whose entries have a kind. */
const listsOfKinds: readonly unknown[] = ["effects", "middleware"];

/** Returns how a map is written in the place of a single value. */
const mapHint = (path: Path, { root, whole }: CheckedValue): string | undefined => {
  if (listsOfKinds.includes(path.at(-2)) && typeof path.at(-1) === "number")
    return "write the entry as a map: { kind: … }";
  const keys = keysAt(root, path, whole);
  const shown = keys.length > mostKeysShown ? [...keys.slice(0, mostKeysShown), "…"] : keys;
  return keys.length === 0 ? undefined : `the map has the keys ${shown.join(", ")}`;
};

/** Suggests a value for a union whose branches all refuse the type of the given value. */
const choiceHint = (
  node: Located,
  values: readonly unknown[],
  expected: readonly string[],
): string | undefined => {
  if (node.kind !== "scalar") return undefined;
  if (node.value === true && values.includes(false)) return "remove the key: it is on unless it says false";
  const isNumber = typeof node.value === "string" && /\d/.test(node.value);
  if (isNumber && (expected.includes("number") || expected.includes("int"))) return typeHint("number", node);
  return values.some((value) => typeof value === "boolean") ? typeHint("boolean", node) : undefined;
};

/** Returns whether a list stands among the entries of another. */
const isNestedList = (path: Path, { kind }: Located): boolean =>
  kind === "list" && typeof path.at(-1) === "number";

const nestedHint = "a list in a list is not joined with it: write its entries out";

const dashHint = "begin each entry of the list with a dash";

/** Returns how a text becomes a list: of one name, or of several with commas between them. */
const itemsHint = (text: string): string | undefined => {
  const names = text.split(",").map((name) => name.trim());
  return (
    explainDash(text) ??
    (names.every((name) => namePattern.test(name)) ? `write [${names.join(", ")}]` : undefined)
  );
};

/** Returns how the value in the place of a list becomes one. */
const listHint = (path: Path, node: Located, { root, whole }: CheckedValue): string | undefined => {
  if (node.kind === "scalar") return typeof node.value === "string" ? itemsHint(node.value) : undefined;
  const [begun, first] = (node.kind === "map" ? [...node.entries] : [])[0] ?? [];
  if (begun === undefined) return undefined;
  const keys = keysAt(root, [...path, 0], whole);
  if (keys.includes(begun)) return `${dashHint}: - ${begun}: …`;
  const isNamed = keys.includes("name") && first?.node.kind === "map" && namePattern.test(begun);
  return explainDash(begun) ?? (isNamed ? `${dashHint}: - name: ${begun}` : dashHint);
};

const textHint = "write the text itself; after | it may have many lines";

const typeIssue = (issue: z.core.$ZodIssueInvalidType, path: Path, checked: CheckedValue): ShapeIssue => {
  const node = nodeAt(checked.root, path);
  if (node === undefined) return missingIssue(path);
  const own = codedIssue(issue, path, "wrong_type");
  if (own.message !== issue.message) return own;
  const wrong = wrongTypeIssue(path, issue.expected, node);
  const isOther = node.kind === "list" || (node.kind === "scalar" && node.value !== null);
  if (issue.expected === "object" && isOther) return { ...wrong, hint: mapHint(path, checked) };
  if (path.at(-1) === "instructions" && node.kind !== "scalar") return { ...wrong, hint: textHint };
  if (issue.expected !== "array") return wrong;
  return { ...wrong, hint: listHint(path, node, checked) ?? wrong.hint };
};

const toIssues = (issue: DocumentIssue, base: Path, checked: CheckedValue): ShapeIssue[] => {
  const path = [...base, ...(issue.path as Path)];
  const node = nodeAt(checked.root, path);
  if (issue.code === "unrecognized_keys") return unknownKeyIssues(issue, path, checked);
  if (issue.code === "invalid_union") return unionIssues(issue, path, checked);
  if (issue.code === "too_small" || issue.code === "too_big") return [sizeIssue(issue, path)];
  if (issue.code === "invalid_type") return [typeIssue(issue, path, checked)];
  if (issue.code !== "invalid_value") return [codedIssue(issue, path, "invalid_value")];
  return [node === undefined ? missingIssue(path) : notOneOfIssue(issue.values, path, node)];
};

/** Converts the schema's issues; `base` is the path of the value that was checked. */
export const shapeIssues = (
  issues: readonly DocumentIssue[],
  base: Path,
  root: Located,
  whole?: z.ZodType,
): ShapeIssue[] => issues.flatMap((issue) => toIssues(issue, base, { root, whole }));
