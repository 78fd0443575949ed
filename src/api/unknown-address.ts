import { refuse } from "../session/problems.ts";
import { editDistance } from "../tools/suggest.ts";
import type { RequestContext } from "./context.ts";
import { documentPath } from "./route.ts";
import type { Route } from "./route.ts";

/** Answers an address without a route: a wrong method, a feature of a later release, or a path with a mistake. */

type RouteAddress = Pick<Route, "method" | "path" | "alias">;

/** Documented paths that are not served yet, with all below them, and what serves meanwhile. */
const laterPaths: readonly (readonly [path: string, meanwhile?: string])[] = [
  ["/v1/webhooks"],
  ["/v1/schedules"],
  [
    "/v1/sessions/:session/export",
    "GET /v1/sessions/{session}/events has every event, and so has limpet export",
  ],
  ["/mcp"],
  ["/compat/openai"],
  ["/compat/anthropic"],
  ["/ai-sdk"],
  ["/acp"],
  ["/ag-ui"],
  ["/ds"],
];

const segmentsOf = (path: string): readonly string[] => path.split("/").slice(1);

/** Returns the number of edits between a segment of an address and one of a path; infinite if another word is meant. */
const segmentEdits = (segment: string, given = ""): number => {
  if (segment.startsWith(":")) return given === "" ? Infinity : 0;
  if (Math.abs(segment.length - given.length) > 2) return Infinity;
  const edits = editDistance(given, segment);
  return edits <= 2 && edits < segment.length / 3 ? edits : Infinity;
};

/** Returns the number of edits between an address and a path, whose last parameter may take all that follows. */
const pathEdits = (path: readonly string[], address: readonly string[]): number => {
  const takesRest = path.at(-1)?.endsWith("{[^]+}") === true;
  if (takesRest ? address.length < path.length : address.length !== path.length) return Infinity;
  return path.reduce((sum, segment, at) => sum + segmentEdits(segment, address[at]), 0);
};

const isAt = (path: string, address: readonly string[]): boolean =>
  pathEdits(segmentsOf(path), address) === 0;

/**
 * Lists the addresses that stand for a route, without the version: its own, and for a route of a session those that
 * omit a part of it.
 */
const listForms = ({ path }: RouteAddress): readonly (readonly string[])[] => {
  const own = segmentsOf(path).filter((segment) => segment !== "v1");
  const [root = "", session = "", ...below] = own;
  const last = below.findLast((segment) => !segment.startsWith(":"));
  return session === ":session" && last !== undefined ? [own, below, [root, session, last], [last]] : [own];
};

/** Returns the route that an address was meant for; null if none is near. */
const findNearest = (method: string, address: readonly string[], routes: readonly RouteAddress[]) => {
  const given = address.filter((segment, at) => segment !== "" && !(at === 0 && segment === "v1"));
  const [nearest] = routes
    .filter((route) => route.method === method || route.method !== "DELETE")
    .flatMap((route) =>
      listForms(route).map((form, place) => ({
        name: `${route.method} ${documentPath(route.path)}`,
        // Letters count before the method, and the method before omitted parts.
        rank: 100 * pathEdits(form, given) + (route.method === method ? 0 : 10) + place,
      })),
    )
    .filter(({ rank }) => rank < Infinity)
    .toSorted((one, other) => one.rank - other.rank);
  return nearest?.name ?? null;
};

/** Refuses a request without a route; no credential is checked, and nothing but the table of routes is revealed. */
export function refuseUnknownAddress(
  { request: { method }, url, headers }: RequestContext,
  routes: readonly RouteAddress[],
): never {
  const address = segmentsOf(url.pathname);
  const lacksVersion = routes.some(
    (route) => route.method === method && isAt(route.path, ["v1", ...address]),
  );
  const here = routes.filter(
    ({ path, alias }) => isAt(path, address) || (alias === true && isAt(path, ["v1", ...address])),
  );
  if (here.length > 0 && !lacksVersion) {
    const methods = [...new Set(here.map((route) => route.method))].join(", ");
    // Every readable address may be requested without its body.
    headers.set("Allow", methods.replace("GET", "GET, HEAD"));
    return refuse("method_not_allowed", `This address takes ${methods}.`);
  }
  const later = laterPaths.find(([path]) => isAt(path, address.slice(0, segmentsOf(path).length)));
  if (later !== undefined) {
    const [, meanwhile] = later;
    const hint = meanwhile === undefined ? "" : ` ${meanwhile}.`;
    return refuse("not_available", `This is a feature of a later release.${hint}`);
  }
  const nearest = findNearest(method, address, routes);
  const hint =
    nearest === null
      ? "GET /llms.txt and GET /v1/openapi.json list all addresses."
      : `Did you mean ${nearest}?`;
  return refuse("not_found", `There is no such address. ${hint}`, { meta: { nearest } });
}
