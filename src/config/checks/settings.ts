import { isOfKind } from "../../effects/schema.ts";
import type { EffectKind } from "../../effects/schema.ts";
import type { Path } from "../document/diagnostics.ts";
import type { AgentShape, ListEntry, ProviderShape, TeamDraft } from "../draft.ts";
import { nodeAt, scalarTextOf } from "../document/located.ts";

/** Finds settings that are made twice, can never take effect, or have no meaning here. */

const effectAt = (agent: AgentShape, kind: EffectKind): number =>
  agent.effects?.findIndex(isOfKind(kind)) ?? -1;

/** Reports pairs of an agent's keys that set the same thing. */
const checkTwice = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const base: Path = ["agents", index];
  const twice = (key: Path, other: string): void => {
    if (nodeAt(draft.root, [...base, ...key]) === undefined) return;
    draft.report("duplicate_setting", [...base, ...key], `${other} already sets this`, {
      which: "key",
      hint: "keep one of the two",
    });
  };
  const { options } = agent;
  if (agent.reasoning?.effort !== undefined) twice(["options", "reasoning_effort"], "reasoning.effort");
  if (effectAt(agent, "observation_mask") !== -1 && options.context_compaction === "auto") {
    twice(["options", "context_compaction"], "the effect observation_mask");
  }
  if (effectAt(agent, "reflection") !== -1 && options.reflect_on_error) {
    twice(["options", "reflect_on_error"], "the effect reflection");
  }
  if (effectAt(agent, "token_budget") !== -1 && agent.guards.budget.max_tokens !== null) {
    twice(["guards", "budget", "max_tokens"], "the effect token_budget");
  }
  if (effectAt(agent, "time_budget") !== -1 && agent.guards.budget.max_duration !== null) {
    twice(["guards", "budget", "max_duration"], "the effect time_budget");
  }
};

/** Returns whether a person may allow a run more turns than its agent has. */
const mayGetTurns = (draft: TeamDraft, { guards }: AgentShape): boolean =>
  [guards.budget, draft.sections.budgets.run].some(({ on_exceeded: outcome }) => outcome === "ask");

/** Reports a note about the last turns that comes after them; one in `defaults` may be meant for longer runs. */
const checkWrapUp = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const { warn_iterations: warn, max_iterations: most } = agent.options;
  if (most === 0 || warn < most || mayGetTurns(draft, agent)) return;
  const base: Path = ["agents", index, "options"];
  const isWritten = (key: string): boolean => nodeAt(draft.written, [...base, key]) !== undefined;
  if (!isWritten("warn_iterations") && isWritten("max_iterations")) return;
  const message = `a warning from turn ${warn} on never comes before the end after ${most} turns`;
  draft.report("threshold_unreachable", [...base, "warn_iterations"], message, {
    hint: "set it below max_iterations",
  });
};

const checkThresholds = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const never = (path: Path, message: string): void =>
    draft.report("threshold_unreachable", ["agents", index, ...path], message);
  agent.effects?.forEach((effect, place) => {
    if (!isOfKind("loop_detect")(effect)) return;
    const { threshold, window_size: size } = effect.params;
    if (threshold <= size) return;
    const message = `a window of ${size} never holds ${threshold} equal calls`;
    never(["effects", place, "params", "threshold"], message);
  });
  checkWrapUp(draft, { index, value: agent });
  const {
    enabled,
    history_size: size,
    warning_threshold: warn,
    critical_threshold: critical,
  } = agent.guards.tool_loops;
  if (!enabled) return;
  if (critical > size) {
    never(
      ["guards", "tool_loops", "critical_threshold"],
      `a history of ${size} never holds ${critical} calls`,
    );
  }
  if (warn >= critical) {
    const message = `a warning from ${warn} on never precedes the veto at ${critical}`;
    never(["guards", "tool_loops", "warning_threshold"], message);
  }
};

const canWriteNotes = ({ toolboxes }: AgentShape): boolean =>
  toolboxes.some(({ name, tools }) => name === "notes" && (tools?.includes("write_note") ?? true));

const checkEffects = (draft: TeamDraft, { index, value: agent }: ListEntry<AgentShape>): void => {
  const progress = effectAt(agent, "progress");
  if (progress !== -1 && !canWriteNotes(agent)) {
    draft.report(
      "effect_inert",
      ["agents", index, "effects", progress],
      "progress asks for a note, but the agent has no write_note",
      { hint: "add notes to its toolboxes" },
    );
  }
  const compact = agent.effects?.find(isOfKind("compact"));
  const threshold: Path = ["agents", index, "options", "context_threshold"];
  if (compact === undefined || nodeAt(draft.root, threshold) === undefined) return;
  if (compact.params.threshold === agent.options.context_threshold) return;
  draft.report(
    "key_ignored",
    threshold,
    `the compact effect's own threshold ${compact.params.threshold} is used instead`,
    { which: "key" },
  );
};

const checkIgnored = (draft: TeamDraft): void => {
  const ignored = (path: Path, message: string): void =>
    draft.report("key_ignored", path, message, { which: "key" });
  if (draft.sections.filesystem.permissions_file !== undefined) {
    ignored(["filesystem", "permissions_file"], "permissions are configured here, with permissions");
  }
  if (!draft.sections.browser.headless) ignored(["browser", "headless"], "a browser here is always headless");
  if (draft.sections.git.work_dir.startsWith("/")) {
    ignored(["git", "work_dir"], "an absolute path has no meaning here; git starts in the working_dir");
  }
  for (const { index, value } of draft.providers) {
    if (value.batch?.enabled === true) {
      ignored(["providers", index, "batch", "enabled"], "a session always streams; batches are not used");
    }
  }
};

/** What a server may do differently in the API of OpenAI, and in no other. */
const openaiDeviations: readonly (keyof ProviderShape["compat"])[] = [
  "max_tokens_field",
  "system_role",
  "stream_usage",
  "reasoning_replay",
  "think_tags",
];

const checkDeviations = (draft: TeamDraft, { index, value: { kind } }: ListEntry<ProviderShape>): void => {
  if (kind !== "anthropic" && kind !== "scripted") return;
  for (const key of openaiDeviations) {
    const path: Path = ["providers", index, "compat", key];
    if (nodeAt(draft.written, path) === undefined) continue;
    draft.report("key_ignored", path, `${kind} does not speak the API that this is about`, { which: "key" });
  }
};

/** Reports a threshold while compaction is off; one in `defaults` may be meant for agents that switch it on. */
const checkCompaction = (draft: TeamDraft): void => {
  const used = draft.agents.some(({ value }) => value.options.context_compaction === "auto");
  for (const { index, value } of draft.agents) {
    const base: Path = ["agents", index, "options"];
    const mode = scalarTextOf(nodeAt(draft.root, [...base, "context_compaction"])) ?? "none";
    if (value.options.compaction_threshold === undefined || mode !== "none") continue;
    const path = [...base, "compaction_threshold"];
    if (used && nodeAt(draft.written, path) === undefined) continue;
    draft.report("key_ignored", path, "it has an effect only with context_compaction: auto", {
      which: "key",
      hint: "add context_compaction: auto, or remove it",
    });
  }
};

/** Reports times of commands that the sandbox would cut; those that nobody wrote are bounded by it. */
const checkCommandTimes = (draft: TeamDraft, { index, value }: ListEntry<AgentShape>): void => {
  const { wall } = draft.sections.sandbox.limits;
  for (const key of ["command_timeout", "max_command_timeout"] as const) {
    const path: Path = ["agents", index, "options", key];
    if (value.options[key] <= wall || nodeAt(draft.root, path) === undefined) continue;
    draft.report("out_of_range", path, `sandbox.limits.wall ends each command after ${wall / 1_000} s`, {
      hint: "write a shorter time here, or a longer one there",
    });
  }
};

/** Reports settings that contradict each other or have no effect. */
export const checkSettings = (draft: TeamDraft): void => {
  checkIgnored(draft);
  draft.providers.forEach((provider) => checkDeviations(draft, provider));
  checkCompaction(draft);
  for (const agent of draft.agents) {
    checkTwice(draft, agent);
    checkCommandTimes(draft, agent);
    checkThresholds(draft, agent);
    checkEffects(draft, agent);
  }
};
