import * as z from "zod";
import { providerKinds, providerSchema } from "../../providers/schema.ts";
import { mcpServerSchema } from "../../tools/schema.ts";
import type { Path } from "../document/diagnostics.ts";
import { maximumShown, formatPath } from "../document/diagnostics.ts";
import type { Located, ReadDocument } from "../document/document.ts";
import { dropEmpty } from "../document/empty-values.ts";
import type { ShapeIssue } from "../document/issues.ts";
import { childOf, filterKeys, itemsOf, nodeAt, offsetOf, scalarTextOf } from "../document/located.ts";
import { applyDefaults, normaliseGuards, unwrapTeam } from "../document/normalise.ts";
import type { RemovedEntries } from "../document/removed-entries.ts";
import { writtenPath } from "../document/removed-entries.ts";
import { parseLeniently } from "../document/shape.ts";
import { suggestFor } from "../document/suggest.ts";
import type { AgentShape, TeamDraft, ListEntry, Report } from "../draft.ts";
import { extensionOffset, withAgents } from "../extension-agents.ts";
import type { ExtensionNames } from "../extensions.ts";
import { builtInDefinitions, builtInToolboxes, coreTools } from "../known.ts";
import { baseSchemaOf } from "../json-schema.ts";
import type { JsonSchema } from "../json-schema.ts";
import type { TeamSchemas } from "../schema.ts";
import { createTeamSchemas, plainTeamSchemas } from "../schema.ts";
import type { Skill } from "../team.ts";
import type { FolderReport } from "./files-map.ts";

/** Reads the text of `team.yaml` into a draft: checks the shape, while `checks/` checks the meaning. */

interface DraftParts {
  /** The team's name. */
  readonly name: string;
  readonly skills: readonly Skill[];
  readonly extensions: ExtensionNames;
}

/** Schema of the three lists, whose entries are read one by one, so that one mistake does not hide another. */
const listsSchema = z.strictObject({
  providers: z.array(z.unknown()).min(1).max(32),
  agents: z.array(z.unknown()).min(1).max(64),
  mcp_servers: z.array(z.unknown()).max(32).default([]),
});

const isList = (key: string): boolean => Object.hasOwn(listsSchema.shape, key);

/** Schema of a template file, apart from the body. */
const wrapperSchema = z.strictObject({
  template: z.strictObject({ name: z.string().optional(), description: z.string().optional() }).optional(),
  embedded_skills: z.array(z.strictObject({ name: z.string() })).default([]),
});

/** Creates a report that finds the position of a path in `node`; a value merged into many agents is reported once. */
const createReport = (
  folder: FolderReport,
  place: ReadDocument["place"],
  node: Located,
  prefix: Path,
): Report => {
  const reported = new Set<string>();
  return (code, path, message, options = {}) => {
    const offset = offsetOf(node, path, options.which ?? "value");
    const key = [offset, code, message, ...path.slice(2)].join("\n");
    const mergeable = path[0] === "agents" && offset !== extensionOffset;
    if (mergeable && reported.has(key)) return;
    if (mergeable) reported.add(key);
    folder.add(code, place(offset), formatPath([...prefix, ...path]), message, options.hint);
  };
};

const reportShapeTo =
  (report: Report) =>
  ({ code, path, message, which, hint }: ShapeIssue): void => {
    const inScript = path[0] === "providers" && path[2] === "script" && path.length > 3;
    report(inScript ? "script_invalid" : code, path, message, { which, hint });
  };

const wrapperJsonSchema = z.toJSONSchema(wrapperSchema, { io: "input" }) as JsonSchema;

/** Returns a function that reports keys without a value, which count as absent, at their places. */
const reportEmptyTo =
  (report: Report) =>
  (path: Path): void =>
    report("empty_value", path, `"${path.at(-1)}" has no value, so it counts as absent`, {
      which: "key",
      hint: "remove it, or give it a value",
    });

const checkWrapper = (root: Located, report: Report, skills: readonly Skill[]): void => {
  const whole = filterKeys(root, (key) => key !== "config");
  const around = dropEmpty(whole, [wrapperJsonSchema], reportEmptyTo(report));
  parseLeniently(wrapperSchema, around, [], reportShapeTo(report), { whole: wrapperSchema });
  const known = skills.map(({ name }) => name);
  itemsOf(childOf(around, "embedded_skills")).forEach((item, index) => {
    const name = scalarTextOf(childOf(item, "name"));
    if (name === undefined || known.includes(name)) return;
    report("unknown_skill", ["embedded_skills", index, "name"], `there is no skill "${name}"`, {
      hint: suggestFor(name, known) ?? `add skills/${name}/SKILL.md`,
    });
  });
};

const readList = <Schema extends z.ZodType>(
  schema: Schema,
  body: Located,
  name: string,
  report: (issue: ShapeIssue) => void,
  options: { readonly whole?: z.ZodType; readonly removed: RemovedEntries },
): ListEntry<z.output<Schema>>[] =>
  itemsOf(childOf(body, name)).flatMap((_, index) => {
    const value = parseLeniently(schema, body, [name, index], report, options);
    return value === null ? [] : [{ index, value }];
  });

/** Depth to which an agent with a `delegation` block calls others unless it sets one. */
const delegatingDepth = 5;

/**
 * Resolves an agent's options that depend on where they are written: a `delegation` block, its own or from
 * `defaults`, lets it call others, and only its own `context_window` takes precedence over those of provider and
 * model.
 */
const settleOptions = (
  written: Located,
  merged: Located,
  { index, value }: ListEntry<AgentShape>,
): ListEntry<AgentShape> => {
  const isIn = (root: Located, ...path: Path): boolean =>
    nodeAt(root, ["agents", index, ...path]) !== undefined;
  const delegates = isIn(merged, "delegation") && !isIn(merged, "options", "max_delegation_depth");
  const options = {
    ...value.options,
    ...(delegates && { max_delegation_depth: delegatingDepth }),
    ...(!isIn(written, "options", "context_window") && { context_window: undefined }),
  };
  return { index, value: { ...value, options } };
};

const knownNamesOf = (
  extensions: ExtensionNames,
): Pick<TeamDraft, "toolboxes" | "tools" | "definitions" | "providerKinds"> => {
  const toolboxes = new Map([...Object.entries(builtInToolboxes), ...extensions.toolboxes]);
  return {
    toolboxes,
    definitions: new Map([
      ...builtInDefinitions,
      ...extensions.tools.map((tool) => [tool.name, tool] as const),
    ]),
    tools: new Set([...[...toolboxes.values()].flat(), ...coreTools]),
    providerKinds: [...providerKinds, ...extensions.providerKinds],
  };
};

const schemasWith = ({ effects, guards, middleware }: ExtensionNames): TeamSchemas =>
  effects.length + guards.length + middleware.length === 0
    ? plainTeamSchemas
    : createTeamSchemas({ effects, guards, middleware });

/** Reads a team document; returns null if no part of it can be used. */
export const readTeam = (
  folder: FolderReport,
  root: Located,
  place: ReadDocument["place"],
  around: DraftParts,
): TeamDraft | null => {
  const { file, body, prefix } = unwrapTeam(root);
  const raw = withAgents(body, around.extensions.agents);
  const onFile = createReport(folder, place, file, []);
  if (raw.kind !== "map") {
    onFile("wrong_type", [], "a team file is a map with providers and agents");
    return null;
  }
  if (prefix.length > 0) checkWrapper(file, onFile, around.skills);
  const spelt = normaliseGuards(raw, (path, offset) => {
    const message = `${String(path.at(-1))} is written in both spellings`;
    folder.add("duplicate_setting", place(offset), formatPath([...prefix, ...path]), message);
  });
  const { effects, checks } = around.extensions;
  const schemas = schemasWith(around.extensions);
  const onEmpty = reportEmptyTo(createReport(folder, place, spelt, prefix));
  const written = dropEmpty(spelt, [baseSchemaOf(schemas.team)], onEmpty);
  const onWritten = reportShapeTo(createReport(folder, place, written, prefix));
  parseLeniently(listsSchema, filterKeys(written, isList), [], onWritten);
  const rest = filterKeys(written, (key) => !isList(key));
  const removed: RemovedEntries = new Map();
  let wrongDefaults = 0;
  const onSection = (issue: ShapeIssue): void => {
    if (issue.path[0] === "defaults") wrongDefaults += 1;
    onWritten(issue);
  };
  const sections = parseLeniently(schemas.sections, rest, [], onSection, { whole: schemas.team, removed });
  if (sections === null) return null;
  // Defaults with more mistakes than are shown are not checked again in every agent.
  const merged = wrongDefaults > maximumShown ? written : applyDefaults(written);
  const report = createReport(folder, place, merged, prefix);
  const onMerged = reportShapeTo(report);
  const asWritten = (path: Path): Path => writtenPath(removed, path);
  return {
    name: around.name,
    root: merged,
    written,
    report: (code, path, ...more) => report(code, asWritten(path), ...more),
    reportWritten: report,
    writtenPath: asWritten,
    prefix,
    place,
    sections,
    providers: readList(providerSchema, merged, "providers", onMerged, { removed }),
    agents: readList(schemas.agent, merged, "agents", onMerged, { whole: schemas.team, removed }).map(
      (agent) => settleOptions(written, merged, agent),
    ),
    servers: readList(mcpServerSchema, merged, "mcp_servers", onMerged, { removed }),
    skills: around.skills,
    effects,
    checks,
    schemas,
    ...knownNamesOf(around.extensions),
  };
};
