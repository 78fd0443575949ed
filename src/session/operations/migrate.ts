import * as z from "zod";
import type { MigrationTarget } from "../../agent/run/migrate.ts";
import { findMissingAgents, migrateSession } from "../../agent/run/migrate.ts";
import { waitsForConfig } from "../../agent/run/wait.ts";
import { hasRun } from "../../agent/state/thread.ts";
import type { Draft } from "../../agent/transaction/draft.ts";
import { createDraft } from "../../agent/transaction/draft.ts";
import type { Json } from "../../chat/message.ts";
import { acceptedAnswer, okAnswer, defineWrite } from "../define-operation.ts";
import { refuse, refuseField } from "../problems.ts";
import { requireRest } from "./session.ts";

/** Defines how a session migrates to another revision of its team's definition. */

const migrateSchema = z.strictObject({
  to: z
    .string()
    .regex(/^r_[0-9a-f]{20}$/, "must be a revision, like r_0123456789abcdef0123")
    .optional()
    .describe("The revision; omitted: the deployed one."),
  agents: z
    .record(z.string().max(64), z.string().max(64))
    .default({})
    .describe("New names of agents, by those that the session has."),
  when: z.enum(["now", "next_run"]).default("now"),
  dry_run: z.boolean().default(false).describe("Reports what would change, and stores nothing."),
});

type Renames = Readonly<Record<string, string>>;

const requireAgents = ({ state }: Draft, target: MigrationTarget, agents: Renames): void => {
  const missing = findMissingAgents(state, target, agents);
  if (missing.length > 0)
    refuse(
      "revision_conflict",
      `${target.revision} has no agent ${missing.join(", ")}; name others in agents`,
      {
        meta: { missing: [...missing] },
      },
    );
};

export const migrateOperation = defineWrite({
  name: "migrate",
  summary: "Moves the session to another revision of the team's definition, now or before its next run.",
  scopes: ["sessions:manage"],
  method: "POST",
  path: "/v1/sessions/:session/migrate",
  params: migrateSchema,
  run: ({ draft, migrationTarget: target }, { agents, when, dry_run: isDry }) => {
    if (target === null) return refuseField("not_found", "/to", "no such revision is kept here");
    const later = when === "next_run" && hasRun(draft.state);
    const done = { when: later ? "next_run" : "now", dry_run: isDry };
    // A run whose agent the deployment lacks, or which waits for such a one, may go on at another revision.
    if (!later) requireRest(draft, (id) => !waitsForConfig(draft.state, id));
    requireAgents(draft, target, agents);
    const { revision: from } = draft.state;
    if (target.revision === from && Object.keys(agents).length === 0) {
      const same = { from, to: from, changes: [], ...done };
      if (isDry) return okAnswer(same);
      draft.state.migration = null;
      return acceptedAnswer(draft, same);
    }
    const work = isDry || later ? createDraft(draft.state, draft.context) : draft;
    const changes: readonly Json[] = migrateSession(work, target, agents);
    const answer = { from, to: target.revision, changes, ...done };
    if (isDry) return okAnswer(answer);
    if (later) draft.state.migration = { to: target.revision, agents };
    return acceptedAnswer(draft, answer);
  },
});
