import { isLiteralSecret, isReferenceField, referencesIn } from "../../config/document/references.ts";
import type { Team } from "../../config/team.ts";
import type { Redactor } from "../../tools/redaction.ts";
import { createRedactor } from "../../tools/redaction.ts";
import type { Bindings } from "./secrets.ts";
import { bindingTextOf } from "./secrets.ts";

/** Collects the secrets of a deployment that its texts could reveal. */

type FieldPath = readonly (string | number)[];

/** Fields whose references are names or locations; a client's id is part of the addresses that people open. */
const openFields: ReadonlySet<unknown> = new Set([
  "model",
  "client_id",
  "work_dir",
  "permissions_file",
  "binding",
]);

/** Part of a path that is no secret: a short one, or words of small letters. Keys are longer, and have digits or capitals. */
const plainPart = /^(.{0,15}|[a-z]{1,15}([-_.][a-z]{1,15})+)$/;

/**
 * Returns whether a value is an address without a secret: without a user, a query, a fragment, or a part of its
 * path that may be a key.
 */
const isAddress = (value: string): boolean => {
  const url = URL.parse(value);
  if (url === null || !/^(https?|wss?):$/.test(url.protocol)) return false;
  if (url.search + url.hash + url.username + url.password !== "") return false;
  return url.pathname.split("/").every((part) => plainPart.test(part));
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

/** Returns the names whose values are no secrets: the team's file uses them only for names, locations or hosts. */
const openNames = (team: Team): ReadonlySet<string> => {
  const references = referencesOf(team);
  const closed = new Set(references.flatMap(({ name, isOpen }) => (isOpen ? [] : [name])));
  const open = references.flatMap(({ name }) => (closed.has(name) ? [] : [name]));
  return new Set([...open, "LIMPET_PRIVATE_EGRESS"]);
};

/** Line of a key that spans several lines. */
const keyLine = /^[\w+/=-]{32,}$/;

/** Returns a secret's spellings: the whole, the credentials without their scheme, and each line of a key. */
const spellingsOf = (given: string): readonly string[] => {
  const secret = given.trim();
  const [, credentials] = /^(?:Bearer|Basic|Token|Bot|ApiKey) +(\S+)$/i.exec(secret) ?? [];
  const lines = secret.split(/\r?\n/).filter((line) => keyLine.test(line));
  return [...new Set([secret, ...(credentials === undefined ? [] : [credentials]), ...lines])];
};

/** Lists secrets that are written in the file itself, by their provider or server. */
const writtenSecrets = ({ providers, mcp_servers }: Team): readonly (readonly [string, string])[] =>
  [...providers, ...mcp_servers].flatMap((entry) =>
    textsOf(entry)
      .filter(({ path, text }) => isLiteralSecret(path, text))
      .flatMap(({ path, text }) =>
        spellingsOf(text).map((spelling) => [`${entry.name}.${path.join(".")}`, spelling] as const),
      ),
  );

/** Creates a redactor that knows every text binding, referred to or not; it learns other secrets when they are read. */
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
