import { refuse } from "../session/problems.ts";
import { findNearestName } from "../tools/suggest.ts";
import type { RequestContext } from "./context.ts";
import type { Route } from "./route.ts";

/** This file answers an address without a route: the wrong method, a feature of a later release, or a path with a mistake. */

/** Paths that are documented and not served yet, with all below them. */
const laterPaths: readonly string[] = [
  "/v1/webhooks",
  "/v1/schedules",
  "/v1/sessions/:session/export",
  "/mcp",
  "/compat/openai",
  "/compat/anthropic",
  "/ai-sdk",
  "/acp",
  "/ag-ui",
  "/ds",
];

/** Gives a route's path the values that an address has in the places of its parameters; `{[^]+}` takes all that follows. */
const fillPath = (path: string, address: readonly string[]): string =>
  path
    .split("/")
    .map((segment, at) => {
      if (!segment.startsWith(":")) return segment;
      const value = segment.endsWith("{[^]+}") ? address.slice(at).join("/") : address[at];
      return value === undefined || value === "" ? segment : value;
    })
    .join("/");

/** Names a route as its documentation does. */
const nameOf = ({ method, path }: Pick<Route, "method" | "path">): string =>
  `${method} ${path.replace("{[^]+}", "")}`;

/** Lists each route at each address that it has. */
const listAddresses = (routes: readonly Route[]): readonly Pick<Route, "method" | "path">[] =>
  routes.flatMap(({ method, path, alias }) => [
    { method, path },
    ...(alias === undefined ? [] : [{ method, path: path.replace(/^\/v1/, "") }]),
  ]);

const isBelow = (pathname: string, path: string): boolean =>
  pathname === path || pathname.startsWith(`${path}/`);

/** Refuses a request that no route takes; no credential is looked at, and nothing but the table of routes is told. */
export function refuseUnknownAddress({ url, headers }: RequestContext, routes: readonly Route[]): never {
  const { pathname } = url;
  const address = pathname.split("/");
  const filled = listAddresses(routes).map((each) => ({ ...each, filled: fillPath(each.path, address) }));
  const methods = [...new Set(filled.flatMap((each) => (each.filled === pathname ? each.method : [])))];
  if (methods.length > 0) {
    headers.set("Allow", methods.join(", "));
    return refuse("method_not_allowed", `This address takes ${methods.join(", ")}.`);
  }
  if (laterPaths.some((path) => isBelow(pathname, fillPath(path, address))))
    return refuse("not_available", "This is a feature of a later release.");
  const nearest = findNearestName(pathname, [...new Set(filled.map((each) => each.filled))]);
  const meant = filled.find((each) => each.filled === nearest);
  const hint = meant === undefined ? "" : ` Did you mean ${nameOf(meant)}?`;
  return refuse("not_found", `There is no such address.${hint}`, {
    meta: { nearest: meant === undefined ? null : nameOf(meant) },
  });
}
