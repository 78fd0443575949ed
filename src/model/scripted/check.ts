import type { Json } from "../../chat/message.ts";
import type { Script } from "./schema.ts";
import { findUnknownPlaceholders } from "./template.ts";

/** Fault of a script that its schema cannot detect (`script_invalid`), with its path in the document. */
interface ScriptProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** Unknown name, if the fault is one. */
  readonly unknown?: {
    readonly kind: "agent" | "scene" | "tool";
    readonly name: string;
    readonly known: ReadonlySet<string>;
  };
}

type CheckedScene = Script["scenes"][number];

type CheckedReply = Script["replies"][number];

type ScriptPath = readonly (string | number)[];

/** Names that a script may use. */
export interface ScriptNames {
  readonly agents: ReadonlySet<string>;
  readonly tools: ReadonlySet<string>;
  /** Servers whose tools are known only after a request: `server__tool`. */
  readonly servers: ReadonlySet<string>;
}

const findUnknown = (
  path: ScriptPath,
  kind: "agent" | "scene" | "tool",
  name: string,
  known: ReadonlySet<string>,
): ScriptProblem[] =>
  known.has(name) ? [] : [{ path, message: `unknown ${kind} ${name}`, unknown: { kind, name, known } }];

const findUnknownTool = (
  path: ScriptPath,
  name: string,
  { tools, servers }: ScriptNames,
): ScriptProblem[] => {
  const [server = "", ...rest] = name.split("__");
  return rest.length > 0 && servers.has(server) ? [] : findUnknown(path, "tool", name, tools);
};

const checkTemplates = (path: ScriptPath, value: Json): ScriptProblem[] => {
  if (typeof value === "string") {
    return findUnknownPlaceholders(value).map((placeholder) => ({
      path,
      message: `unknown placeholder ${placeholder}; use input, agent, turn, last or results.<tool>`,
    }));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    checkTemplates([...path, Array.isArray(value) ? Number(key) : key], item),
  );
};

const checkReply = (path: ScriptPath, reply: CheckedReply, names: ScriptNames): ScriptProblem[] => [
  ...reply.reply.flatMap((piece, index) => {
    const at = [...path, "reply", index];
    const calls = "call" in piece ? findUnknownTool([...at, "call"], piece.call, names) : [];
    const { raw_args: _, ...filled } = { raw_args: undefined, ...piece };
    return [...calls, ...checkTemplates(at, filled as Json)];
  }),
  ...(["tools", "not_tools"] as const).flatMap((key) =>
    (reply.expect?.[key] ?? []).flatMap((tool, index) =>
      findUnknownTool([...path, "expect", key, index], tool, names),
    ),
  ),
];

/** Returns whether a piece is content of a message; reasoning alone is none. */
const isContent = (piece: CheckedReply["reply"][number]): boolean => {
  if ("call" in piece) return true;
  if ("reasoning" in piece) return false;
  const text = "text" in piece ? piece.text : piece.refusal;
  return /\S/.test(typeof text === "string" ? text : text.repeat);
};

/** Finds conditions that never hold: a thread's position is read from its chat, which keeps no empty replies. */
const findUncounted = (
  path: ScriptPath,
  { name, when: { after, times } }: CheckedScene,
  scenes: ReadonlyMap<string, CheckedScene>,
): ScriptProblem[] => {
  const find = (key: "after" | "times", counted: string | undefined): ScriptProblem[] => {
    const scene = counted === undefined ? undefined : scenes.get(counted);
    if (scene === undefined || scene.reply.some(isContent)) return [];
    const message = `nothing of the reply ${scene.name} stays in the chat; use call or last instead`;
    return [{ path: [...path, key], message }];
  };
  return [...find("after", after), ...find("times", times === undefined ? undefined : name)];
};

const checkScene = (
  scene: CheckedScene,
  index: number,
  scenes: ReadonlyMap<string, CheckedScene>,
  known: ReadonlySet<string>,
  names: ScriptNames,
): ScriptProblem[] => {
  const path = ["scenes", index];
  const { agent, after, last } = scene.when;
  const when = [...path, "when"];
  return [
    ...findUncounted(when, scene, scenes),
    ...(agent === undefined ? [] : findUnknown([...when, "agent"], "agent", agent, names.agents)),
    ...(after === undefined ? [] : findUnknown([...when, "after"], "scene", after, known)),
    ...(last?.tool === undefined ? [] : findUnknownTool([...when, "last", "tool"], last.tool, names)),
    ...checkReply(path, scene, names),
  ];
};

const findRepeatedNames = ({ scenes }: Script): ScriptProblem[] =>
  scenes.flatMap(({ name }, index) =>
    scenes.findIndex((other) => other.name === name) === index
      ? []
      : [{ path: ["scenes", index, "name"], message: `the scene ${name} is in the script twice` }],
  );

/** Checks the names in a script: scenes, agents, tools and placeholders. */
export const checkScript = (script: Script, known: ScriptNames): ScriptProblem[] => {
  const names = { ...known, tools: new Set([...known.tools, ...script.client_tools]) };
  const byName = new Map(script.scenes.map((scene) => [scene.name, scene]));
  const scenes = new Set(byName.keys());
  const forms = [script.replies.length, scenes.size].filter((count) => count > 0).length;
  return [
    ...(forms === 1 ? [] : [{ path: [], message: "a script needs either replies or scenes, and not both" }]),
    ...(script.start === undefined ? [] : findUnknown(["start"], "scene", script.start, scenes)),
    ...findRepeatedNames(script),
    ...script.replies.flatMap((reply, index) => checkReply(["replies", index], reply, names)),
    ...script.scenes.flatMap((scene, index) => checkScene(scene, index, byName, scenes, names)),
  ];
};
