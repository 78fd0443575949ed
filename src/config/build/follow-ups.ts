import { ownToolboxes } from "../checks/tools.ts";
import type { Diagnostic } from "../document/diagnostics.ts";
import { hasErrors } from "../document/diagnostics.ts";

/** Omits diagnostics that only follow from another one and disappear when that one is fixed. */

type IsFollowUp = (diagnostic: Diagnostic) => boolean;

/** Mistakes in a team's own definitions, which are then missing. */
const ownMistakes: ReadonlySet<string> = new Set(["extension_invalid", "name_conflict", "not_available"]);

/** Mistakes that leave the value at their place missing for all later checks. */
const shapeMistakes: ReadonlySet<string> = new Set([
  "missing_key",
  "unknown_key",
  "wrong_type",
  "invalid_value",
  "out_of_range",
  "duplicate_key",
  "duplicate_name",
  "empty_list",
  "unknown_guard",
]);

/** Recognises what follows from missing definitions: names are unknown, and what they would use seems unused. */
const ofExtensions: IsFollowUp = ({ code, path, message }) =>
  (code === "script_invalid" && message.startsWith("unknown tool")) ||
  /^(unknown_(agent|effect|guard|provider|provider_kind|tool|toolbox)|unused_(provider|server|skill))$/.test(
    code,
  ) ||
  /\.middleware\[\d+\]\.(kind|params\.check)$|^(config\.)?default_context_windows\b/.test(path);

/** Recognises what follows from a missing entry or name: the entry is unknown wherever it is named. */
const ofNames: Readonly<Record<"agents" | "providers", IsFollowUp>> = {
  agents: ({ code, message }) =>
    code === "unknown_agent" || (code === "script_invalid" && message.startsWith("unknown agent")),
  providers: ({ code }) => code === "unknown_provider",
};

/** Returns whether a mistake leaves one or all servers missing. */
const isServerMistake = ({ code, path, hint = "" }: Diagnostic): boolean =>
  (code !== "duplicate_name" && /^(config\.)?mcp_servers(\[\d+\](\.name)?)?$/.test(path)) ||
  (/^(config\.)?\w+$/.test(path) && hint.startsWith('did you mean "mcp_servers"?'));

/** Recognises what follows from a missing server: an unknown toolbox whose name is near no other. */
const ofServers: IsFollowUp = ({ code, hint = "" }) =>
  code === "unknown_toolbox" && hint.endsWith(ownToolboxes);

/** Recognises what follows from a missing setting of an agent or provider: others seem unused. */
const ofSettings: IsFollowUp = ({ code }) =>
  /^(unused_(provider|server|skill)|delegation_impossible|verify_inert|effect_inert|context_window_small)$/.test(
    code,
  );

/** Recognises what follows from a wrong name of a provider: the intended one seems unused. */
const ofUnknownProvider: IsFollowUp = ({ code }) => code === "unused_provider";

/** Recognises what follows from any error: the definition that seems unused may be what the mistake meant. */
const ofErrors: IsFollowUp = ({ code }) => code === "unused_extension";

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf(".")));

/** Returns whether a hint names a key, or one below it. */
const hintNames = (hint: string, key: string): boolean =>
  hint.includes(`"${key}"`) || hint.includes(`"${key}.`);

/** Recognises what follows from an unknown key: the intended key, or the choice that it would be, is missing. */
const ofUnknownKey =
  ({ path: unknown, hint = "" }: Diagnostic): IsFollowUp =>
  ({ code, path }) =>
    (code === "missing_key" &&
      parentOf(path) === parentOf(unknown) &&
      hintNames(hint, path.slice(parentOf(path).length).replace(".", ""))) ||
    (code === "exclusive_keys" && path === parentOf(unknown));

const agentOf = (path: string): string | undefined => /^(?:config\.)?agents\[\d+\]/.exec(path)?.[0];

/** Recognises what follows from an agent's unknown name: what it would have or call seems missing. */
const ofUnknownName = ({ code: unknown, path: wrong }: Diagnostic): IsFollowUp => {
  const inert = unknown === "unknown_agent" ? /^delegation_impossible$/ : /^(verify_inert|effect_inert)$/;
  return ({ code, path }) => inert.test(code) && agentOf(path) === agentOf(wrong);
};

/** Recognises what follows from mistakes in maps, whose other keys are compared with what is left of them. */
const ofSiblings = (mistakes: readonly Diagnostic[]): IsFollowUp => {
  const parentsOf = (meant: RegExp): ReadonlySet<string> =>
    new Set(
      mistakes.flatMap(({ path, hint = "" }) => {
        const parent = parentOf(path);
        return meant.test(`${path.slice(parent.length)} ${hint}`) ? [parent] : [];
      }),
    );
  const thresholds = parentsOf(/threshold|iterations|window_size/);
  const formats = parentsOf(/response_format/);
  return ({ code, path }) =>
    code === "threshold_unreachable"
      ? thresholds.has(parentOf(path))
      : code === "key_ignored" && path.endsWith(".response_schema") && formats.has(parentOf(path));
};

/** Lists the recognisers of what may follow from the found diagnostics. */
const followUpsOf = (found: readonly Diagnostic[]): readonly IsFollowUp[] => {
  const shape = found.filter(({ code }) => shapeMistakes.has(code));
  const hasShape = (pattern: RegExp): boolean => shape.some(({ path }) => pattern.test(path));
  // A repeated key may be an entry without its dash.
  const entry = (section: string): RegExp =>
    new RegExp(String.raw`^(config\.)?${section}(\[\d+\](\.name)?)?$`);
  const isRepeatedIn = (section: string): boolean =>
    found.some(
      ({ code, path }) =>
        code === "duplicate_key" && new RegExp(String.raw`^(config\.)?${section}\[`).test(path),
    );
  return [
    ...(hasErrors(found) ? [ofErrors] : []),
    ...(found.some(({ file, code }) => file.endsWith("/extensions.ts") && ownMistakes.has(code))
      ? [ofExtensions]
      : []),
    ...(["agents", "providers"] as const).flatMap((section) =>
      hasShape(entry(section)) || isRepeatedIn(section) ? [ofNames[section]] : [],
    ),
    ...(shape.some(isServerMistake) ? [ofServers] : []),
    ...(hasShape(/^(config\.)?((agents|providers)\b.*|\w*)$/) ? [ofSettings] : []),
    ...(found.some(({ code }) => code === "unknown_provider") ? [ofUnknownProvider] : []),
    ...shape.filter(({ code }) => code === "unknown_key").map(ofUnknownKey),
    ...found.filter(({ code }) => /^unknown_(agent|tool|toolbox)$/.test(code)).map(ofUnknownName),
    ofSiblings(found.filter(({ code }) => shapeMistakes.has(code) || code === "empty_value")),
  ];
};

const valueMistakes: ReadonlySet<string> = new Set([
  "wrong_type",
  "invalid_value",
  "out_of_range",
  "invalid_reference",
]);

/** Omits what was found at the place of a value after a mistake in that value itself; extensions.ts has one place. */
const withoutRepeated = (found: readonly Diagnostic[]): readonly Diagnostic[] => {
  const wrong = new Set<string>();
  return found.filter(({ file, line, column, code, path }) => {
    const place = [file, line, column, file.endsWith("/extensions.ts") ? path : ""].join(":");
    const isRepeated = wrong.has(place);
    if (valueMistakes.has(code)) wrong.add(place);
    return !isRepeated;
  });
};

/** Omits diagnostics that only follow from another one, until that one is fixed. */
export const withoutFollowUps = (found: readonly Diagnostic[]): readonly Diagnostic[] => {
  const followUps = followUpsOf(found);
  return withoutRepeated(found).filter(
    (diagnostic) => !followUps.some((isFollowUp) => isFollowUp(diagnostic)),
  );
};
