import { withReplyTimeout } from "../engine/access/replies.ts";
import { isFetcher } from "../engine/sandboxes.ts";
import { isConfigured, readCredential } from "./access/credentials.ts";
import { findDevPrincipal } from "./access/development.ts";
import { jsonResponse } from "./answers.ts";
import type { RequestContext, RouterEnv } from "./context.ts";
import { findMissingSecrets } from "./descriptions.ts";

/** Reports whether a deployment can do its work. */

type SandboxState = "connected" | "unreachable" | "none";

/** Asks the Worker behind `SANDBOX` whether it runs. */
const checkSandbox = async ({ SANDBOX: binding }: RouterEnv): Promise<SandboxState> => {
  if (!isFetcher(binding)) return "none";
  const answer = await withReplyTimeout(binding.fetch(new Request("http://sandbox/health")));
  return answer?.ok === true ? "connected" : "unreachable";
};

/** Answers whether the team's secrets are set and its sandbox runs; only an administrator gets details. */
export const answerReady = async (context: RequestContext): Promise<Response> => {
  const { router, request, env } = context;
  const missing_secrets = [
    ...(isConfigured(env) ? [] : ["LIMPET_ADMIN_KEY"]),
    ...findMissingSecrets(router, env),
  ];
  const sandbox = await checkSandbox(env);
  const ready = missing_secrets.length === 0 && sandbox !== "unreachable";
  const credential = readCredential(request);
  const principal =
    credential === null ? findDevPrincipal(context) : await router.authenticate(context, credential);
  const named = principal?.scopes.includes("admin") === true;
  const answer = jsonResponse({ ready, ...(named && { missing_secrets, sandbox }) }, ready ? 200 : 503);
  if (!ready) answer.headers.set("Retry-After", "60");
  return answer;
};
