import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseAst } from "vite";
import { isNode, nodesIn } from "../syntax.ts";
import type { Node } from "../syntax.ts";

/** Joins the compiler's declaration files to one: the exports of an entry, and everything that they need. */

/** Name, and the file that declares or exports it. */
interface NamePlace {
  readonly file: string;
  readonly name: string;
}

interface Declaration {
  readonly text: string;
  /** Names that the declaration uses: of its file, imported, or the platform's. */
  readonly names: readonly string[];
}

interface DeclarationFile {
  readonly declared: ReadonlyMap<string, Declaration>;
  readonly imported: ReadonlyMap<string, NamePlace>;
  readonly exported: ReadonlyMap<string, NamePlace>;
  /** Files whose exports are all exported, too. */
  readonly forwards: readonly string[];
}

const textField = (node: unknown, field: string): string => {
  const value = isNode(node) ? node[field] : undefined;
  return typeof value === "string" ? value : "";
};

const identifierOf = (node: unknown): string => textField(node, "name") || textField(node, "value");

/** Returns the names in a declaration, without those of its members. */
const namesIn = (node: Node): readonly string[] => {
  if (node.type === "TSImportType")
    throw new Error("an exported value has no explicit type: its declaration contains an import");
  const isMember = node["computed"] !== true;
  const inner = Object.entries(node).flatMap(([field, value]) =>
    field === "key" && isMember ? [] : nodesIn(value).flatMap(namesIn),
  );
  return node.type === "Identifier" ? [identifierOf(node), ...inner] : inner;
};

/** Returns the comment that ends where a statement begins; that of a file does not belong to the statement. */
const commentBefore = (code: string, start: number): string => {
  const [found = ""] = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(code.slice(0, start)) ?? [];
  return /^\/\*\*\s*\*?\s*This file/.test(found) ? "" : found;
};

const declaredNames = (declaration: Node): readonly string[] =>
  declaration.type === "VariableDeclaration"
    ? nodesIn(declaration["declarations"]).map(({ id }) => identifierOf(id))
    : [identifierOf(declaration["id"])];

/** Reads a declaration file as the compiler writes them. */
const readDeclarations = (file: string): DeclarationFile => {
  const code = readFileSync(file, "utf8");
  const declared = new Map<string, Declaration>();
  const imported = new Map<string, NamePlace>();
  const exported = new Map<string, NamePlace>();
  const forwards: string[] = [];
  const fileOf = (statement: Node): string => {
    const source = textField(statement["source"], "value");
    return source.startsWith(".") ? resolve(dirname(file), source.replace(/\.ts$/, ".d.ts")) : source;
  };
  const declare = (statement: Node, declaration: Node): void => {
    const text = code.slice(declaration.start, declaration.end).replace(/^declare /, "");
    for (const name of declaredNames(declaration))
      declared.set(name, { text: commentBefore(code, statement.start) + text, names: namesIn(declaration) });
  };
  for (const statement of nodesIn((parseAst(code, { lang: "ts" }) as unknown as Node)["body"])) {
    const [inner] = nodesIn(statement["declaration"]);
    if (statement.type === "ExportAllDeclaration") forwards.push(fileOf(statement));
    else if (statement.type === "ImportDeclaration")
      for (const each of nodesIn(statement["specifiers"]))
        imported.set(identifierOf(each["local"]), {
          file: fileOf(statement),
          name: identifierOf(each["imported"]),
        });
    else if (inner !== undefined) {
      declare(statement, inner);
      for (const name of declaredNames(inner)) exported.set(name, { file, name });
    } else if (statement.type === "ExportNamedDeclaration")
      for (const each of nodesIn(statement["specifiers"]))
        exported.set(identifierOf(each["exported"]), {
          file: isNode(statement["source"]) ? fileOf(statement) : file,
          name: identifierOf(each["local"]),
        });
    else declare(statement, statement);
  }
  return { declared, imported, exported, forwards };
};

/** Reads declaration files, each once. */
const createReader = (): ((file: string) => DeclarationFile) => {
  const files = new Map<string, DeclarationFile>();
  return (file) => {
    const known = files.get(file) ?? readDeclarations(file);
    files.set(file, known);
    return known;
  };
};

/** Finds the file that declares a name, through files that only re-export it. */
const findDeclaration = (read: ReturnType<typeof createReader>, place: NamePlace): NamePlace | null => {
  const { declared, imported, exported } = read(place.file);
  if (declared.has(place.name)) return place;
  const next = imported.get(place.name) ?? exported.get(place.name);
  return next === undefined ? null : findDeclaration(read, next);
};

/** Formats a declaration for a declaration file. */
const printDeclaration = (text: string, isExported: boolean): string => {
  const [comment = ""] = /^\/\*\*[\s\S]*?\*\/\s*/.exec(text) ?? [];
  const rest = text.slice(comment.length);
  const lead = /^(?:const|function|class|abstract)\b/.test(rest) ? "declare " : "";
  return `${comment}${isExported ? "export " : ""}${lead}${rest}`;
};

/** Joins declarations into one file without imports; two declarations of one name are an error. */
export const joinDeclarations = (entry: string): string => {
  const read = createReader();
  const exportsOf = (file: string): readonly (readonly [string, NamePlace])[] => [
    ...read(file).exported,
    ...read(file).forwards.flatMap(exportsOf),
  ];
  const exported = new Map(exportsOf(entry));
  const placed = new Map<string, string>();
  const lines: string[] = [];
  const add = (place: NamePlace): void => {
    const found = findDeclaration(read, place);
    if (found === null) return;
    const { file, name } = found;
    const known = placed.get(name);
    if (known === file) return;
    if (known !== undefined) throw new Error(`${name} is declared in ${known} and in ${file}`);
    placed.set(name, file);
    const { text = "", names = [] } = read(file).declared.get(name) ?? {};
    lines.push(printDeclaration(text, exported.has(name)));
    for (const used of names) add({ file, name: used });
  };
  for (const place of exported.values()) add(place);
  return `${lines.join("\n\n")}\n\nexport {};\n`;
};
