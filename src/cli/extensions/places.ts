import { readFileSync } from "node:fs";
import type { Diagnostic } from "../../config/document/diagnostics.ts";
import { arrangeDiagnostics } from "../../config/document/diagnostics.ts";
import { createPlacer } from "../../config/document/place.ts";
import type { Node } from "../syntax.ts";
import { isNode, nameOf, nodesIn } from "../syntax.ts";

/** This file finds where in `extensions.ts` the definition stands that a diagnostic is about. */

/** Nodes by a name: what the constants of a module are, or what it exports. */
type Named = ReadonlyMap<string, Node>;

const variablesOf = (statement: Node): (readonly [string, Node])[] =>
  nodesIn(statement["declarations"]).flatMap((node) =>
    nodesIn(node["init"]).map((init) => [nameOf(node["id"]), init] as const),
  );

const isExport = ({ type }: Node): boolean => type === "ExportNamedDeclaration";

const constantsIn = (statements: readonly Node[]): Named =>
  new Map(
    statements.flatMap((each) =>
      isExport(each) ? nodesIn(each["declaration"]).flatMap(variablesOf) : variablesOf(each),
    ),
  );

const exportsIn = (statements: readonly Node[]): Named =>
  new Map(
    statements
      .filter(isExport)
      .flatMap((each) => [
        ...nodesIn(each["declaration"]).flatMap(variablesOf),
        ...nodesIn(each["specifiers"]).flatMap((node) =>
          nodesIn(node["local"]).map((local) => [nameOf(node["exported"]), local] as const),
        ),
      ]),
  );

/** What stands behind a name or a type. */
const valueOf = (node: Node, constants: Named): Node => {
  const typed = /^(TS\w+|Parenthesized)Expression$/.test(node.type) ? node["expression"] : undefined;
  const value = node.type === "Identifier" ? constants.get(nameOf(node)) : typed;
  return isNode(value) && value !== node ? valueOf(value, constants) : node;
};

/** The entry of a list, or the field of an object or of what a call is given. */
const memberOf = (node: Node, key: string | number, constants: Named): Node | null => {
  if (node.type === "CallExpression") {
    const [given] = nodesIn(node["arguments"]);
    return given === undefined ? null : memberOf(valueOf(given, constants), key, constants);
  }
  if (typeof key === "number") {
    const entries = node.type === "ArrayExpression" ? nodesIn(node["elements"]).slice(0, key + 1) : [];
    return entries.some(({ type }) => type === "SpreadElement") ? null : (entries[key] ?? null);
  }
  const field = nodesIn(node["properties"]).find((each) => nameOf(each["key"]) === key);
  return nodesIn(field?.["value"])[0] ?? null;
};

const keysOf = (path: string): (string | number)[] =>
  path.match(/[^.[\]]+/g)?.map((key) => (/^\d+$/.test(key) ? Number(key) : key)) ?? [];

/** The offset of what a path like `effects[0].params` leads to, or of the nearest around it. */
const offsetOf = (statements: readonly Node[], path: string): number => {
  const constants = constantsIn(statements);
  const [name, ...keys] = keysOf(path);
  const start = exportsIn(statements).get(String(name));
  if (start === undefined) return 0;
  let found = valueOf(start, constants);
  for (const key of keys) {
    const member = memberOf(found, key, constants);
    if (member === null) break;
    found = valueOf(member, constants);
  }
  return found.start;
};

/** A path of the merged agents counts those of the team file, which stand before those of the extensions. */
const pathInFile = ({ code, path }: Diagnostic, agentsBefore: number): string =>
  code === "extension_invalid"
    ? path
    : path.replace(/^(?:config\.)?agents\[(\d+)\]/, (_, index) => `agents[${Number(index) - agentsBefore}]`);

/** Gives the diagnostics of a team's `extensions.ts` their places; one that was placed before keeps its place. */
export const placeInExtensions = async (
  diagnostics: readonly Diagnostic[],
  file: string,
  agentsBefore: number,
): Promise<readonly Diagnostic[]> => {
  const isHere = (each: Diagnostic): boolean => each.file.endsWith("/extensions.ts") && each.path !== "";
  if (!diagnostics.some(isHere)) return diagnostics;
  // The parser is loaded only where there is something to find.
  const { parseAst } = await import("vite");
  const text = readFileSync(file, "utf8");
  const program = parseAst(text, { lang: "ts" }) as unknown as Node;
  const statements = nodesIn(program["body"]);
  const placed = diagnostics.map((each) => {
    if (!isHere(each)) return each;
    return {
      ...each,
      ...createPlacer(each.file, text)(offsetOf(statements, pathInFile(each, agentsBefore))),
    };
  });
  return arrangeDiagnostics(placed);
};
