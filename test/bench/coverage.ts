import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseAst } from "vite";
import { call, openLine } from "./client.ts";
import { readModules } from "./modules.ts";
import { create, firstReply } from "./scenarios.ts";
import { startWorker } from "./server.ts";
import type { Setup } from "./setup.ts";

/**
 * Which of our files one text reply runs through, from the router to the watcher's socket. workerd has no coverage of its
 * own (its inspector takes no `startPreciseCoverage`), so each function of the bundle says that it was called.
 */

/** How many files a reply should need at most. */
const target = 35;

interface FunctionPlace {
  readonly path: string;
  readonly name: string;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as SyntaxNode).type === "string";

const childrenOf = (node: SyntaxNode): readonly SyntaxNode[] =>
  Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );

const nameIn = (node: SyntaxNode | undefined): string | null => {
  const named = node?.["id"] ?? node?.["key"];
  return isNode(named) && typeof named["name"] === "string" ? named["name"] : null;
};

/** Calls `visit` for every function below a node, with its name or that of what holds it. */
const visitFunctions = (
  node: SyntaxNode,
  parent: SyntaxNode | undefined,
  visit: (body: SyntaxNode, name: string) => void,
): void => {
  const { body } = node;
  if (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type) && isNode(body))
    visit(body, nameIn(node) ?? nameIn(parent) ?? "(anonymous)");
  for (const child of childrenOf(node)) visitFunctions(child, node, visit);
};

const insert = (text: string, insertions: readonly Insertion[]): string => {
  const pieces: string[] = [];
  let from = 0;
  for (const { at, text: added } of insertions.toSorted((a, b) => a.at - b.at)) {
    pieces.push(text.slice(from, at), added);
    from = at;
  }
  return [...pieces, text.slice(from)].join("");
};

/** Rewrites a bundle so that every function of ours adds its number to a set when it is called. */
const instrument = (bundle: string): readonly FunctionPlace[] => {
  const text = readFileSync(bundle, "utf8");
  const modules = readModules(bundle);
  const places: FunctionPlace[] = [];
  const insertions: Insertion[] = [{ at: 0, text: "const benchRan = (globalThis.benchRan = new Set());\n" }];
  visitFunctions(parseAst(text) as unknown as SyntaxNode, undefined, (body, name) => {
    const path = modules.atOffset(body.start);
    if (!/^(?:src|durable-objects)\//.test(path)) return;
    const mark = `benchRan.add(${places.length})`;
    places.push({ path, name });
    if (body.type === "BlockStatement") insertions.push({ at: body.start + 1, text: ` ${mark};` });
    else insertions.push({ at: body.start, text: `(${mark}, ` }, { at: body.end, text: ")" });
  });
  writeFileSync(bundle, insert(text, insertions));
  return places;
};

/**
 * Prints the files that have a function which runs while a session that exists, with a watcher that is live, gets an input
 * over HTTP and its model answers with a few words. What runs once in an isolate's life has run before.
 */
export const listFiles = async (setup: Setup): Promise<void> => {
  const options = await setup.optionsOf("limpet", "files");
  const places = instrument(join(dirname(options.config), "worker.js"));
  const server = await startWorker(options);
  const take = async (): Promise<readonly number[]> =>
    JSON.parse((await call(server.port, "POST", "/_ran")).text) as readonly number[];
  for (let count = 0; count < 3; count++) await firstReply(server);
  const session = await create(server);
  const line = await openLine(server.port, session, 0);
  await line.live();
  await take();
  const sent = await call(server.port, "POST", `/v1/sessions/${session}`, { content: "Hello.", wait: 0 });
  if (sent.status >= 300) throw new Error(sent.text);
  await line.ended(1);
  const ran = (await take()).flatMap((index) => places[index] ?? []);
  const files = Map.groupBy(ran, ({ path }) => path);
  for (const [path, functions] of [...files].sort(([a], [b]) => a.localeCompare(b)))
    process.stdout.write(`${path}: ${functions.map(({ name }) => name).join(", ")}\n`);
  process.stdout.write(`\n${files.size} files, ${ran.length} functions; the target is ${target} files\n`);
  line.close();
  await server.kill();
};
