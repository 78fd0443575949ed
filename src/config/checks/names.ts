import { isMiddleware } from "../sections/agent.ts";
import { isOfKind } from "../../effects/schema.ts";
import { globFault, matchesGlob } from "../../sandbox/glob.ts";
import type { Path } from "../document/diagnostics.ts";
import type { TeamDraft, ProviderShape } from "../draft.ts";
import { targetShapesOf } from "../draft.ts";
import { nodeAt, childOf, itemsOf, scalarTextOf } from "../document/located.ts";
import { hasEmbeddings } from "../../providers/embeddings.ts";
import { profiles } from "../../providers/index.ts";
import { createSuggester, suggestFor } from "../document/suggest.ts";
import type { Suggest } from "../document/suggest.ts";

/** Checks that names are unique and that every name in use is known. */

const nameLists = ["providers", "agents", "mcp_servers", "webhooks", "schedules"] as const;
type NameList = (typeof nameLists)[number];

/** Returns the names as written, including those of entries with other errors. */
export const namesOf = (draft: TeamDraft, list: NameList): string[] =>
  itemsOf(childOf(draft.root, list)).flatMap((item) => scalarTextOf(childOf(item, "name")) ?? []);

const checkUnique = (draft: TeamDraft, list: NameList): void => {
  const seen = new Map<string, string>();
  itemsOf(childOf(draft.root, list)).forEach((item, index) => {
    const name = scalarTextOf(childOf(item, "name"));
    if (name === undefined) return;
    const first = seen.get(name.toLowerCase());
    if (first === undefined) seen.set(name.toLowerCase(), name);
    else {
      const message =
        first === name ? `"${name}" is used twice here` : `"${name}" and "${first}" differ only in case`;
      draft.reportWritten("duplicate_name", [list, index, "name"], message);
    }
  });
};

const checkAliases = (draft: TeamDraft): void => {
  const taken = new Set([...namesOf(draft, "providers"), ...Object.keys(draft.sections.models)]);
  for (const [model, { alias }] of Object.entries(draft.sections.models)) {
    if (alias === undefined) continue;
    if (taken.has(alias)) {
      draft.report("duplicate_name", ["models", model, "alias"], `"${alias}" already names something else`);
    }
    taken.add(alias);
  }
};

interface ListedNames {
  readonly names: readonly string[];
  readonly suggest: Suggest;
}

const listedNamesIn = (draft: TeamDraft, list: NameList): ListedNames => {
  const names = namesOf(draft, list);
  return { names, suggest: createSuggester(names) };
};

const checkKnown = (
  draft: TeamDraft,
  code: "unknown_provider" | "unknown_agent",
  path: Path,
  name: string | undefined,
  { names, suggest }: ListedNames,
): void => {
  if (name === undefined || names.includes(name)) return;
  const what = code === "unknown_provider" ? "provider" : "agent";
  draft.report(code, path, `there is no ${what} "${name}"`, { hint: suggest(name) });
};

/** Suggests a provider; a kind may have been meant as the name of the provider of this kind. */
const suggestProvider = (draft: TeamDraft, { names, suggest }: ListedNames): ListedNames => ({
  names,
  suggest: (name) => {
    const same = draft.providers.find(({ value }) => value.kind === name);
    if (same !== undefined) return `did you mean "${same.value.name}", whose kind is ${name}?`;
    const isKind = draft.providerKinds.includes(name);
    return isKind ? `add a provider of the kind ${name} to providers` : suggest(name);
  },
});

const fallbackPath = (draft: TeamDraft, path: Path): Path =>
  nodeAt(draft.root, draft.writtenPath([...path, "provider"])) === undefined ? path : [...path, "provider"];

const checkProviderNames = (draft: TeamDraft): void => {
  const known = suggestProvider(draft, listedNamesIn(draft, "providers"));
  const check = (path: Path, name: string | undefined): void =>
    checkKnown(draft, "unknown_provider", path, name, known);
  for (const { index, value } of draft.providers) {
    value.fallbacks.forEach(({ provider }, place) =>
      check(fallbackPath(draft, ["providers", index, "fallbacks", place]), provider),
    );
  }
  for (const { index, value } of draft.agents) {
    const path: Path = ["agents", index];
    check([...path, "provider"], value.provider);
    value.fallbacks?.forEach(({ provider }, place) =>
      check(fallbackPath(draft, [...path, "fallbacks", place]), provider),
    );
    value.delegation.providers.forEach((name, place) =>
      check([...path, "delegation", "providers", place], name),
    );
    check([...path, "memory", "embedding"], value.memory?.embedding);
    value.effects?.forEach((effect, place) => {
      if (!isOfKind("compact")(effect)) return;
      check([...path, "effects", place, "params", "summary_provider"], effect.params.summary_provider);
    });
  }
};

/** Checks that a memory's provider has embeddings; for kinds of extensions this is unknown. */
const checkEmbeddings = (draft: TeamDraft): void => {
  for (const { index, value } of draft.agents) {
    const name = value.memory?.embedding;
    const kind = draft.providers.find((each) => each.value.name === name)?.value.kind;
    const profile = profiles.find((each) => each.kind === kind);
    if (kind !== "scripted" && (profile === undefined || hasEmbeddings(profile))) continue;
    draft.report(
      "invalid_value",
      ["agents", index, "memory", "embedding"],
      `${name} is of the kind ${kind}, which has no embeddings`,
      { hint: "name a provider with an API like OpenAI's, or omit it" },
    );
  }
};

/** Checks the name or pattern of agents that an agent may call; an agent's own name may come from `defaults`. */
const checkCallable = (
  draft: TeamDraft,
  caller: string,
  path: Path,
  pattern: string,
  known: ListedNames,
): void => {
  const ignore = (message: string, hint?: string): void =>
    draft.report("key_ignored", path, message, { hint });
  if (pattern === caller) {
    if (nodeAt(draft.written, draft.writtenPath(path)) !== undefined)
      ignore("an agent never calls itself", "remove it");
    return;
  }
  const fault = globFault(pattern);
  if (fault !== null)
    return draft.report("invalid_value", path, fault, { hint: "write an entry for each agent, or *" });
  if (!/[*?[]/.test(pattern)) return checkKnown(draft, "unknown_agent", path, pattern, known);
  if (known.names.some((name) => matchesGlob(pattern, name, { segments: false }))) return;
  ignore(`no agent of this team fits "${pattern}"`, known.suggest(pattern));
};

const checkAgentNames = (draft: TeamDraft): void => {
  const known = listedNamesIn(draft, "agents");
  const check = (path: Path, name: string | undefined): void =>
    checkKnown(draft, "unknown_agent", path, name, known);
  check(["entry_agent"], draft.sections.entry_agent);
  draft.sections.schedules.forEach(({ agent }, index) => check(["schedules", index, "agent"], agent));
  for (const { index, value } of draft.agents) {
    if (value.name.toLowerCase() === "auto")
      draft.report(
        "invalid_value",
        ["agents", index, "name"],
        `"${value.name}" means the agent that fits a task best, so this one could not be called by name`,
        { hint: "choose another name" },
      );
    value.delegation.may_call.forEach((pattern, place) =>
      checkCallable(draft, value.name, ["agents", index, "delegation", "may_call", place], pattern, known),
    );
  }
};

const checkKinds = (draft: TeamDraft): void => {
  for (const { index, value } of draft.providers) {
    const { kind } = value;
    if (draft.providerKinds.includes(kind)) continue;
    const path = ["providers", index, "kind"];
    draft.report("unknown_provider_kind", path, `there is no provider kind "${kind}"`, {
      hint: suggestFor(kind, draft.providerKinds, path),
    });
  }
};

/** Warns of a window for a kind that no provider can have; the window of a model stands at the model. */
const checkWindowKinds = (draft: TeamDraft): void => {
  const models = new Set(
    draft.agents.flatMap(({ value }) => targetShapesOf(draft, value).map(({ model }) => model)),
  );
  for (const kind of Object.keys(draft.sections.default_context_windows)) {
    if (draft.providerKinds.includes(kind)) continue;
    draft.report("key_ignored", ["default_context_windows", kind], `there is no provider kind "${kind}"`, {
      which: "key",
      hint: models.has(kind)
        ? `write models: { ${kind}: { context_window: … } } for the window of a model`
        : suggestFor(kind, draft.providerKinds, ["providers", 0, "kind"]),
    });
  }
};

const checkCycles = (draft: TeamDraft): void => {
  const next = new Map(
    draft.providers.map(({ value }) => [
      value.name,
      value.fallbacks.map(({ provider }) => provider).filter((name) => name !== value.name),
    ]),
  );
  const reaches = (from: string, target: string, seen: Set<string>): boolean =>
    (next.get(from) ?? []).some((name) => {
      if (name === target) return true;
      if (seen.has(name)) return false;
      seen.add(name);
      return reaches(name, target, seen);
    });
  const found = draft.providers.filter(({ value }) => reaches(value.name, value.name, new Set()));
  const first = found[0];
  if (first === undefined) return;
  const circle = found.map(({ value }) => value.name).join(", ");
  draft.report(
    "fallback_cycle",
    ["providers", first.index, "fallbacks"],
    `fallbacks lead back to where they began: ${circle}`,
  );
};

/** Reports a fallback to the target that has just failed. */
const checkRepeats = (draft: TeamDraft): void => {
  const models = new Map(draft.providers.map(({ value }) => [value.name, value.model]));
  const check = (
    path: Path,
    name: string,
    model: string | undefined,
    fallbacks: ProviderShape["fallbacks"],
  ): void =>
    fallbacks.forEach((fallback, place) => {
      if (fallback.provider !== name || (fallback.model ?? models.get(name)) !== model) return;
      draft.report(
        "fallback_cycle",
        [...path, "fallbacks", place],
        `${name} would be asked again for the model that has just failed`,
        { hint: "name another provider, or another model of this one" },
      );
    });
  for (const { index, value } of draft.providers)
    check(["providers", index], value.name, value.model, value.fallbacks);
  const first = draft.providers.find(({ index }) => index === 0)?.value.name ?? "";
  for (const { index, value } of draft.agents) {
    const name = value.provider ?? first;
    check(["agents", index], name, value.model ?? models.get(name), value.fallbacks ?? []);
  }
};

const checkGuardrails = (draft: TeamDraft): void => {
  for (const { index, value } of draft.agents) {
    value.middleware.forEach((entry, place) => {
      const name = isMiddleware("output_guardrail")(entry) ? entry.params.check : undefined;
      if (name === undefined || draft.checks.includes(name)) return;
      draft.report(
        "invalid_value",
        ["agents", index, "middleware", place, "params", "check"],
        `there is no check "${name}" in extensions.ts`,
        { hint: suggestFor(name, draft.checks) },
      );
    });
  }
};

/** Reports repeated and unknown names. */
export const checkNames = (draft: TeamDraft): void => {
  for (const list of nameLists) checkUnique(draft, list);
  checkAliases(draft);
  checkProviderNames(draft);
  checkAgentNames(draft);
  checkEmbeddings(draft);
  checkGuardrails(draft);
  checkKinds(draft);
  checkWindowKinds(draft);
  checkCycles(draft);
  checkRepeats(draft);
};
