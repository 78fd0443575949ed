import { refuse } from "../session/problems.ts";
import type { RequestFields } from "./body.ts";

/** Converts query values to the JSON that the operation's schema expects. */

/** Parameter forms: `list` is `a,b` or repeated, `pairs` `name[key]=value`, `time` milliseconds or RFC 3339. */
export type QueryKinds = Readonly<Record<string, "time" | "list" | "pairs">>;

/** Refuses a parameter of a request by its name. */
export const refuseParameter = (name: string, message: string, code = "invalid_query"): never =>
  refuse("invalid_request", `/${name}: ${message}`, {
    errors: [{ pointer: `/${name}`, code, message }],
  });

const readQueryValue = (text: string, kind: QueryKinds[string] | undefined): unknown =>
  kind === "time" && /^\d{1,15}$/.test(text) ? Number(text) : text;

const pairName = /^([^[\]]+)\[([^[\]]+)\]$/;

/** Reads the parameters of a query; refuses one that is given twice unless it is a list. */
export function readQuery(query: URLSearchParams, kinds: QueryKinds): RequestFields {
  const fields: [string, unknown][] = [];
  const pairs = new Map<string, [string, string][]>();
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    const [, group = "", key = ""] = pairName.exec(name) ?? [];
    const [first = ""] = values;
    if (kinds[name] === "list") {
      fields.push([name, values.flatMap((value) => value.split(","))]);
    } else if (values.length > 1) {
      refuseParameter(name, "is given more than once");
    } else if (kinds[group] === "pairs") {
      pairs.set(group, [...(pairs.get(group) ?? []), [key, first]]);
    } else {
      fields.push([name, readQueryValue(first, kinds[name])]);
    }
  }
  for (const [group, entries] of pairs) fields.push([group, Object.fromEntries(entries)]);
  return Object.fromEntries(fields);
}

/** Refuses any query parameter of a command, which takes its parameters in the body. */
export function refuseQuery(query: URLSearchParams): void {
  const [name] = query.keys();
  if (name !== undefined)
    refuseParameter(name, "is not a parameter of this route: commands take JSON bodies");
}

const secretNames = /^(access_?token|api_?key|auth|authorization|bearer|key|token)$/i;

/** Parameters that name files, which may begin as credentials do. */
const fileNames: readonly string[] = ["name", "path"];

/** Refuses any credential in a URL, because URLs are recorded in logs and histories. */
export function refuseUrlCredentials(query: URLSearchParams): void {
  for (const [name, value] of query) {
    if (secretNames.test(name) || (/^l[kt]_/.test(value) && !fileNames.includes(name))) {
      refuse(
        "token_in_url",
        "Credentials travel in the Authorization header, never in a URL: revoke this one.",
      );
    }
  }
}
