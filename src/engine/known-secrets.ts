import { isReferenceField, referencesIn } from "../config/references.ts";
import type { Team } from "../config/team.ts";
import { createRedactor } from "../tools/redaction.ts";
import type { Redactor } from "../tools/redaction.ts";
import { textOf } from "./secrets.ts";
import type { Bindings } from "./secrets.ts";

/** Secrets of a deployment, as its texts may give them away (RE-15). */

type Path = readonly (string | number)[];

/** Fields whose references are names or places. */
const openFields: ReadonlySet<unknown> = new Set(["model", "work_dir", "permissions_file", "binding"]);

/** A whole address is no secret by itself, unless it carries one. */
const isAddress = (value: string): boolean => {
  const url = URL.parse(value);
  return url !== null && url.host !== "" && url.search === "" && url.username === "" && url.password === "";
};

const referenced = (value: unknown, path: Path): readonly string[] => {
  if (typeof value === "string")
    return !openFields.has(path.at(-1)) && isReferenceField(path) ? referencesIn(value).names : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => referenced(each, [...path, key]));
};

/** Names that this deployment reads as secrets: those the team's file refers to, and the first admin key. */
const namesOf = (team: Team): readonly string[] => [
  ...new Set([...referenced(team, []), "LIMPET_ADMIN_KEY"]),
];

/** Keys that stand in the file itself, by their provider. */
const writtenKeys = ({ providers }: Team): readonly (readonly [string, string])[] =>
  providers.flatMap(({ name, api_key = "" }) =>
    referencesIn(api_key).names.length > 0 ? [] : [[`${name}.api_key`, api_key] as const],
  );

/** A redactor that knows the secrets that can be read at once; it learns others when they are opened. */
export const redactorOf = (team: Team, env: Bindings): Redactor => {
  const redactor = createRedactor(writtenKeys(team));
  const learn = (name: string, value: string): void => {
    if (!isAddress(value)) redactor.learn(name, value);
  };
  for (const name of namesOf(team)) learn(name, textOf(env, name) ?? "");
  return { ...redactor, learn };
};
