import { expect, test } from "vitest";
import { createOpenapi } from "../../src/api/documents/openapi.ts";
import { createDice } from "../support/dice.ts";
import type { Dice } from "../support/dice.ts";
import { createSampler } from "../support/samples.ts";
import type { SampledSchema } from "../support/samples.ts";
import { brokenInvariants } from "../support/worker/invariants.ts";
import { api, checkResponse, request, sessionOf } from "../support/worker/session.ts";
import type { Sent } from "../support/worker/session.ts";

/** Requests that nobody thought of: they are made up from the document of the API, over sessions that crash meanwhile. */

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly schema: SampledSchema;
}

interface Reference {
  readonly $ref: string;
}

interface Body {
  readonly content: Readonly<Record<string, { readonly schema: SampledSchema }>>;
}

interface Described {
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: Body | Reference;
}

interface Openapi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
}

const requests = 400;

/** Addresses that need files of the deployment, or a connection. */
const elsewhere = /\.json$|\/ws$/;

const openapi = createOpenapi() as unknown as Openapi;

interface Route {
  readonly path: string;
  readonly method: string;
  readonly described: Described;
}

interface Named {
  readonly name: string;
}

const routes: readonly Route[] = Object.entries(openapi.paths)
  .filter(([path]) => path.startsWith("/v1/") && !elsewhere.test(path))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method: method.toUpperCase(), described })),
  );

const resolve = (reference: string): unknown =>
  reference
    .slice(2)
    .split("/")
    .reduce((at, key) => (at as Record<string, unknown>)[key], openapi as unknown);

/** What the document says here or where it refers to. */
const follow = <T extends object>(given: T | Reference): T =>
  "$ref" in given ? (resolve(given.$ref) as T) : given;

const mostKept = 40;

/** What answers had under each name; what a list has as `id` counts under the name of its elements, too. */
const createMemory = (dice: Dice) => {
  const values = new Map<string, unknown[]>();
  const keep = (name: string, value: unknown): void => {
    if (typeof value !== "string" && typeof value !== "number") return;
    values.set(name, [...(values.get(name) ?? []).slice(1 - mostKept), value]);
  };
  const learn = (body: unknown, element: string): void => {
    if (typeof body !== "object" || body === null) return;
    for (const [name, value] of Object.entries(body)) {
      keep(name === "id" ? element : name.replace("next_", ""), value);
      learn(value, element);
    }
  };
  const known = (name: string): unknown => {
    const found = values.get(name) ?? [];
    return found.length === 0 ? undefined : dice.pick(found);
  };
  return { keep, learn, known };
};

type Sample = (schema: SampledSchema, name: string) => unknown;

/** Fills in the address of a route; `live` would hold the answer open. */
const addressOf = ({ path, described }: Route, dice: Dice, session: string, sample: Sample): string => {
  const query = new URLSearchParams();
  let address = path.replace("/v1", "");
  for (const { name, in: where, required, schema } of (described.parameters ?? []).map(follow<Parameter>)) {
    const value = name === "session" && where === "path" ? session : sample(schema, name);
    const text = typeof value === "string" ? value.toWellFormed() : JSON.stringify(value);
    if (where === "path") address = address.replace(`{${name}}`, encodeURIComponent(text));
    else if (where === "query" && name !== "live" && (required === true || dice.roll(3) === 0))
      query.append(name, text);
  }
  return query.size === 0 ? address : `${address}?${query.toString()}`;
};

/** Makes up the body of a route; nobody waits for the end of a run. */
const bodyOf = ({ described }: Route, sample: Sample): Sent => {
  if (described.requestBody === undefined) return {};
  const json = follow(described.requestBody).content["application/json"];
  if (json === undefined) return { raw: "some bytes" };
  const body = sample(json.schema, "");
  const isMessage = typeof body === "object" && body !== null && "content" in body;
  return { body: isMessage ? { ...body, wait: 0 } : body };
};

const open = async (agent: string, content: string): Promise<string> => {
  const { status, body } = await api("POST", "/sessions", { body: { agent, input: { content } } });
  expect(status).toBe(201);
  return String(body["id"]);
};

const checkSession = async (id: string): Promise<void> => {
  const session = await sessionOf(id);
  if ((await session.call("GET")).status !== 200) return;
  const threads = new Set((await session.events()).map(({ thread }) => thread));
  for (const thread of threads) await session.call("POST", "/cancel", { body: { thread } });
  await session.settled();
  expect(await brokenInvariants(session, [], []), id).toEqual([]);
};

test("AP-50: 400 requests made up from the document are answered as it says, none with a fault, and sessions hold over crashes", async () => {
  const dice = createDice(1);
  const { keep, learn, known } = createMemory(dice);
  const sample = createSampler({ dice, resolve: (at) => resolve(at) as SampledSchema, known });
  const agents = (await api("GET", "/agents")).body["data"] as unknown as readonly Named[];
  for (const { name } of agents) keep("agent", name);
  const sessions: string[] = [];
  const answers = new Map<number, number>();
  for (let n = 0; n < requests; n++) {
    if (n % 30 === 0)
      sessions.push(await open(dice.pick(agents).name, dice.pick(["go", "remember", "write"])));
    const session = dice.pick(sessions);
    if (n % 17 === 16) await (await sessionOf(session)).crash();
    const route = dice.pick(routes);
    const address = addressOf(route, dice, session, sample);
    const sent = bodyOf(route, sample);
    const response = await request(route.method, address, sent);
    const { status, headers } = response;
    expect(status, `${n}: ${route.method} ${address} ${JSON.stringify(sent)}`).toBeLessThan(500);
    const text = await checkResponse(route.method, address, response, sent.body);
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (headers.get("Content-Type")?.includes("json") === true)
      learn(JSON.parse(text), /(\w+)s(\/\{\w+\})?$/.exec(route.path)?.[1] ?? "id");
  }
  // Requests that are all refused prove nothing.
  expect(answers.get(200)).toBeGreaterThan(requests / 4);
  for (const id of sessions) await checkSession(id);
});
