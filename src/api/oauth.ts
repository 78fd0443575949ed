import { getTenantObject } from "../engine/access/names.ts";
import { readState } from "../engine/access/tenant/logins.ts";
import { sealerOf } from "../engine/secrets/seal.ts";
import { callbackPath, clientPath, describeClient } from "../engine/tools/server-login.ts";
import { refuse } from "../session/problems.ts";
import { jsonResponse } from "./answers.ts";
import type { RequestContext } from "./context.ts";
import { callWithRetry } from "./platform.ts";
import type { Route } from "./route.ts";

/** Serves the addresses for authorization servers: people return here, and the client is described here. */

const pagePolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const pageOf = (title: string, text: string, status: number) => ({
  status,
  html: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><h1>${title}</h1><p>${text}</p></html>`,
});

/** Pages with fixed texts, since the contents of a request could be an attacker's. */
const pages = {
  signed_in: pageOf("Signed in", "The agent goes on by itself. You can close this page.", 200),
  refused: pageOf("Not signed in", "The agent goes on without this server. You can close this page.", 200),
  failed: pageOf(
    "Signing in failed",
    "The server's answer could not be used. Approve the request in your session to get a new link.",
    502,
  ),
  unfinished: pageOf(
    "Not finished yet",
    "The agent could not be told yet. Load this page again in a moment.",
    503,
  ),
  unknown: pageOf(
    "This link cannot be used",
    "It is older than 10 minutes, was used before, is no longer needed, or was not issued here. Approve the request in your session to get a new link.",
    400,
  ),
};

const showPage = (kind: keyof typeof pages): Response => {
  const { status, html } = pages[kind];
  return new Response(html, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": pagePolicy,
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-store",
    },
  });
};

/** Characters of the longest query, and of the longest state, that are read; ours has about 150. */
const longestQuery = 8_192;
const longestState = 1_024;

/**
 * Ends a login: the state is checked before anything else of the query is read. The address may be loaded again, since a
 * state counts once and its result stays until every session knows it.
 */
const finishLogin = async ({ request, env, url, objects, notes }: RequestContext): Promise<Response> => {
  const [state = "", ...more] = url.searchParams.getAll("state");
  const fits = state.length <= longestState && url.search.length <= longestQuery;
  // A scanner of links asks with HEAD, which changes nothing.
  const isReadable = request.method === "GET" && more.length === 0 && fits;
  const address = isReadable ? await readState(sealerOf(env), state) : null;
  if (address === null) return showPage("unknown");
  const answered = { address, state, query: url.search };
  const finish = () => getTenantObject(objects.TenantObject, address).finishLogin(answered);
  const end = await callWithRetry(finish, true).catch((fault: unknown) => {
    notes.fault = fault;
    return "unfinished" as const;
  });
  return showPage(end);
};

/** Answers with the document whose address is the client's id at authorization servers. */
const showClient = ({ env, router }: RequestContext): Response => {
  const client = describeClient(env, router.team);
  return client === null
    ? refuse("not_found", "This deployment has no public address: set access.hosts.")
    : jsonResponse(client);
};

export const oauthRoutes: readonly Route[] = [
  { method: "GET", path: callbackPath, scope: "open", handle: finishLogin },
  { method: "GET", path: clientPath, scope: "open", handle: showClient },
];
