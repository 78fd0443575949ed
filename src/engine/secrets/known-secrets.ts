import { isLiteralSecret, isReferenceField, referencesIn } from "../../config/document/references.ts";
import type { Team } from "../../config/team.ts";
import type { Redactor } from "../../tools/redaction.ts";
import { createRedactor } from "../../tools/redaction.ts";
import type { Bindings } from "./secrets.ts";
import { bindingTextOf } from "./secrets.ts";

/** This file collects the secrets of a deployment that its texts could reveal. */

type FieldPath = readonly (string | number)[];

/** Lists fields whose references are names or locations; a client's id stands in the addresses that people open. */
const openFields: ReadonlySet<unknown> = new Set([
  "model",
  "client_id",
  "work_dir",
  "permissions_file",
  "binding",
]);

/** Keys are no shorter, and the words of paths seldom as long. */
const longestWord = 15;

/** An address is no secret by itself, unless it carries one: a user, a query, a fragment, or a long part of its path. */
const isAddress = (value: string): boolean => {
  const url = URL.parse(value);
  if (url === null || !/^(https?|wss?):$/.test(url.protocol)) return false;
  if (url.search + url.hash + url.username + url.password !== "") return false;
  return url.pathname.split("/").every(({ length }) => length <= longestWord);
};

interface PlacedText {
  readonly path: FieldPath;
  readonly text: string;
}

const textsOf = (value: unknown, path: FieldPath = []): readonly PlacedText[] => {
  if (typeof value === "string") return [{ path, text: value }];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => textsOf(each, [...path, key]));
};

interface SecretReference {
  readonly name: string;
  readonly isOpen: boolean;
}

const referencesOf = (team: Team): readonly SecretReference[] =>
  textsOf(team)
    .filter(({ path }) => isReferenceField(path))
    .flatMap(({ path, text }) =>
      referencesIn(text).names.map((name) => ({ name, isOpen: openFields.has(path.at(-1)) })),
    );

/** Lists names whose values are no secrets: the team's file uses them only for names and locations, or as hosts. */
const openNames = (team: Team): ReadonlySet<string> => {
  const references = referencesOf(team);
  const closed = new Set(references.flatMap(({ name, isOpen }) => (isOpen ? [] : [name])));
  const open = references.flatMap(({ name }) => (closed.has(name) ? [] : [name]));
  return new Set([...open, "LIMPET_PRIVATE_EGRESS"]);
};

/** A line of a key that is written over several. */
const keyLine = /^[\w+/=-]{32,}$/;

/** Returns a secret as it is sent, the credentials alone if a scheme of authorisation precedes them, and each line of a key. */
const spellingsOf = (given: string): readonly string[] => {
  const secret = given.trim();
  const [, credentials] = /^(?:Bearer|Basic|Token|Bot|ApiKey) +(\S+)$/i.exec(secret) ?? [];
  const lines = secret.split(/\r?\n/).filter((line) => keyLine.test(line));
  return [...new Set([secret, ...(credentials === undefined ? [] : [credentials]), ...lines])];
};

/** Lists secrets that the file itself holds, by their provider or server. */
const writtenSecrets = ({ providers, mcp_servers }: Team): readonly (readonly [string, string])[] =>
  [...providers, ...mcp_servers].flatMap((entry) =>
    textsOf(entry)
      .filter(({ path, text }) => isLiteralSecret(path, text))
      .flatMap(({ path, text }) =>
        spellingsOf(text).map((spelling) => [`${entry.name}.${path.join(".")}`, spelling] as const),
      ),
  );

/** Creates a redactor that knows every text binding, referred to or not; it learns other secrets as they are opened. */
export const redactorOf = (team: Team, env: Bindings): Redactor => {
  const redactor = createRedactor(writtenSecrets(team));
  const learn = (name: string, value: string): void => {
    if (isAddress(value)) return;
    for (const spelling of spellingsOf(value)) redactor.learn(name, spelling);
  };
  const open = openNames(team);
  for (const name of Object.keys(env)) if (!open.has(name)) learn(name, bindingTextOf(env, name) ?? "");
  return { ...redactor, learn };
};
