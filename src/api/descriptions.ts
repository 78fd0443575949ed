import * as z from "zod";
import type { TeamAgent } from "../config/team.ts";
import { fieldsOf } from "../chat/json.ts";
import { operatorTenant } from "../engine/access/key-store.ts";
import { getTenantObject, sessionIdPattern } from "../engine/access/names.ts";
import { withReplyTimeout } from "../engine/access/replies.ts";
import { isSet } from "../engine/secrets/secrets.ts";
import { parseParams } from "../session/define-operation.ts";
import { refuse, refuseField, refuseMissingSession } from "../session/problems.ts";
import { describePlan, explainedCallSchema } from "../session/decisions.ts";
import type { ExplainedCall } from "../session/decisions.ts";
import { jsonResponse, requireAccepted, toResponse } from "./answers.ts";
import { auditAction, openSessionStub } from "./calls.ts";
import type { AuthorizedContext, RequestContext, Router, RouterEnv } from "./context.ts";
import { limits } from "./limits.ts";
import { callWithRetry } from "./platform.ts";
import { refuseQuery } from "./query.ts";
import { readCommandBody } from "./route.ts";

/**
 * Builds `GET /v1/capabilities`, `/v1/agents` and `/v1/models`, and explains the permissions of a call. The answers
 * hold no secrets.
 */

const modelOf = (router: Router, { provider, model }: Pick<TeamAgent, "provider" | "model">): string =>
  model ?? router.team.providers.find(({ name }) => name === provider)?.model ?? "";

/** Finds the share of the window at which an effect begins to retire messages; null if none does. */
const findShrinkingShare = ({ effects }: TeamAgent): number | null => {
  const found = effects.find(({ kind }) => kind === "compact" || kind === "sliding_window");
  const threshold = fieldsOf(found?.params)["threshold"];
  return typeof threshold === "number" ? threshold : null;
};

/** Describes an agent with its effective tools. */
export function describeAgent(router: Router, agent: TeamAgent): Readonly<Record<string, unknown>> {
  const model = modelOf(router, agent);
  return {
    name: agent.name,
    description: agent.description,
    prefix: agent.prefix,
    provider: agent.provider,
    model,
    context_window: router.windowOf(agent.provider, model, agent.name),
    tools: router.toolsOf(agent.name),
    calls: router.callsOf(agent.name),
    skills: agent.skills,
    effects: agent.effects.map(({ kind }) => kind),
    shrinks_at: findShrinkingShare(agent),
    starters: agent.starters,
    revision: router.team.revision,
  };
}

/** Lists the provider and model of every target: each provider's own model, those that agents name, and fallbacks. */
function configuredModelsOf(
  router: Router,
): readonly { readonly provider: string; readonly model: string }[] {
  const { providers, agents } = router.team;
  const targets = [
    ...providers.map(({ name: provider, model }) => ({ provider, model })),
    ...agents.map((agent) => ({ provider: agent.provider, model: modelOf(router, agent) })),
    ...providers.flatMap(({ fallbacks }) =>
      fallbacks.map((target) => ({ provider: target.provider, model: modelOf(router, target) })),
    ),
  ];
  return [...new Map(targets.map((target) => [`${target.provider}/${target.model}`, target])).values()];
}

/**
 * Describes every model that turns may go to, with its window and the health that its provider's gate reports. If a
 * gate does not answer, its models count as available.
 */
export async function describeModels({
  router,
  objects,
}: RequestContext): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const targets = configuredModelsOf(router);
  const providers = [...new Set(targets.map(({ provider }) => provider))];
  const reports = await Promise.all(
    providers.map((name) =>
      withReplyTimeout(callWithRetry(() => objects.ProviderGate.getByName(name).health(null), true)),
    ),
  );
  return targets.map(({ provider, model }) => {
    const row = reports[providers.indexOf(provider)]?.find((each) => each.model === model && !each.available);
    const { available = true, reason = null, until = null } = row ?? {};
    return { provider, model, window: router.windowOf(provider, model), available, reason, until };
  });
}

/** Ends the cooldowns of a provider's models, or of all models; sessions learn so at their next request. */
export async function resetCooldowns(context: AuthorizedContext): Promise<Response> {
  const { router, objects, path, url, principal } = context;
  refuseQuery(url.searchParams);
  if (principal.tenant !== operatorTenant && principal.by !== "dev")
    refuse("scope_missing", "All tenants share the models: only the operator's keys reset their cooldowns.");
  const known = [...new Set(configuredModelsOf(router).map(({ provider }) => provider))];
  const { provider } = path;
  if (provider !== undefined && !known.includes(provider))
    refuse("not_found", `The team has no provider of this name. It has: ${known.join(", ")}.`);
  const named = provider === undefined ? known : [provider];
  await Promise.all(
    named.map((name) => callWithRetry(() => objects.ProviderGate.getByName(name).resetHealth(), true)),
  );
  await auditAction(context, { action: "reset_cooldowns", subject: provider ?? null });
  return new Response(null, { status: 204 });
}

/** Describes the limits, kinds and surfaces of this deployment. */
export const describeTeam = (router: Router): Readonly<Record<string, unknown>> => ({
  version: "v1",
  team: router.team.name,
  revision: router.team.revision,
  entry_agent: router.team.entry_agent,
  limits,
  kinds: {
    parts: ["text", "image", "document"],
    on_busy: ["reject", "queue", "steer", "interrupt", "rollback"],
    asks: ["question", "approval", "client_tool", "authorization", "budget"],
    providers: [...new Set(router.team.providers.map(({ kind }) => kind))],
  },
  surfaces: ["http", "sse", "websocket"],
  subprotocol: "limpet.v1",
});

/** Lists secrets that the team's config names and that are bound neither as a text nor in the Secrets Store. */
export const findMissingSecrets = (router: Router, env: RouterEnv): readonly string[] =>
  router.team.secrets.filter((name) => !isSet(env, name));

export const explainSchema = explainedCallSchema.extend({
  session: z
    .string()
    .max(64)
    .optional()
    .describe("Judges as in this session, with its grants and its revision."),
});

const explainInSession = async (
  context: AuthorizedContext,
  session: string,
  params: ExplainedCall,
): Promise<Response> => {
  if (!sessionIdPattern.test(session)) refuseMissingSession();
  const { principal } = context;
  const stub = openSessionStub(context, session);
  return toResponse(
    requireAccepted(await callWithRetry(() => stub.explainCall({ principal, params }), true)),
  );
};

/** Stands for no session: the tenant answers with its agents' grants, which hold in all sessions. */
const nobody = { session: "", createdAt: 0, grants: [] };

/** Judges a call as a session would, or as `main` of a new session of the deployed team, without running it. */
export const explainPermission = async (context: AuthorizedContext): Promise<Response> => {
  const { router, objects, principal } = context;
  const body = await readCommandBody(context, () => false);
  const { session, ...call } = parseParams(explainSchema, body);
  if (session !== undefined) return explainInSession(context, session, call);
  const { agent, tool, input } = call;
  const { agents: grants } = await getTenantObject(objects.TenantObject, principal).grants(nobody);
  const plan = router.judgeCall(agent, { tool, input }, grants);
  if (plan === null) {
    const known = router.team.agents.map(({ name }) => name).join(", ");
    return refuseField("unknown_agent", "/agent", `Known agents: ${known}.`);
  }
  return jsonResponse(describePlan(plan));
};
