import { readFileSync } from "node:fs";
import type { Diagnostic, SourcePlace } from "../../config/document/diagnostics.ts";
import { arrangeDiagnostics } from "../../config/document/diagnostics.ts";
import { createPlacer } from "../../config/document/place.ts";
import type { Node } from "../syntax.ts";
import { findIn, isNode, nameOf, nodesIn } from "../syntax.ts";

/** Finds the definition in `extensions.ts` that a diagnostic is about. */

/** Nodes by name: the constants of a module, or its exports. */
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

/** Returns the value behind a name or a type. */
const valueOf = (node: Node, constants: Named): Node => {
  const typed = /^(TS\w+|Parenthesized)Expression$/.test(node.type) ? node["expression"] : undefined;
  const value = node.type === "Identifier" ? constants.get(nameOf(node)) : typed;
  return isNode(value) && value !== node ? valueOf(value, constants) : node;
};

/** Returns the argument of a call, such as the definition in `defineTool({ … })`; any other node itself. */
const givenTo = (node: Node, constants: Named): Node => {
  const [given] = node.type === "CallExpression" ? nodesIn(node["arguments"]) : [];
  return given === undefined ? node : givenTo(valueOf(given, constants), constants);
};

/** Returns the field of an object, its name and its value. */
const fieldOf = (node: Node, name: string, constants: Named): Node | null =>
  nodesIn(givenTo(node, constants)["properties"]).find((each) => nameOf(each["key"]) === name) ?? null;

/** Returns the entry of a list, or the value of a field. */
const memberOf = (node: Node, key: string | number, constants: Named): Node | null => {
  if (typeof key === "string") return nodesIn(fieldOf(node, key, constants)?.["value"])[0] ?? null;
  const list = givenTo(node, constants);
  const entries = list.type === "ArrayExpression" ? nodesIn(list["elements"]).slice(0, key + 1) : [];
  return entries.some(({ type }) => type === "SpreadElement") ? null : (entries[key] ?? null);
};

const keysOf = (path: string): (string | number)[] =>
  path.match(/[^.[\]]+/g)?.map((key) => (/^\d+$/.test(key) ? Number(key) : key)) ?? [];

/** Returns the node at a path like `effects[0].params`, or the nearest one around it. */
const nodeAt = (statements: readonly Node[], path: string, constants: Named): Node | null => {
  const [name, ...keys] = keysOf(path);
  const start = exportsIn(statements).get(String(name));
  if (start === undefined) return null;
  let found = valueOf(start, constants);
  for (const key of keys) {
    const member = memberOf(found, key, constants);
    if (member === null) break;
    found = valueOf(member, constants);
  }
  return found;
};

/**
 * Returns a path in the file; a path of the merged agents counts those of the team file, which precede those of the
 * extensions.
 */
const pathInFile = ({ code, path }: Diagnostic, agentsBefore: number): string =>
  code === "extension_invalid"
    ? path
    : path.replace(/^(?:config\.)?agents\[(\d+)\]/, (_, index) => `agents[${Number(index) - agentsBefore}]`);

/** Creates the finder of a diagnostic's place in the source; an unknown key has its own place. */
const createFinder = (text: string, program: Node, agentsBefore: number) => {
  const statements = nodesIn(program["body"]);
  const constants = constantsIn(statements);
  return (each: Diagnostic): SourcePlace => {
    const placeOf = createPlacer(each.file, text);
    const isThere = ({ start }: Node): boolean => {
      const { line, column } = placeOf(start);
      return line === each.line && column === each.column;
    };
    const node =
      each.path === ""
        ? findIn(program).calls.find(isThere)
        : nodeAt(statements, pathInFile(each, agentsBefore), constants);
    if (node == null) return each.path === "" ? each : placeOf(0);
    const [, key = ""] = /unknown key "([^"]+)"/.exec(each.message) ?? [];
    return placeOf((fieldOf(node, key, constants) ?? node).start);
  };
};

/** Adds the places of a team's diagnostics in `extensions.ts`; the place of the call that threw is already known. */
export const placeInExtensions = async (
  diagnostics: readonly Diagnostic[],
  file: string,
  agentsBefore: number,
): Promise<readonly Diagnostic[]> => {
  const isHere = ({ file: name, path, message }: Diagnostic): boolean =>
    name.endsWith("/extensions.ts") && (path !== "" || message.includes("unknown key"));
  if (!diagnostics.some(isHere)) return diagnostics;
  // The parser is loaded only if there is something to find.
  const { parseAst } = await import("vite");
  const text = readFileSync(file, "utf8");
  const program = parseAst(text, { lang: "ts" }) as unknown as Node;
  const find = createFinder(text, program, agentsBefore);
  return arrangeDiagnostics(diagnostics.map((each) => (isHere(each) ? { ...each, ...find(each) } : each)));
};
