import * as z from "zod";
import { fieldsOf } from "../chat/json.ts";
import { effectOrders } from "../agent/definition/effect.ts";
import type { Effect } from "../agent/definition/effect.ts";
import type { Guard, Middleware } from "../agent/definition/guard.ts";
import { effectKinds } from "../effects/schema.ts";
import { protocols } from "../providers/index.ts";
import { providerKinds } from "../providers/schema.ts";
import { namePattern } from "../schema.ts";
import type { Tool } from "../tools/define-tool.ts";
import { errorMessageOf } from "../tools/errors.ts";
import { findUnknownKey } from "../tools/suggest.ts";
import type { ErrorCode } from "./document/diagnostics.ts";
import type { Located } from "./document/document.ts";
import { readAgents } from "./extension-agents.ts";
import { guardKinds } from "../guards/index.ts";
import { middlewareKinds } from "./sections/agent.ts";
import { guardKeys } from "./sections/agents.ts";
import { builtInToolboxes, builtInTools } from "./known.ts";

/** Reads the exports of a team's `extensions.ts`, which the build loads. */

/** Line and column in the file, from 1. */
export interface ModulePlace {
  readonly line: number;
  readonly column: number;
}

/** Loaded module, or the reason why it could not be loaded, with its place in the file if known. */
export type ExtensionModule =
  | { readonly exports: Readonly<Record<string, unknown>> }
  | { readonly error: string; readonly place?: ModulePlace | undefined };

export interface ExtensionNames {
  readonly toolboxes: ReadonlyMap<string, readonly string[]>;
  /** Tools of these toolboxes. */
  readonly tools: readonly Tool[];
  readonly providerKinds: readonly string[];
  readonly effects: readonly Effect[];
  readonly guards: readonly Guard[];
  readonly middleware: readonly Middleware[];
  readonly checks: readonly string[];
  readonly agents: readonly Located[];
}

const noExtensions: ExtensionNames = {
  toolboxes: new Map(),
  tools: [],
  providerKinds: [],
  effects: [],
  guards: [],
  middleware: [],
  checks: [],
  agents: [],
};

type ReportProblem = (code: ErrorCode, path: string, message: string, hint?: string) => void;

const exportLists = [
  "effects",
  "guards",
  "toolboxes",
  "providers",
  "protocols",
  "middleware",
  "checks",
  "agents",
];

const exportField = (value: unknown, key: string): unknown => fieldsOf(value)[key];

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns why a value was not made by `defineTool`, which declares a tool and checks its arguments; null if it was. */
const toolProblem = (tool: unknown): string | null => {
  const isTool =
    exportField(tool, "params") instanceof z.ZodObject && typeof exportField(tool, "run") === "function";
  try {
    if (isTool && typeof exportField(tool, "schema") === "object") return null;
  } catch (error) {
    return `its parameters cannot be expressed as JSON Schema: ${errorMessageOf(error)}`;
  }
  return "this is not a tool; create it with defineTool";
};

const readToolNames = (toolbox: unknown, path: string, problem: ReportProblem): string[] => {
  const tools = exportField(toolbox, "tools");
  const unknown = findUnknownKey(fieldsOf(toolbox), ["name", "description", "tools"]);
  if (unknown !== null) {
    problem("extension_invalid", path, `a toolbox: ${unknown}`);
    return [];
  }
  if (!Array.isArray(tools)) {
    problem("extension_invalid", path, "a toolbox needs a list of tools");
    return [];
  }
  const seen = new Set<string>();
  return tools.flatMap((tool: unknown, index) => {
    const name = exportField(tool, "name");
    const at = `${path}.tools[${index}]`;
    const lack = toolProblem(tool);
    if (typeof name !== "string" || !namePattern.test(name) || lack !== null) {
      problem("extension_invalid", at, lack ?? "this is not a tool; create it with defineTool");
      return [];
    }
    if (builtInTools.includes(name) && exportField(tool, "replaces") !== true) {
      problem(
        "name_conflict",
        at,
        `"${name}" is a built-in tool`,
        "set replaces: true if it is meant to replace that one",
      );
    }
    if (seen.has(name)) {
      const message = `the tool "${name}" is in this toolbox twice`;
      problem("duplicate_name", at, message, "take one of them out, or give it another name");
      return [];
    }
    seen.add(name);
    return [name];
  });
};

/** Returns the tools that the names refer to. */
const toolsIn = (value: readonly unknown[], names: ReadonlyMap<string, readonly string[]>): Tool[] =>
  value.flatMap((toolbox) => {
    const own = names.get(textOf(exportField(toolbox, "name"))) ?? [];
    const tools = exportField(toolbox, "tools");
    return (Array.isArray(tools) ? (tools as Tool[]) : []).filter((tool) =>
      own.includes(textOf(exportField(tool, "name"))),
    );
  });

const readToolboxes = (value: readonly unknown[], problem: ReportProblem): Map<string, readonly string[]> => {
  const found = new Map<string, readonly string[]>();
  value.forEach((toolbox, index) => {
    const path = `toolboxes[${index}]`;
    const name = exportField(toolbox, "name");
    if (typeof name !== "string" || !namePattern.test(name)) {
      problem("extension_invalid", path, "a toolbox needs a name of letters, digits, - and _");
      return;
    }
    if (Object.hasOwn(builtInToolboxes, name) || name === "core" || found.has(name)) {
      problem("name_conflict", path, `there is already a toolbox "${name}"`);
      return;
    }
    found.set(name, readToolNames(toolbox, path, problem));
  });
  return found;
};

const isProtocol = (protocol: unknown): boolean =>
  typeof exportField(protocol, "path") === "string" &&
  ["build", "decoder", "post"].every((name) => typeof exportField(protocol, name) === "function");

/** Reads the names of the protocols that providers may name, the built-in ones first. */
const readProtocols = (value: readonly unknown[], problem: ReportProblem): readonly string[] => {
  const names = protocols.map(({ name }) => name);
  for (const [index, protocol] of value.entries()) {
    const path = `protocols[${index}]`;
    const name = textOf(exportField(protocol, "name"));
    if (!namePattern.test(name) || !isProtocol(protocol))
      problem(
        "extension_invalid",
        path,
        "a protocol needs name, path, build, decoder and post",
        "write it as a Protocol of src/protocols/protocol.ts",
      );
    else if (names.includes(name)) problem("name_conflict", path, `there is already a protocol "${name}"`);
    else names.push(name);
  }
  return names;
};

const isProfile = (provider: unknown, protocolNames: readonly string[]): boolean => {
  const baseUrl = exportField(provider, "baseUrl");
  return (
    protocolNames.includes(textOf(exportField(provider, "protocol"))) &&
    (baseUrl === null || typeof baseUrl === "string") &&
    ["bearer", "x-api-key"].includes(String(exportField(provider, "auth"))) &&
    typeof exportField(provider, "traits") === "function"
  );
};

const readProviders = (
  value: readonly unknown[],
  protocolNames: readonly string[],
  problem: ReportProblem,
): string[] => {
  const kinds = new Set<string>(providerKinds);
  return value.flatMap((provider, index) => {
    const path = `providers[${index}]`;
    const kind = exportField(provider, "kind");
    if (typeof kind !== "string" || !/^[a-z][a-z0-9-]{0,63}$/.test(kind)) {
      problem("extension_invalid", path, "a provider needs a kind of lower-case letters, digits and -");
      return [];
    }
    if (!isProfile(provider, protocolNames))
      problem(
        "extension_invalid",
        path,
        `the provider ${kind} needs protocol, baseUrl, auth and traits`,
        "write it as a Profile of src/providers/profile.ts",
      );
    if (kinds.has(kind)) problem("name_conflict", path, `there is already a provider kind "${kind}"`);
    kinds.add(kind);
    return [kind];
  });
};

/** Returns why a value is not a strict object schema that editors can use; null if it is one. */
const paramsProblem = (params: unknown): string | null => {
  const strict = "params must be a z.strictObject";
  if (!(params instanceof z.ZodObject) || !(params.def.catchall instanceof z.ZodNever)) return strict;
  try {
    z.toJSONSchema(params, { io: "input" });
  } catch (error) {
    return `params cannot be expressed as JSON Schema: ${errorMessageOf(error)}`;
  }
  return null;
};

const isEffect = (value: unknown): boolean =>
  ["before_complete", "after_complete"].includes(String(exportField(value, "phase"))) &&
  effectOrders.some((order) => order === exportField(value, "order")) &&
  typeof exportField(value, "run") === "function";

/** List of definitions that are identified by their kind and have their own parameters. */
interface KindList {
  readonly list: string;
  readonly what: string;
  /** Article before the name of one, with a space. */
  readonly article: string;
  readonly maker: string;
  readonly taken: readonly string[];
  readonly keys: readonly string[];
  readonly isOne: (value: unknown) => boolean;
}

const effectList: KindList = {
  list: "effects",
  what: "effect",
  article: "an ",
  maker: "defineEffect",
  taken: effectKinds,
  keys: ["kind", "description", "phase", "order", "params", "state", "run"] satisfies (keyof Effect)[],
  isOne: isEffect,
};

const guardList: KindList = {
  list: "guards",
  what: "guard",
  article: "a ",
  maker: "defineGuard",
  taken: [...guardKeys, ...guardKinds],
  keys: ["kind", "description", "params", "state", "history", "before", "after"] satisfies (keyof Guard)[],
  isOne: (value) => typeof exportField(value, "before") === "function",
};

const middlewareList: KindList = {
  list: "middleware",
  what: "middleware",
  article: "",
  maker: "defineMiddleware",
  taken: middlewareKinds,
  keys: ["kind", "description", "params", "start", "finish"] satisfies (keyof Middleware)[],
  isOne: (value) => {
    const hooks = [exportField(value, "start"), exportField(value, "finish")].filter(
      (hook) => hook !== undefined,
    );
    return hooks.length > 0 && hooks.every((hook) => typeof hook === "function");
  },
};

const readKinds = <Kind extends Effect | Guard | Middleware>(
  value: readonly unknown[],
  { list, what, article, maker, taken, keys, isOne }: KindList,
  problem: ReportProblem,
): Kind[] => {
  const kinds = new Set<string>(taken);
  return value.flatMap((each, index) => {
    const path = `${list}[${index}]`;
    const kind = exportField(each, "kind");
    const unknown = findUnknownKey(fieldsOf(each), keys);
    if (unknown !== null) {
      problem("extension_invalid", path, `the ${what} ${textOf(kind)}: ${unknown}`);
      return [];
    }
    if (typeof kind !== "string" || !/^[a-z][a-z0-9_]{0,63}$/.test(kind) || !isOne(each)) {
      problem("extension_invalid", path, `this is not ${article}${what}; create it with ${maker}`);
      return [];
    }
    const wrong = paramsProblem(exportField(each, "params"));
    if (wrong !== null) {
      problem("extension_invalid", `${path}.params`, `the ${what} ${kind}: ${wrong}`);
      return [];
    }
    if (kinds.has(kind)) {
      problem("name_conflict", path, `there is already ${article}${what} "${kind}"`);
      return [];
    }
    kinds.add(kind);
    return [{ ...(each as Kind), description: textOf(exportField(each, "description")) }];
  });
};

/** Reads the names of the checks that guardrails may use. */
const readChecks = (value: readonly unknown[], problem: ReportProblem): string[] => {
  const names = value.flatMap((each, index) => {
    const name = textOf(exportField(each, "name"));
    if (namePattern.test(name) && typeof exportField(each, "check") === "function") return [name];
    problem("extension_invalid", `checks[${index}]`, "a check needs a name and a function check(text)");
    return [];
  });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problem("name_conflict", "checks", `there are two checks "${twice}"`);
  return names;
};

const readExportList = (
  exports: Readonly<Record<string, unknown>>,
  name: string,
  problem: ReportProblem,
): readonly unknown[] => {
  const value = exports[name] ?? [];
  if (Array.isArray(value)) return value as unknown[];
  problem("extension_invalid", name, `the export ${name} must be a list`);
  return [];
};

/** Reads the names that the extensions add; mistakes are reported to `problem`. */
export const readExtensions = (
  module: ExtensionModule | undefined,
  problem: ReportProblem,
): ExtensionNames => {
  if (module === undefined) return noExtensions;
  if ("error" in module) {
    problem("extension_invalid", "", `the file could not be loaded: ${module.error}`);
    return noExtensions;
  }
  for (const name of Object.keys(module.exports)) {
    if (exportLists.includes(name)) continue;
    const hint = `export ${exportLists.join(", ")}`;
    problem("extension_invalid", name, `"${name}" is not a list of definitions`, hint);
  }
  const boxes = readExportList(module.exports, "toolboxes", problem);
  const toolboxes = readToolboxes(boxes, problem);
  const protocolNames = readProtocols(readExportList(module.exports, "protocols", problem), problem);
  const providers = readExportList(module.exports, "providers", problem);
  return {
    toolboxes,
    tools: toolsIn(boxes, toolboxes),
    providerKinds: readProviders(providers, protocolNames, problem),
    effects: readKinds<Effect>(readExportList(module.exports, "effects", problem), effectList, problem),
    checks: readChecks(readExportList(module.exports, "checks", problem), problem),
    agents: readAgents(readExportList(module.exports, "agents", problem), (path, message) =>
      problem("extension_invalid", path, message),
    ),
    middleware: readKinds<Middleware>(
      readExportList(module.exports, "middleware", problem),
      middlewareList,
      problem,
    ),
    guards: readKinds<Guard>(readExportList(module.exports, "guards", problem), guardList, problem),
  };
};
