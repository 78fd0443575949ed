import { missingReferenceText } from "../../config/document/references.ts";
import type { Tool, Toolbox, ToolContext } from "../../tools/define-tool.ts";
import type { Egress, EgressCode } from "../../tools/egress/egress.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import type { ToolErrorCode } from "../../tools/errors.ts";
import { toolError } from "../../tools/errors.ts";
import type { ToolReach } from "../../tools/reach.ts";
import { createReach } from "../../tools/reach.ts";
import type { Redactor } from "../../tools/redaction.ts";
import type { Bindings } from "../secrets/secrets.ts";
import { readSecrets } from "../secrets/secrets.ts";

/** This file gives tools that declare `hosts` and `secrets` access to those, and to nothing else. */

interface ReachParts {
  readonly env: Bindings;
  /** Names the team for the advice about an unset secret. */
  readonly team: string;
  readonly egress: Egress;
  readonly redactor: Pick<Redactor, "learn">;
}

const egressErrorCodes: Readonly<Record<EgressCode, ToolErrorCode>> = {
  egress_denied: "egress_denied",
  too_large: "too_large",
  timeout: "timeout",
  too_many_redirects: "failed",
};

/** Adds this access to a tool's context; the sandbox is still made only on demand. */
const extendContext = (context: ToolContext, reach: ToolReach): ToolContext => {
  const fields = { ...Object.getOwnPropertyDescriptors(context), ...Object.getOwnPropertyDescriptors(reach) };
  return Object.defineProperties({}, fields) as ToolContext;
};

const bindReach = (tool: Tool, { env, team, egress, redactor }: ReachParts): Tool => {
  const { secrets = [], hosts = [] } = tool;
  if (hosts.length === 0) return tool;
  return {
    ...tool,
    run: async (args, context) => {
      const values = await readSecrets(env, secrets, redactor.learn);
      const unset = secrets.find((name) => !values.has(name));
      if (unset !== undefined) return toolError("unavailable", missingReferenceText(tool.name, unset, team));
      const reach = createReach(tool, values, { egress, signal: context.signal });
      try {
        return await tool.run(args, extendContext(context, reach));
      } catch (error) {
        if (!(error instanceof EgressError)) throw error;
        return toolError(egressErrorCodes[error.code], error.message.slice(error.code.length + 2));
      }
    },
  };
};

export const withReach = (toolboxes: readonly Toolbox[], parts: ReachParts): readonly Toolbox[] =>
  toolboxes.map((box) => ({ ...box, tools: box.tools.map((tool) => bindReach(tool, parts)) }));

/** Lists the secrets that the tools of some toolboxes declare. */
export const declaredSecrets = (
  toolboxes: readonly Toolbox[],
  used: ReadonlySet<string>,
): readonly string[] =>
  toolboxes
    .filter(({ name }) => used.has(name))
    .flatMap(({ tools }) => tools.flatMap(({ secrets = [] }) => secrets));
