import { forbiddenHeaders } from "../../providers/schema.ts";
import type { Path } from "../document/diagnostics.ts";
import type { Located } from "../document/document.ts";
import { childOf, itemsOf, nodeAt, scalarTextOf, visitTexts } from "../document/located.ts";
import {
  isLiteralSecret,
  isReferenceField,
  referencesIn,
  secretCommand,
  shellReferencesIn,
} from "../document/references.ts";
import type { TeamDraft } from "../draft.ts";

/** Finds secrets that are written in the team file itself. */

/** Lists whose entries may have `allow_literal_secrets`. */
const switchableLists: ReadonlySet<unknown> = new Set(["providers", "mcp_servers"]);

/** Secret in the file, with the name that a reference to it may have. */
interface LiteralSecret {
  readonly path: Path;
  readonly name: string;
  /** Text with a reference in the place of the secret. */
  readonly value: string;
}

/**
 * Returns the name of a secret's owner: the kind of a provider if it is the only one of that kind, otherwise its
 * name or host.
 */
const ownerOf = (body: Located, path: Path): string => {
  const entry = nodeAt(body, path.slice(0, path.findIndex((part) => typeof part === "number") + 1));
  const textOf = (node: Located | undefined, key: string): string | undefined =>
    scalarTextOf(childOf(node, key));
  const kind = path[0] === "providers" ? textOf(entry, "kind") : undefined;
  const same = itemsOf(childOf(body, "providers")).filter((each) => textOf(each, "kind") === kind);
  const only = same.length === 1 ? kind : undefined;
  return only ?? textOf(entry, "name") ?? textOf(entry, "host") ?? String(path.at(-2));
};

const nameOf = (body: Located, path: Path): string =>
  `${ownerOf(body, path)}_${path.at(-1)}`
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, "_")
    .replaceAll(/^[_0-9]+|_+$/g, "")
    .replace(/^LIMPET_/, "")
    .slice(0, 60);

const mayBeLiteral = (body: Located, [list, index]: Path): boolean => {
  if (!switchableLists.has(list) || index === undefined) return false;
  const node = nodeAt(body, [String(list), index, "allow_literal_secrets"]);
  return node?.kind === "scalar" && node.value === true;
};

/** Returns the names that the file refers to; their values are not in the file. */
const referencedNames = (body: Located): Map<string, string> => {
  const names = new Map<string, string>();
  visitTexts(body, (path, text) => {
    if (!isReferenceField(path)) return;
    for (const name of [...referencesIn(text).names, ...shellReferencesIn(text)]) names.set(name, "");
  });
  return names;
};

/** Returns a name for a secret, with a number if the name already belongs to another secret. */
const freeName = (taken: ReadonlyMap<string, string>, name: string, secret: string): string => {
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}_${number}`;
    if ((taken.get(numbered) ?? secret) === secret) return numbered;
  }
};

/** Returns the name in a text that consists of a shell's reference, in any case. */
const meantName = (text: string): string | undefined => /^\$([A-Za-z_]\w{0,63})$/.exec(text)?.[1];

/** Matches the scheme before the secret of an Authorization header, which is no part of the secret. */
const scheme = /^(?:Bearer|Basic|Token) +(?=\S+$)/i;

/** Finds the secrets in a file that nothing there allows; each gets its own name. */
export const findLiteralSecrets = (body: Located): LiteralSecret[] => {
  const found: LiteralSecret[] = [];
  const taken = referencedNames(body);
  visitTexts(body, (path, text) => {
    if (!isLiteralSecret(path, text) || mayBeLiteral(body, path)) return;
    const name = meantName(text) ?? freeName(taken, nameOf(body, path), text);
    taken.set(name, text);
    const before = path.includes("headers") ? (scheme.exec(text)?.[0] ?? "") : "";
    found.push({ path, name, value: `${before}\${${name}}` });
  });
  return found;
};

/** Matches a parameter of an address's query whose value is written out. */
const literalParameters = /[?&]([\w.-]+)=(?![^&#]*\$\{)[^&#]/g;

const secretParameter =
  /^(?:.*[_.-])?(?:api-?key|key|token|secret|password|sig|signature)$|(?:Key|Token|Secret|Password|Signature)$/;

/** Returns the name of a key in the query of an address. */
const secretInQuery = (text: string): string | undefined =>
  [...text.matchAll(literalParameters)]
    .map(([, name = ""]) => name)
    .find((name) => secretParameter.test(name) || secretParameter.test(name.toLowerCase()));

/** Checks that no address has a key in its query. */
const checkQueries = (draft: TeamDraft): void =>
  visitTexts(draft.written, (path, text) => {
    const name = isReferenceField(path) ? secretInQuery(text) : undefined;
    if (name === undefined || mayBeLiteral(draft.written, path)) return;
    const reference = nameOf(draft.written, [...path.slice(0, -1), name]);
    draft.reportWritten(
      "secret_in_file",
      path,
      `${name} in the query is a secret and must not be written in a file`,
      {
        hint: `write ${name}=\${${reference}} and set it: ${secretCommand(reference, draft.name)}`,
      },
    );
  });

/** Checks that no secret is written in the file unless its provider or MCP server allows it. */
export const checkSecrets = (draft: TeamDraft): void => {
  checkQueries(draft);
  for (const { path, name, value } of findLiteralSecrets(draft.written)) {
    if (path[0] === "providers" && forbiddenHeaders.includes(String(path.at(-1)).toLowerCase())) continue;
    const reference = `write ${value} and set it: ${secretCommand(name, draft.name)}`;
    const local = switchableLists.has(path[0]) ? "; a local one may have allow_literal_secrets: true" : "";
    draft.reportWritten("secret_in_file", path, "a secret must not be written in a file", {
      hint: `${reference}${local}`,
    });
  }
};
