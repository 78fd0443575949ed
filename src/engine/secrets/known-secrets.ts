import { isReferenceField, referencesIn } from "../../config/document/references.ts";
import type { Team } from "../../config/team.ts";
import type { Redactor } from "../../tools/redaction.ts";
import { createRedactor } from "../../tools/redaction.ts";
import type { Bindings } from "./secrets.ts";
import { bindingTextOf } from "./secrets.ts";

/** Secrets of a deployment, as its texts may give them away. */

type FieldPath = readonly (string | number)[];

/** Fields whose references are names or places. */
const openFields: ReadonlySet<unknown> = new Set(["model", "work_dir", "permissions_file", "binding"]);

/** A whole address is no secret by itself, unless it carries one. */
const isAddress = (value: string): boolean => {
  const url = URL.parse(value);
  return url !== null && url.host !== "" && url.search === "" && url.username === "" && url.password === "";
};

interface SecretReference {
  readonly name: string;
  readonly isOpen: boolean;
}

const referencesOf = (value: unknown, path: FieldPath): readonly SecretReference[] => {
  if (typeof value === "string") {
    const isOpen = openFields.has(path.at(-1));
    return isReferenceField(path) ? referencesIn(value).names.map((name) => ({ name, isOpen })) : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => referencesOf(each, [...path, key]));
};

/** Names whose values are no secrets: the team's file has them for names and places alone, or they list hosts. */
const openNames = (team: Team): ReadonlySet<string> => {
  const references = referencesOf(team, []);
  const closed = new Set(references.flatMap(({ name, isOpen }) => (isOpen ? [] : [name])));
  const open = references.flatMap(({ name }) => (closed.has(name) ? [] : [name]));
  return new Set([...open, "LIMPET_PRIVATE_EGRESS"]);
};

/** Keys that stand in the file itself, by their provider. */
const writtenKeys = ({ providers }: Team): readonly (readonly [string, string])[] =>
  providers.flatMap(({ name, api_key = "" }) =>
    referencesIn(api_key).names.length > 0 ? [] : [[`${name}.api_key`, api_key] as const],
  );

/** A redactor that knows every text binding, referred to or not; it learns what else is secret when it is opened. */
export const redactorOf = (team: Team, env: Bindings): Redactor => {
  const redactor = createRedactor(writtenKeys(team));
  const learn = (name: string, value: string): void => {
    if (!isAddress(value)) redactor.learn(name, value);
  };
  const open = openNames(team);
  for (const name of Object.keys(env)) if (!open.has(name)) learn(name, bindingTextOf(env, name) ?? "");
  return { ...redactor, learn };
};
