import { isReferenceField, referencesIn } from "../../config/document/references.ts";
import type { Team } from "../../config/team.ts";
import type { Redactor } from "../../tools/redaction.ts";
import { createRedactor } from "../../tools/redaction.ts";
import type { Bindings } from "./secrets.ts";
import { bindingTextOf } from "./secrets.ts";

/** This file collects the secrets of a deployment that its texts could reveal. */

type FieldPath = readonly (string | number)[];

/** Lists fields whose references are names or locations. */
const openFields: ReadonlySet<unknown> = new Set(["model", "work_dir", "permissions_file", "binding"]);

/** An address is no secret by itself, unless it carries one. */
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

/** Lists names whose values are no secrets: the team's file uses them only for names and locations, or as hosts. */
const openNames = (team: Team): ReadonlySet<string> => {
  const references = referencesOf(team, []);
  const closed = new Set(references.flatMap(({ name, isOpen }) => (isOpen ? [] : [name])));
  const open = references.flatMap(({ name }) => (closed.has(name) ? [] : [name]));
  return new Set([...open, "LIMPET_PRIVATE_EGRESS"]);
};

/** Lists keys that the file itself holds, by their provider. */
const writtenKeys = ({ providers }: Team): readonly (readonly [string, string])[] =>
  providers.flatMap(({ name, api_key = "" }) =>
    referencesIn(api_key).names.length > 0 ? [] : [[`${name}.api_key`, api_key] as const],
  );

/** Creates a redactor that knows every text binding, referred to or not; it learns other secrets as they are opened. */
export const redactorOf = (team: Team, env: Bindings): Redactor => {
  const redactor = createRedactor(writtenKeys(team));
  const learn = (name: string, value: string): void => {
    if (!isAddress(value)) redactor.learn(name, value);
  };
  const open = openNames(team);
  for (const name of Object.keys(env)) if (!open.has(name)) learn(name, bindingTextOf(env, name) ?? "");
  return { ...redactor, learn };
};
