import type { FolderReport } from "../build/files-map.ts";
import type { Path, SourcePlace } from "../document/diagnostics.ts";
import { formatPath } from "../document/diagnostics.ts";
import type { TeamDraft } from "../draft.ts";

/** Determines the secrets that a team needs, and compares them with those that its environment declares. */

/** Names that reach the team's Worker: wrangler reads no other from `.dev.vars`. */
export interface DeclaredNames {
  /** Where the environment begins. */
  readonly place: SourcePlace;
  readonly names: ReadonlySet<string>;
}

/** Returns the secrets that tools of the agents' toolboxes read themselves, with these tools. */
const toolSecrets = (draft: TeamDraft): readonly (readonly [string, string])[] => {
  const used = new Set(draft.agents.flatMap(({ value }) => value.toolboxes.map(({ name }) => name)));
  return [...used].flatMap((toolbox) =>
    (draft.toolboxes.get(toolbox) ?? []).flatMap((tool) =>
      (draft.definitions.get(tool)?.secrets ?? []).map((name) => [name, `${toolbox}.${tool}`] as const),
    ),
  );
};

/** Maps the names of secrets to the fields and tools that use them, sorted by name. */
export const neededSecrets = (
  draft: TeamDraft,
  references: ReadonlyMap<string, readonly Path[]>,
): Readonly<Record<string, readonly string[]>> => {
  const users = new Map(
    [...references].map(([name, paths]) => [
      name,
      paths.map((path) => formatPath([...draft.prefix, ...path])),
    ]),
  );
  for (const [name, tool] of toolSecrets(draft)) users.set(name, [...(users.get(name) ?? []), tool]);
  return Object.fromEntries([...users].toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

/** Warns of secrets that the environment does not declare: wrangler would not read them from `.dev.vars`. */
export const checkDeclaredSecrets = (
  report: FolderReport,
  needed: readonly string[],
  declared: DeclaredNames | undefined,
): void => {
  const missing = needed.filter((name) => declared?.names.has(name) === false);
  if (declared === undefined || missing.length === 0) return;
  const required = JSON.stringify(["LIMPET_ADMIN_KEY", ...needed]).replaceAll(",", ", ");
  report.add(
    "undeclared_secret",
    declared.place,
    "",
    `the team needs ${missing.join(", ")}, which its environment does not declare, so wrangler does not read it from .dev.vars`,
    `declare them there: secrets = { required = ${required} }`,
  );
};
