import type { Path } from "../document/diagnostics.ts";
import type { TeamDraft } from "../draft.ts";
import { visitTexts } from "../document/located.ts";
import { isReferenceField, isReserved, referencesIn, withoutReferences } from "../document/references.ts";

/** This file checks addresses and `${NAME}` references. */

/** Says why a text is no absolute http address; null if it is one or consists of a reference. */
const addressProblem = (text: string, schemes = /^https?:$/): string | null => {
  if (/^\$\{\w+\}/.test(text)) return null;
  const url = URL.parse(withoutReferences(text));
  if (url === null || !schemes.test(url.protocol)) return "write an absolute http or https address";
  return url.username === "" && url.password === "" ? null : "an address must not contain a user or password";
};

const checkAddresses = (draft: TeamDraft): void => {
  const check = (path: Path, text: string | undefined, schemes?: RegExp): void => {
    const problem = text === undefined ? null : addressProblem(text, schemes);
    if (problem !== null) draft.report("invalid_url", path, problem);
  };
  for (const { index, value } of draft.providers) {
    check(["providers", index, "base_url"], value.base_url);
    if (value.kind === "openai-compatible" && value.base_url === undefined) {
      draft.report("missing_key", ["providers", index, "base_url"], "a compatible server needs a base_url", {
        which: "missing",
      });
    }
  }
  for (const { index, value } of draft.servers) check(["mcp_servers", index, "url"], value.url);
  check(["browser", "endpoint"], draft.sections.browser.endpoint, /^(https?|wss?):$/);
};

/** The names of all references, with the paths of the fields that use them. */
export const referencesInDraft = (draft: TeamDraft): Map<string, Path[]> => {
  const uses = new Map<string, Path[]>();
  visitTexts(draft.written, (path, text) => {
    if (!isReferenceField(path)) return;
    for (const name of referencesIn(text).names) uses.set(name, [...(uses.get(name) ?? []), path]);
  });
  return uses;
};

const checkReferences = (draft: TeamDraft): void => {
  const known = referencesInDraft(draft);
  visitTexts(draft.written, (path, text) => {
    if (!text.includes("${")) return;
    const { names, malformed } = referencesIn(text);
    if (!isReferenceField(path)) {
      const meant = names.find((name) => known.has(name));
      if (meant === undefined) return;
      draft.reportWritten("reference_not_expanded", path, `\${${meant}} is plain text here`, {
        hint: "references are expanded only in addresses, keys, headers and the like",
      });
      return;
    }
    if (malformed.length > 0) {
      draft.reportWritten(
        "invalid_reference",
        path,
        "a reference is written ${NAME}, with letters, digits and _",
        {
          hint: "write $${ for a literal ${",
        },
      );
    }
    const reserved = names.find(isReserved);
    if (reserved !== undefined) {
      draft.reportWritten("reserved_reference", path, `${reserved} belongs to the runtime`, {
        hint: "names that begin with LIMPET_ cannot be referenced",
      });
    }
  });
};

const isLiteral = (text: string): boolean => text !== "" && referencesIn(text).names.length === 0;

const checkSecrets = (draft: TeamDraft): void => {
  const check = (path: Path, text: string | undefined): void => {
    if (text === undefined || !isLiteral(text)) return;
    draft.report("secret_in_file", path, "a secret should not stand in a file", {
      hint: "write a reference like ${NAME}, and set it with wrangler secret put NAME",
    });
  };
  for (const { index, value } of draft.providers) check(["providers", index, "api_key"], value.api_key);
  draft.sections.webhooks.forEach(({ secret }, index) => check(["webhooks", index, "secret"], secret));
};

/** Checks addresses and references, and that no secret is written in the file. */
export const checkReferencesAndAddresses = (draft: TeamDraft): void => {
  checkAddresses(draft);
  checkReferences(draft);
  checkSecrets(draft);
};
