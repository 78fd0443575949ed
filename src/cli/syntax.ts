/** Indexes a syntax tree of vite's parser. */

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Use of a name: as the callee of a call, or (null) otherwise; and the function whose body contains it. */
export interface Use {
  readonly call: Node | null;
  readonly within: Node | null;
}

/** Node, and the function whose body contains it. */
export interface Placed {
  readonly node: Node;
  readonly within: Node | null;
}

export interface SyntaxIndex {
  readonly loops: Placed[];
  readonly classes: Placed[];
  readonly catches: Node[];
  readonly calls: Node[];
  /** Calls of methods by name: `….name(…)`. */
  readonly methodCalls: Map<string, Node[]>;
  readonly assignments: Node[];
  /** `...` in lists and arguments. */
  readonly spreads: Node[];
  readonly functions: Node[];
  readonly uses: Map<string, Use[]>;
  /** Number of bindings of each name, in any scope. */
  readonly bound: Map<string, number>;
}

export const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
export const nodesIn = (value: unknown): Node[] => (Array.isArray(value) ? value : [value]).filter(isNode);
export const childrenOf = (node: Node): Node[] => Object.values(node).flatMap(nodesIn);
export const isFunction = ({ type }: Node): boolean => /^(Function|ArrowFunction)/.test(type);
export const isLoop = ({ type }: Node): boolean => /^(For|While|DoWhile)/.test(type);
export const nameOf = (value: unknown): string => (isNode(value) ? String(value["name"]) : "");

const namesIn = (pattern: Node): string[] => {
  if (pattern.type === "Identifier") return [nameOf(pattern)];
  const parts = { Property: ["value"], AssignmentPattern: ["left"] }[pattern.type] ?? Object.keys(pattern);
  return parts.flatMap((field) => nodesIn(pattern[field])).flatMap(namesIn);
};

/**
 * Returns the names that a node binds: a declaration its own, a function its parameters, a clause its error, an
 * import its local.
 */
const bindingsOf = (node: Node): string[] => {
  const fields = ["params", ...(node.type === "CatchClause" ? ["param"] : [])];
  if (/^(VariableDeclarator|Function|Class(Decl|Expr))/.test(node.type)) fields.push("id");
  if (/^Import.*Specifier$/.test(node.type)) fields.push("local");
  return fields.flatMap((field) => nodesIn(node[field])).flatMap(namesIn);
};

/** Returns whether a field holds a name that refers to nothing: of a property, a declaration, a label. */
const isLabel = (node: Node, field: string): boolean =>
  /^(property|key)$/.test(field) ? node["computed"] !== true : /^(id|label)$/.test(field);

const noteCall = ({ calls, methodCalls }: SyntaxIndex, call: Node): void => {
  calls.push(call);
  const name = isNode(call["callee"]) ? nameOf(call["callee"]["property"]) : "";
  const named = methodCalls.get(name) ?? [];
  named.push(call);
  methodCalls.set(name, named);
};

const note = (found: SyntaxIndex, node: Node, within: Node | null): void => {
  for (const name of bindingsOf(node)) found.bound.set(name, (found.bound.get(name) ?? 0) + 1);
  if (isLoop(node)) found.loops.push({ node, within });
  if (/^Class(Decl|Expr)/.test(node.type)) found.classes.push({ node, within });
  if (node.type === "CatchClause") found.catches.push(node);
  if (isFunction(node)) found.functions.push(node);
  if (node.type === "CallExpression") noteCall(found, node);
  if (node.type === "AssignmentExpression") found.assignments.push(node);
  const list = { ArrayExpression: "elements", CallExpression: "arguments", NewExpression: "arguments" }[
    node.type
  ];
  const members = list === undefined ? [] : nodesIn(node[list]);
  found.spreads.push(...members.filter(({ type }) => type === "SpreadElement"));
};

const noteUse = (found: SyntaxIndex, name: Node, parent: Node, field: string, within: Node | null): void => {
  if (isLabel(parent, field)) return;
  const isCall = parent.type === "CallExpression" && field === "callee" && parent["optional"] !== true;
  const uses = found.uses.get(nameOf(name)) ?? [];
  uses.push({ call: isCall ? parent : null, within });
  found.uses.set(nameOf(name), uses);
};

const walk = (found: SyntaxIndex, node: Node, within: Node | null): void => {
  note(found, node, within);
  const isOutside = /^(PropertyDefinition|StaticBlock)/.test(node.type);
  const inside = isFunction(node) ? node : isOutside ? null : within;
  for (const [field, value] of Object.entries(node)) {
    for (const child of nodesIn(value)) {
      if (child.type === "Identifier") noteUse(found, child, node, field, inside);
      else walk(found, child, field === "params" ? null : inside);
    }
  }
};

export const findIn = (program: Node): SyntaxIndex => {
  const lists = {
    loops: [],
    classes: [],
    catches: [],
    calls: [],
    assignments: [],
    spreads: [],
    functions: [],
  };
  const found: SyntaxIndex = { ...lists, methodCalls: new Map(), uses: new Map(), bound: new Map() };
  walk(found, program, null);
  return found;
};
