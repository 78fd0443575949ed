import { referencesIn, resolveReferences, unsetSecretText } from "../../config/document/references.ts";
import type { Team } from "../../config/team.ts";
import type { Egress } from "../../tools/egress/egress.ts";
import { EgressError } from "../../tools/egress/egress.ts";
import type { Redactor } from "../../tools/redaction.ts";
import type { Bindings } from "./secrets.ts";
import { readSecrets } from "./secrets.ts";

/** Adds the headers that a team's file binds to an origin to the requests for that origin. */

interface BoundHeaderParts {
  readonly team: Pick<Team, "name" | "http">;
  readonly env: Bindings;
  readonly egress: Egress;
  readonly redactor: Pick<Redactor, "learn">;
}

/** Wraps an egress for callers that do not follow redirects: each request gets the headers of its own origin. */
export const withBoundHeaders = ({ team, env, egress, redactor }: BoundHeaderParts): Egress => {
  const { headers: byOrigin } = team.http;
  return async (address, init) => {
    const origin = URL.parse(String(address))?.origin ?? "";
    const bound = Object.entries(byOrigin[origin] ?? {});
    if (bound.length === 0) return egress(address, init);
    const names = bound.flatMap(([, text]) => referencesIn(text).names);
    const values = await readSecrets(env, names, redactor.learn);
    const headers = new Headers(init.headers);
    for (const [name, text] of bound) {
      const resolved = resolveReferences(text, (each) => values.get(each));
      const field = `http.headers["${origin}"].${name}`;
      if (!resolved.ok) throw new EgressError("unavailable", unsetSecretText(field));
      headers.set(name, resolved.value);
    }
    return egress(address, { ...init, headers, secrets: [...(init.secrets ?? []), ...values.values()] });
  };
};
