import { createTimeLimits } from "../../sandbox/time-limit.ts";
import { unsetSecretText } from "../../config/document/references.ts";
import type { Team } from "../../config/team.ts";
import type { BrowserReach } from "../../tools/egress/browser-page.ts";
import type { Tool, Toolbox } from "../../tools/define-tool.ts";
import { withFields } from "../../tools/define-tool.ts";
import type { Egress, EgressCode } from "../../tools/egress/egress.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import type { ToolErrorCode } from "../../tools/errors.ts";
import { toolError } from "../../tools/errors.ts";
import { createReach, noBrowser } from "../../tools/reach.ts";
import type { Redactor } from "../../tools/redaction.ts";
import { withBoundHeaders } from "../secrets/bound-headers.ts";
import type { Bindings } from "../secrets/secrets.ts";
import { readSecrets } from "../secrets/secrets.ts";

/** Gives tools that declare `hosts` and `secrets` access to those, and to nothing else. */

interface ReachParts {
  readonly env: Bindings;
  readonly team: Pick<Team, "name" | "http">;
  readonly egress: Egress;
  readonly redactor: Pick<Redactor, "learn">;
  readonly browser: BrowserReach;
}

const egressErrorCodes: Readonly<Record<EgressCode, ToolErrorCode>> = {
  egress_denied: "egress_denied",
  too_large: "too_large",
  timeout: "timeout",
  too_many_redirects: "failed",
  unavailable: "unavailable",
  unreachable: "unavailable",
};

const bindReach = (tool: Tool, { env, egress, redactor, browser }: ReachParts): Tool => {
  const { secrets = [], hosts = [] } = tool;
  if (hosts.length === 0) return tool;
  return withFields(tool, {
    run: async (args, context) => {
      const { start: limit, stop } = createTimeLimits();
      try {
        const values = await readSecrets(env, secrets, redactor.learn);
        const unset = secrets.find((name) => !values.has(name));
        if (unset !== undefined) return toolError("unavailable", unsetSecretText(tool.name));
        const reach = createReach(tool, values, { egress, signal: context.signal, limit, browser });
        return await tool.run(args, withFields(context, reach));
      } catch (error) {
        if (!(error instanceof EgressError)) throw error;
        return toolError(egressErrorCodes[error.code], error.message.slice(error.code.length + 2));
      } finally {
        stop();
      }
    },
  });
};

/**
 * Binds the tools of all toolboxes. Those of `http` send the headers that the team's file binds to origins; only
 * those of `browser` have browsers.
 */
export const withReach = (toolboxes: readonly Toolbox[], parts: ReachParts): readonly Toolbox[] => {
  const speaking = withBoundHeaders(parts);
  return toolboxes.map((box) => {
    const egress = box.name === "http" ? speaking : parts.egress;
    const browser = box.name === "browser" ? parts.browser : noBrowser;
    const reach = { ...parts, egress, browser };
    return { ...box, tools: box.tools.map((tool) => bindReach(tool, reach)) };
  });
};

/** Lists the secrets that the tools of some toolboxes declare. */
export const declaredSecrets = (
  toolboxes: readonly Toolbox[],
  used: ReadonlySet<string>,
): readonly string[] =>
  toolboxes
    .filter(({ name }) => used.has(name))
    .flatMap(({ tools }) => tools.flatMap(({ secrets = [] }) => secrets));
