import type { Script } from "../../model/scripted/schema.ts";
import { renameAliases } from "../../tools/arguments.ts";
import type { Tool } from "../../tools/define-tool.ts";
import type { Path } from "../document/diagnostics.ts";
import type { Located } from "../document/document.ts";
import type { ShapeIssue } from "../document/issues.ts";
import { shapeIssues } from "../document/issues.ts";
import { nodeAt } from "../document/located.ts";

/** Checks the arguments of a script's calls by the schemas of their tools. */

type Piece = Script["replies"][number]["reply"][number];

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (part, key) => (typeof part === "object" && part !== null ? Reflect.get(part, key) : undefined),
    value,
  );

/** Returns whether a value has a text that the request fills in, so that its final form is not known. */
const isFilledIn = (value: unknown): boolean => JSON.stringify(value ?? null).includes("{{");

const checkCall = (
  piece: Piece,
  node: Located,
  path: Path,
  definitions: ReadonlyMap<string, Tool>,
): ShapeIssue[] => {
  if (!("call" in piece) || piece.raw_args !== undefined) return [];
  const tool = definitions.get(piece.call);
  if (tool === undefined) return [];
  const args = renameAliases({ ...piece.args }, tool.aliases);
  const found = tool.params
    .safeParse(args)
    .error?.issues.filter(
      ({ code, path: at }) => code === "unrecognized_keys" || !isFilledIn(valueAt(args, at)),
    );
  const written: Located = nodeAt(node, ["args"]) ?? { at: node.at, kind: "map", entries: new Map() };
  const issues = shapeIssues(found ?? [], [], written, tool.params);
  const isMisspelt = issues.some(({ which }) => which === "key");
  return issues
    .filter(({ which }) => !(isMisspelt && which === "missing"))
    .map((issue) => ({
      ...issue,
      path: [...path, "args", ...issue.path],
      message: `${piece.call}: ${issue.message}`,
      hint: issue.hint ?? "if the tool is to refuse them, write them as raw_args",
    }));
};

/** Finds the wrong arguments of all calls; `root` is the script as it was written. */
export const findWrongArguments = (
  script: Script,
  root: Located,
  definitions: ReadonlyMap<string, Tool>,
): ShapeIssue[] => {
  const own = new Map([...definitions].filter(([name]) => !script.client_tools.includes(name)));
  return (["replies", "scenes"] as const).flatMap((list) =>
    script[list].flatMap(({ reply }, index) =>
      reply.flatMap((piece, place) => {
        const path = [list, index, "reply", place];
        return checkCall(piece, nodeAt(root, path) ?? root, path, own);
      }),
    ),
  );
};
