import { Document, isAlias, parseDocument, visit } from "yaml";
import { findUnavailable } from "../availability.ts";
import { findLiteralSecrets } from "../checks/secrets.ts";
import type { Path } from "../document/diagnostics.ts";
import { formatPath } from "../document/diagnostics.ts";
import type { Located } from "../document/document.ts";
import { readDocument } from "../document/document.ts";
import { childOf, itemsOf, nodeAt, scalarTextOf, visitTexts } from "../document/located.ts";
import { unwrapTeam } from "../document/normalise.ts";
import { isReferenceField, secretCommand, shellReferencesIn, withBraces } from "../document/references.ts";

/**
 * Imports a team file of Shelly, the Go program whose YAML ours follows. There, an unset value is written as
 * `null`, `""`, `[]` or `0`, `$NAME` is a reference, and the file may contain keys.
 */

export interface ImportedTeam {
  readonly content: string;
  /** Sentence for each change, with the path that it is about. */
  readonly changes: readonly string[];
}

/** Change of the file: a new text at a path, or the removal of the key or entry there. */
interface Change {
  readonly path: Path;
  readonly value?: string;
  readonly reason: string;
}

type FindChanges = (body: Located, team: string) => readonly Change[];

interface Visited {
  readonly path: Path;
  readonly node: Located;
}

/** Lists a node and everything below it, in the order of the file. */
const nodesIn = (node: Located, path: Path = []): readonly Visited[] => {
  const below =
    node.kind === "list"
      ? node.items.flatMap((item, index) => nodesIn(item, [...path, index]))
      : node.kind === "map"
        ? [...node.entries].flatMap(([key, entry]) => nodesIn(entry.node, [...path, key]))
        : [];
  return [{ path, node }, ...below];
};

const findEmpty: FindChanges = (body) =>
  nodesIn(body)
    .filter(({ path, node }) => typeof path.at(-1) === "string" && node.kind === "scalar")
    .filter(({ node }) => node.kind === "scalar" && (node.value === null || node.value === ""))
    .map(({ path }) => ({ path, reason: "it had no value and is omitted" }));

/** Duration of zero as Go writes it, like `0s` or `0h0m0s`. */
const zeroDuration = /^(?:0(?:ns|us|µs|ms|s|m|h))+$/;

const isZero = (node: Located): boolean =>
  node.kind === "scalar" &&
  (node.value === 0 || (typeof node.value === "string" && zeroDuration.test(node.value)));

const isNone = (node: Located): boolean => (node.kind === "list" ? node.items.length === 0 : isZero(node));

const isNotPositive = (node: Located): boolean =>
  isZero(node) || (node.kind === "scalar" && typeof node.value === "number" && node.value < 0);

/** Values that mean the default in Shelly, by the pattern of their paths. */
const zeros: readonly (readonly [pattern: RegExp, is: (node: Located) => boolean, meaning: string])[] = [
  [/^agents\[\d+\]\.effects$/, isNone, "an empty list meant the default effects"],
  [/^agents\[\d+\]\.effects\[\d+\]\.params\.\w+$/, isNotPositive, "it meant the default"],
  [/^agents\[\d+\]\.options\.max_iterations$/, isNone, "0 meant no limit; without it a run has 100 turns"],
  [/^agents\[\d+\]\.options\.(context_threshold|question_timeout)$/, isNone, "0 meant the default"],
  [/^providers\[\d+\]\.rate_limit\.(max_retries|base_delay)$/, isNone, "0 meant the default"],
  [/^providers\[\d+\]\.batch\.max_batch_size$/, isNone, "0 meant the default"],
  [/^context\.max_external_file_size$/, isNone, "0 meant the default"],
];

const findZeros: FindChanges = (body) =>
  nodesIn(body).flatMap(({ path, node }) => {
    const found = zeros.find(([pattern, is]) => is(node) && pattern.test(formatPath(path)));
    return found === undefined ? [] : [{ path, reason: `${found[2]}; it is omitted` }];
  });

/** Finds token budgets without a number of tokens: they have no default, and so no limit. */
const findUnlimited: FindChanges = (body) =>
  nodesIn(body)
    .filter(({ path, node }) => {
      const isEffect = /^agents\[\d+\]\.effects\[\d+\]$/.test(formatPath(path));
      if (!isEffect || scalarTextOf(childOf(node, "kind")) !== "token_budget") return false;
      const most = nodeAt(node, ["params", "max_tokens"]);
      return most === undefined || isNotPositive(most);
    })
    .map(({ path }) => ({
      path,
      reason: "a token_budget without max_tokens limits nothing; it is removed",
    }));

interface ToolboxEntry {
  readonly path: Path;
  readonly name: string;
}

/** Returns the entries of `toolboxes`, by agent. */
const toolboxesOf = (body: Located): readonly (readonly ToolboxEntry[])[] =>
  itemsOf(childOf(body, "agents")).map((agent, index) =>
    itemsOf(childOf(agent, "toolboxes")).map((entry, place) => ({
      path: ["agents", index, "toolboxes", place],
      name: scalarTextOf(entry) ?? scalarTextOf(childOf(entry, "name")) ?? "",
    })),
  );

const findDoubles: FindChanges = (body) =>
  toolboxesOf(body).flatMap((entries) =>
    entries
      .filter(({ name }, place) => entries.findIndex((each) => each.name === name) < place)
      .map(({ path, name }) => ({
        path,
        reason: `the toolbox ${name} was listed twice and is now listed once`,
      })),
  );

const findShellReferences: FindChanges = (body) => {
  const found: Change[] = [];
  const secrets = new Set(findLiteralSecrets(body).map(({ path }) => formatPath(path)));
  visitTexts(body, (path, text) => {
    if (!isReferenceField(path) || secrets.has(formatPath(path))) return;
    if (shellReferencesIn(text).length === 0) return;
    const names = shellReferencesIn(text).map((name) => `$${name} is now \${${name}}`);
    found.push({ path, value: withBraces(text), reason: names.join(", ") });
  });
  return found;
};

const findUnbuilt: FindChanges = (body) => {
  const uses = findUnavailable(body).filter(({ path }) => path.at(-1) !== "kind");
  return uses.map(({ path, message }) => {
    const whole = path.at(-1) === "name" ? path.slice(0, -1) : path;
    const name = scalarTextOf(nodeAt(body, whole)) ?? scalarTextOf(childOf(nodeAt(body, whole), "name"));
    const what = name === undefined ? "it" : name;
    return { path: whole, reason: `${message}; ${what} is removed` };
  });
};

const findSecrets: FindChanges = (body, team) =>
  findLiteralSecrets(body).map(({ path, name, value }) => {
    const text = scalarTextOf(nodeAt(body, path));
    const what = text === `$${name}` ? text : "the secret";
    return { path, value, reason: `${what} is now ${value}; set it with: npx ${secretCommand(name, team)}` };
  });

const steps: readonly FindChanges[] = [
  findEmpty,
  findUnlimited,
  findZeros,
  findDoubles,
  findUnbuilt,
  findShellReferences,
  findSecrets,
];

/** Sorts changes by their places in the file and keeps one for each place. */
const sortChanges = (body: Located, changes: readonly Change[]): readonly Change[] => {
  const places = new Map(changes.toReversed().map((change) => [formatPath(change.path), change]));
  const offset = ({ path }: Change): number => nodeAt(body, path)?.at ?? 0;
  return [...places.values()].toSorted((a, b) => offset(a) - offset(b));
};

/** Parses the text as an editable document; aliases are expanded, since they may refer to something that is removed. */
const openDocument = (text: string): Document => {
  const document: Document = parseDocument(text, { version: "1.2", merge: true });
  let aliases = 0;
  visit(document, (_, node) => {
    if (isAlias(node)) aliases += 1;
  });
  return aliases === 0 ? document : new Document(document.toJS(), { aliasDuplicateObjects: false });
};

/** Imports a team file; one that cannot be read stays as it is, so that its build reports why. */
export const importTeam = (given: string, team: string): ImportedTeam => {
  const read = readDocument("", given);
  if (read.root === null || read.findings.length > 0) return { content: given, changes: [] };
  const document = openDocument(given);
  const changes: string[] = [];
  for (const find of steps) {
    const { root } = readDocument("", document.toString({ lineWidth: 0 }));
    if (root === null) break;
    const { body, prefix } = unwrapTeam(root);
    const found = sortChanges(body, find(body, team));
    for (const { path, value } of found) if (value !== undefined) document.setIn([...prefix, ...path], value);
    // Entries are removed from the last to the first, so that the places of the others stay right.
    for (const { path, value } of found.toReversed())
      if (value === undefined) document.deleteIn([...prefix, ...path]);
    changes.push(...found.map(({ path, reason }) => `${formatPath([...prefix, ...path])}: ${reason}`));
  }
  return { content: changes.length === 0 ? given : document.toString({ lineWidth: 0 }), changes };
};
