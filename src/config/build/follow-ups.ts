import { ownToolboxes } from "../checks/tools.ts";
import type { Diagnostic } from "../document/diagnostics.ts";

/** This file leaves out diagnostics that only follow from another one: they go away when that is mended. */

type IsFollowUp = (diagnostic: Diagnostic) => boolean;

/** Mistakes in a team's own definitions, which are then missing. */
const ownMistakes: ReadonlySet<string> = new Set(["extension_invalid", "name_conflict", "not_available"]);

/** Mistakes after which the value at their place is missing for all later checks. */
const shapeMistakes: ReadonlySet<string> = new Set([
  "missing_key",
  "unknown_key",
  "wrong_type",
  "invalid_value",
  "duplicate_key",
  "duplicate_name",
  "empty_list",
  "unknown_guard",
]);

/** What follows where definitions are missing: names are unknown, and what they would use seems unused. */
const ofExtensions: IsFollowUp = ({ code, path, message }) =>
  (code === "script_invalid" && message.startsWith("unknown tool")) ||
  /^(unknown_(agent|effect|guard|provider|provider_kind|tool|toolbox)|unused_(provider|skill))$/.test(code) ||
  /\.middleware\[\d+\]\.(kind|params\.check)$/.test(path);

/** What follows where an entry or its name is missing: it is unknown to those that name it. */
const ofNames: Readonly<Record<"agents" | "providers", IsFollowUp>> = {
  agents: ({ code, message }) =>
    code === "unknown_agent" || (code === "script_invalid" && message.startsWith("unknown agent")),
  providers: ({ code }) => code === "unknown_provider",
};

/** Recognises mistakes after which a server, or all of them, are missing. */
const isServerMistake = ({ code, path, hint = "" }: Diagnostic): boolean =>
  (code !== "duplicate_name" && /^(config\.)?mcp_servers(\[\d+\](\.name)?)?$/.test(path)) ||
  (/^(config\.)?\w+$/.test(path) && hint.startsWith('did you mean "mcp_servers"?'));

/** What follows where a server is missing: a toolbox is unknown that is like no other. */
const ofServers: IsFollowUp = ({ code, hint = "" }) =>
  code === "unknown_toolbox" && hint.endsWith(ownToolboxes);

/** What follows where any setting of an agent or provider is missing: others seem to have no use. */
const ofSettings: IsFollowUp = ({ code }) =>
  /^(unused_(provider|skill)|delegation_impossible|verify_inert|effect_inert|context_window_small)$/.test(
    code,
  );

/** What follows where a provider is named wrongly: the one that was meant seems to have no use. */
const ofUnknownProvider: IsFollowUp = ({ code }) => code === "unused_provider";

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf(".")));

/** Returns whether a hint names a key, or one below it. */
const hintNames = (hint: string, key: string): boolean =>
  hint.includes(`"${key}"`) || hint.includes(`"${key}.`);

/** What follows from an unknown key: the key that was meant is missing, or the choice that it would be. */
const ofUnknownKey =
  ({ path: unknown, hint = "" }: Diagnostic): IsFollowUp =>
  ({ code, path }) =>
    (code === "missing_key" &&
      parentOf(path) === parentOf(unknown) &&
      hintNames(hint, path.slice(parentOf(path).length).replace(".", ""))) ||
    (code === "exclusive_keys" && path === parentOf(unknown));

/** Lists what may follow from the diagnostics that are there. */
const followUpsOf = (found: readonly Diagnostic[]): readonly IsFollowUp[] => {
  const shape = found.filter(({ code }) => shapeMistakes.has(code));
  const hasShape = (pattern: RegExp): boolean => shape.some(({ path }) => pattern.test(path));
  // A key that stands twice, whose path nobody knows, may be an entry without its dash.
  const entry = (section: string): RegExp =>
    new RegExp(String.raw`^(config\.)?(${section}(\[\d+\](\.(name|kind|model))?)?)?$`);
  return [
    ...(found.some(({ file, code }) => file.endsWith("/extensions.ts") && ownMistakes.has(code))
      ? [ofExtensions]
      : []),
    ...(["agents", "providers"] as const).flatMap((section) =>
      hasShape(entry(section)) ? [ofNames[section]] : [],
    ),
    ...(shape.some(isServerMistake) ? [ofServers] : []),
    ...(hasShape(/^(config\.)?((agents|providers)\b.*|\w*)$/) ? [ofSettings] : []),
    ...(found.some(({ code }) => code === "unknown_provider") ? [ofUnknownProvider] : []),
    ...shape.filter(({ code }) => code === "unknown_key").map(ofUnknownKey),
  ];
};

/** Leaves out what only follows from another diagnostic, until that one is mended. */
export const withoutFollowUps = (found: readonly Diagnostic[]): readonly Diagnostic[] => {
  const followUps = followUpsOf(found);
  return found.filter((diagnostic) => !followUps.some((isFollowUp) => isFollowUp(diagnostic)));
};
