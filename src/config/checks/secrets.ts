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

/** This file finds secrets that stand in the team file itself. */

/** The lists whose entries may have `allow_literal_secrets`. */
const switchableLists: ReadonlySet<unknown> = new Set(["providers", "mcp_servers"]);

/** A secret in the file, with the name that a reference to it may have. */
interface LiteralSecret {
  readonly path: Path;
  readonly name: string;
}

/** The name of what a secret belongs to: the kind of a provider that is the only one of it, else its name or host. */
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

/** What each name that the file refers to stands for: a value that is not in the file. */
const referencedNames = (body: Located): Map<string, string> => {
  const names = new Map<string, string>();
  visitTexts(body, (path, text) => {
    if (!isReferenceField(path)) return;
    for (const name of [...referencesIn(text).names, ...shellReferencesIn(text)]) names.set(name, "");
  });
  return names;
};

/** A name may belong to another secret already: then this one's gets a number. */
const freeName = (taken: ReadonlyMap<string, string>, name: string, secret: string): string => {
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}_${number}`;
    if ((taken.get(numbered) ?? secret) === secret) return numbered;
  }
};

/** The name in a secret that is a shell's reference, in any case, and nothing else. */
const meantName = (text: string): string | undefined => /^\$([A-Za-z_]\w{0,63})$/.exec(text)?.[1];

/** Finds the secrets in a file that nothing there allows; each has a name of its own. */
export const findLiteralSecrets = (body: Located): LiteralSecret[] => {
  const found: LiteralSecret[] = [];
  const taken = referencedNames(body);
  visitTexts(body, (path, text) => {
    if (!isLiteralSecret(path, text) || mayBeLiteral(body, path)) return;
    const name = meantName(text) ?? freeName(taken, nameOf(body, path), text);
    taken.set(name, text);
    found.push({ path, name });
  });
  return found;
};

/** A part of an address's query whose value is written out. */
const literalParameters = /[?&]([\w.-]+)=(?![^&#]*\$\{)[^&#]/g;

const secretParameter =
  /^(?:.*[_.-])?(?:api-?key|key|token|secret|password|sig|signature)$|(?:Key|Token|Secret|Password|Signature)$/;

/** The name of a key that stands in the query of an address. */
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
      `${name} in the query is a secret, and must not stand in a file`,
      {
        hint: `write ${name}=\${${reference}} and set it: ${secretCommand(reference, draft.name)}`,
      },
    );
  });

/** Checks that no secret stands in the file unless its provider or MCP server allows it. */
export const checkSecrets = (draft: TeamDraft): void => {
  checkQueries(draft);
  for (const { path, name } of findLiteralSecrets(draft.written)) {
    if (path[0] === "providers" && forbiddenHeaders.includes(String(path.at(-1)).toLowerCase())) continue;
    const reference = `write \${${name}} and set it: ${secretCommand(name, draft.name)}`;
    const local = switchableLists.has(path[0]) ? "; a local one may have allow_literal_secrets: true" : "";
    draft.reportWritten("secret_in_file", path, "a secret must not stand in a file", {
      hint: `${reference}${local}`,
    });
  }
};
