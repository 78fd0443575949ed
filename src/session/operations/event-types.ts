import type { EventType } from "../../agent/state/events.ts";
import { findNearestName } from "../../tools/suggest.ts";
import { refuseField } from "../problems.ts";

/** This file knows the types of events by which a reader may filter. */

const eventTypes = {
  session_created: true,
  session_updated: true,
  session_migrated: true,
  model_changed: true,
  input_accepted: true,
  input_edited: true,
  input_applied: true,
  input_withdrawn: true,
  input_returned: true,
  steering_injected: true,
  run_start: true,
  run_waiting: true,
  run_resumed: true,
  run_end: true,
  agent_start: true,
  agent_end: true,
  turn_start: true,
  turn_end: true,
  turn_metrics: true,
  llm_request_preparing: true,
  llm_request_start: true,
  llm_reasoning: true,
  llm_text: true,
  llm_tool_prepare: true,
  llm_finish: true,
  attempt_aborted: true,
  provider_failover: true,
  message_added: true,
  messages_retired: true,
  tool_call_start: true,
  tool_cache_hit: true,
  tool_call_parked: true,
  tool_call_end: true,
  ask_user: true,
  ask_resolved: true,
  ask_expired: true,
  ask_cancelled: true,
  file_change: true,
  context_window_warning: true,
  status_update: true,
  plan_created: true,
  localization_done: true,
  checkpoint: true,
  effect_applied: true,
  compaction: true,
  loop_detected: true,
  episode_recorded: true,
  verify: true,
  task_changed: true,
  dispatch_progress: true,
  store_changed: true,
  mcp_status: true,
  budget_warning: true,
  budget_reached: true,
  error: true,
} as const satisfies { readonly [Type in EventType]: true };

/** Returns the first of some types that no event has; undefined if all are known. */
export const findUnknownType = (types: readonly string[]): string | undefined =>
  types.find((type) => !Object.hasOwn(eventTypes, type));

/** Says that no event has a type, and which is the nearest one that there is. */
export const describeUnknownType = (type: string): string => {
  const nearest = findNearestName(type, Object.keys(eventTypes));
  const hint = nearest === null ? "the reference of the API lists the types" : `did you mean ${nearest}?`;
  return `no event has the type ${JSON.stringify(type)}; ${hint}`;
};

/** Refuses the first of some types that no event has. */
export const requireEventTypes = (types: readonly string[]): void => {
  const unknown = findUnknownType(types);
  if (unknown !== undefined) refuseField("invalid_request", "/types", describeUnknownType(unknown));
};
