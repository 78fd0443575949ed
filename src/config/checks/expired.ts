import { isUnexpired } from "../../tools/permission.ts";
import type { Path } from "../document/diagnostics.ts";
import type { TeamDraft } from "../draft.ts";

/** Finds permission rules whose time is over. */

type Rule = TeamDraft["sections"]["permissions"]["rules"][number];

const lostEffects = { allow: "allows", ask: "asks about", deny: "forbids" } as const;

/** Warns of rules that hold no longer at `now`, in milliseconds since the epoch. */
export const checkExpired = (draft: TeamDraft, now: number): void => {
  const check = (path: Path, rules: readonly Rule[] = []): void =>
    rules.forEach((rule, at) => {
      if (isUnexpired(rule, now)) return;
      const message = `the rule has expired: it ${lostEffects[rule.action]} nothing any more`;
      draft.report("key_ignored", [...path, "permissions", "rules", at, "expires"], message, {
        hint: "remove the rule, or write a later date",
      });
    });
  check([], draft.sections.permissions.rules);
  for (const { index, value } of draft.agents) check(["agents", index], value.permissions?.rules);
};
