import { isOfKind } from "../../effects/schema.ts";
import { matchesGlob } from "../../sandbox/glob.ts";
import type { Located } from "../document/document.ts";
import type { TeamDraft } from "../draft.ts";
import type { ExtensionNames } from "../extensions.ts";
import { targetShapesOf } from "../draft.ts";
import { nodeAt, childOf, itemsOf } from "../document/located.ts";
import { createSuggester } from "../document/suggest.ts";
import { namesOf } from "./names.ts";

/** Checks that used skills and providers exist, and that existing ones are used. */

/** Returns the names of the skills that an agent has. */
export const skillsOf = (skills: "none" | readonly string[], all: readonly string[]): readonly string[] => {
  if (skills === "none") return [];
  return skills.length === 0 ? all : skills;
};

const checkSkills = (draft: TeamDraft, reportFile: ReportSkill): void => {
  const all = draft.skills.map(({ name }) => name);
  const known = new Set(all);
  const suggest = createSuggester(all);
  const used = new Set<string>();
  // A list that agents inherit from the defaults is checked once.
  const looked = new Set<Located | undefined>();
  for (const { index, value } of draft.agents) {
    for (const name of skillsOf(value.skills, all)) used.add(name);
    const written = nodeAt(draft.root, ["agents", index, "skills"]);
    if (value.skills === "none" || looked.has(written)) continue;
    looked.add(written);
    const listed = new Set<string>();
    value.skills.forEach((name, place) => {
      const path = ["agents", index, "skills", place] as const;
      if (listed.has(name)) draft.report("duplicate_name", path, `the skill "${name}" is listed twice`);
      listed.add(name);
      if (known.has(name)) return;
      draft.report("unknown_skill", path, `there is no skill "${name}"`, {
        hint: suggest(name) ?? `add skills/${name}/SKILL.md`,
      });
    });
  }
  const misspelt = [...used].some((name) => !known.has(name));
  for (const name of all) if (!used.has(name) && !misspelt) reportFile(name);
};

/** Reports a skill that no agent has, at its own file. */
export type ReportSkill = (skill: string) => void;

/** Returns the names of the providers that some agent can reach. */
export const reachableProviders = (draft: TeamDraft): ReadonlySet<string> => {
  const namesOfTargets = (agent: Parameters<typeof targetShapesOf>[1]): readonly string[] =>
    targetShapesOf(draft, agent).map(({ provider }) => provider.value.name);
  const names = draft.agents.flatMap(({ value }) => [
    ...namesOfTargets(value),
    ...value.delegation.providers.flatMap((provider) => namesOfTargets({ provider })),
    ...(value.memory?.embedding === undefined ? [] : [value.memory.embedding]),
    ...(value.effects ?? [])
      .filter(isOfKind("compact"))
      .flatMap(({ params }) => params.summary_provider ?? []),
  ]);
  return new Set(names);
};

const checkProviders = (draft: TeamDraft): void => {
  const used = reachableProviders(draft);
  const known = namesOf(draft, "providers");
  const misspelt = draft.agents.some(({ value }) => !known.includes(value.provider ?? known[0] ?? ""));
  if (misspelt) return;
  for (const { index, value } of draft.providers) {
    if (used.has(value.name)) continue;
    draft.report("unused_provider", ["providers", index, "name"], `no agent uses the provider ${value.name}`);
  }
};

/** Warns of servers that no agent lists; a toolbox that is misspelt may be meant for one. */
const checkServers = (draft: TeamDraft): void => {
  const listed = new Set(draft.agents.flatMap(({ value }) => value.toolboxes.map(({ name }) => name)));
  const known = new Set([...draft.toolboxes.keys(), ...namesOf(draft, "mcp_servers")]);
  if ([...listed].some((name) => !known.has(name))) return;
  for (const { index, value } of draft.servers) {
    if (listed.has(value.name) || draft.toolboxes.has(value.name)) continue;
    draft.report("unused_server", ["mcp_servers", index, "name"], `no agent uses the server ${value.name}`, {
      hint: `add ${value.name} to the toolboxes of an agent`,
    });
  }
};

/** Returns whether `may_call` allows an agent. */
export const mayCall = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesGlob(pattern, name, { segments: false }));

/** Warns of delegation to nobody; a list of nobody in a `delegation` block is meant so, or is reported itself. */
const checkDelegation = (draft: TeamDraft): void => {
  const names = draft.agents.map(({ value }) => value.name);
  for (const { index, value } of draft.agents) {
    const { may_call: patterns, ad_hoc: adHoc } = value.delegation;
    const others = names.filter((name) => name !== value.name && mayCall(patterns, name));
    if (value.options.max_delegation_depth === 0 || others.length > 0 || adHoc) continue;
    const depth = ["agents", index, "options", "max_delegation_depth"] as const;
    const isWritten = nodeAt(draft.root, depth) !== undefined;
    const own = ["agents", index, "delegation"] as const;
    if (!isWritten && (!patterns.includes("*") || nodeAt(draft.written, own) === undefined)) continue;
    const path = isWritten ? depth : own;
    draft.report("delegation_impossible", path, `there is no agent that ${value.name} may call`, {
      which: "key",
    });
  }
};

/** Definition of `extensions.ts` that no agent has, with how to give it to one. */
interface UnusedExtension {
  readonly path: string;
  readonly message: string;
  readonly hint: string;
}

/** Lists the toolboxes, effects, guards and middleware of `extensions.ts` that do nothing, as no agent names them. */
export const findUnusedExtensions = (draft: TeamDraft, own: ExtensionNames): readonly UnusedExtension[] => {
  const agents = draft.agents.map(({ value }) => value);
  const kindsIn = (list: "effects" | "middleware"): readonly string[] =>
    agents.flatMap((agent) => (agent[list] ?? []).map(({ kind }) => kind));
  const find = (
    list: "effects" | "guards" | "middleware" | "toolboxes",
    names: readonly string[],
    used: readonly string[],
    [what, entry]: readonly [string, (name: string) => string],
  ): readonly UnusedExtension[] =>
    names.flatMap((name, index) => {
      if (used.includes(name)) return [];
      const hint = `add ${entry(name)} to the ${list} of an agent, or of defaults`;
      return [{ path: `${list}[${index}]`, message: `no agent uses the ${what} ${name}`, hint }];
    });
  const kindsOf = (list: readonly { readonly kind: string }[]): readonly string[] =>
    list.map(({ kind }) => kind);
  const asEntry = (kind: string): string => `{ kind: ${kind} }`;
  const listed = agents.flatMap(({ toolboxes }) => toolboxes.map(({ name }) => name));
  const guards = agents.flatMap((agent) => Object.keys(agent.guards));
  return [
    ...find("toolboxes", [...own.toolboxes.keys()], listed, ["toolbox", (name) => name]),
    ...find("effects", kindsOf(own.effects), kindsIn("effects"), ["effect", asEntry]),
    ...find("guards", kindsOf(own.guards), guards, ["guard", (kind) => `${kind}: {}`]),
    ...find("middleware", kindsOf(own.middleware), kindsIn("middleware"), ["middleware", asEntry]),
  ];
};

/** Reports skills, providers, servers and delegation without use. */
export const checkUsage = (draft: TeamDraft, reportFile: ReportSkill): void => {
  const all = itemsOf(childOf(draft.root, "agents")).length;
  const complete = all > 0 && draft.agents.length === all;
  checkSkills(draft, complete ? reportFile : () => undefined);
  if (complete) {
    checkProviders(draft);
    checkServers(draft);
  }
  checkDelegation(draft);
};
