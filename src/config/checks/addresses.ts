import type { Path } from "../document/diagnostics.ts";
import type { AgentShape, ProviderShape, TeamDraft } from "../draft.ts";
import { privatePlaceOf } from "../../tools/egress/url.ts";
import { visitTexts } from "../document/located.ts";
import {
  isReferenceField,
  isReserved,
  localSecretsFile,
  referencesIn,
  shellReferencesIn,
  withoutReferences,
} from "../document/references.ts";

/** Checks addresses and `${NAME}` references. */

/** Returns why a text is not an absolute http address; null if it is one or consists of a reference. */
const addressProblem = (text: string, schemes = /^https?:$/): string | null => {
  if (/^\$\{\w+\}/.test(text)) return null;
  const url = URL.parse(withoutReferences(text));
  if (url === null || !schemes.test(url.protocol)) return "write an absolute http or https address";
  return url.username === "" && url.password === "" ? null : "an address must not contain a user or password";
};

/** Matches the endpoints below a `base_url`, which are not part of it. */
const endpoint = /\/(?:chat\/completions|responses|embeddings|messages)\/?(?=$|\?)/;

const checkBaseUrl = (draft: TeamDraft, path: Path, text: string): void => {
  const [own] = endpoint.exec(text) ?? [];
  if (own !== undefined) draft.report("invalid_url", path, `omit ${own}: a base_url is where the API begins`);
};

/** Kinds whose API is theirs alone. */
const ownProtocolKinds: ReadonlySet<string> = new Set(["anthropic", "gemini", "workers-ai", "scripted"]);

const checkProtocol = (draft: TeamDraft, index: number, { kind, protocol }: ProviderShape): void => {
  if (protocol === undefined || !ownProtocolKinds.has(kind)) return;
  draft.report("exclusive_keys", ["providers", index, "protocol"], `${kind} does not speak ${protocol}`, {
    hint: "remove protocol, or set the kind of a provider that speaks it",
  });
};

/** Refuses what only requests over the network have: the models of Workers AI are reached through a binding. */
const checkBinding = (draft: TeamDraft, index: number, value: ProviderShape): void => {
  if (value.kind !== "workers-ai") return;
  for (const key of ["base_url", "api_key"] as const) {
    if (value[key] === undefined) continue;
    draft.report("exclusive_keys", ["providers", index, key], `workers-ai uses a binding, and no ${key}`, {
      which: "key",
      hint: `remove ${key}; an account's models are reached by their address with kind: openai-compatible`,
    });
  }
};

/** Places `host:port` that are not public and that the operator opens. */
type OpenPlaces = readonly string[];

/** Matches an address whose scheme or host has a reference. */
const hostReference = /^(?:\w+:\/\/)?[^/?#]*\$/;

/**
 * Warns of an address that is reached only if the operator opens it; a host in a reference is known at run time.
 * `caller` is the tool whose code names the address.
 */
const warnOfPrivate = (
  draft: TeamDraft,
  open: OpenPlaces,
  path: Path,
  text: string,
  caller?: string,
): void => {
  const place = hostReference.test(text) ? null : privatePlaceOf(text);
  if (place === null || open.includes(place)) return;
  const subject = caller === undefined ? place : `${place}, which ${caller} calls,`;
  draft.report("private_address", path, `${subject} is not public, so only the operator can open it`, {
    hint: `add ${place} to LIMPET_PRIVATE_EGRESS, in ${localSecretsFile(draft.name)} for this machine, in wrangler.toml for a deployment`,
  });
};

/** Warns of private hosts of the tools in an agent's toolboxes. */
const warnOfPrivateHosts = (
  draft: TeamDraft,
  open: OpenPlaces,
  index: number,
  { toolboxes }: AgentShape,
): void => {
  for (const [at, { name, tools = draft.toolboxes.get(name) ?? [] }] of toolboxes.entries())
    for (const tool of tools)
      for (const host of draft.definitions.get(tool)?.hosts ?? [])
        warnOfPrivate(draft, open, ["agents", index, "toolboxes", at], host, tool);
};

const checkAddresses = (draft: TeamDraft, open: OpenPlaces): void => {
  const check = (path: Path, text: string | undefined, schemes?: RegExp): void => {
    const problem = text === undefined ? null : addressProblem(text, schemes);
    if (problem !== null) draft.report("invalid_url", path, problem);
    else if (text !== undefined) warnOfPrivate(draft, open, path, text);
  };
  for (const { index, value } of draft.providers) {
    check(["providers", index, "base_url"], value.base_url);
    checkBaseUrl(draft, ["providers", index, "base_url"], value.base_url ?? "");
    checkProtocol(draft, index, value);
    checkBinding(draft, index, value);
    if (value.kind === "openai-compatible" && value.base_url === undefined) {
      draft.report("missing_key", ["providers", index, "base_url"], "a compatible server needs a base_url", {
        which: "missing",
      });
    }
  }
  for (const { index, value } of draft.servers) check(["mcp_servers", index, "url"], value.url);
  for (const origin of Object.keys(draft.sections.http.headers)) {
    if (URL.parse(origin)?.origin === origin && /^https?:/.test(origin)) continue;
    const message = "write an origin like https://api.example.com, without path";
    draft.report("invalid_url", ["http", "headers", origin], message, { which: "key" });
  }
  check(["browser", "search_url"], draft.sections.browser.search_url?.replaceAll("{query}", "query"));
  for (const { index, value } of draft.agents) warnOfPrivateHosts(draft, open, index, value);
  check(["browser", "endpoint"], draft.sections.browser.endpoint, /^(https?|wss?):$/);
};

/** Returns the names of all references, with the paths of the fields that use them. */
export const referencesInDraft = (draft: TeamDraft): Map<string, Path[]> => {
  const uses = new Map<string, Path[]>();
  visitTexts(draft.written, (path, text) => {
    if (!isReferenceField(path)) return;
    for (const name of referencesIn(text).names) uses.set(name, [...(uses.get(name) ?? []), path]);
  });
  return uses;
};

/** Suggests how to write `${env:NAME}` and `${MY-NAME}` here. */
const meantReference = (malformed = ""): string => {
  const [, name = ""] = /^\$\{(?:\w+:)?([A-Za-z_][\w-]*)\}$/.exec(malformed) ?? [];
  const literal = "$${ stands for a literal ${";
  return name === "" ? literal : `write \${${name.replaceAll("-", "_")}}; ${literal}`;
};

const checkReferences = (draft: TeamDraft): void => {
  const known = referencesInDraft(draft);
  visitTexts(draft.written, (path, text) => {
    if (!text.includes("$")) return;
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
          hint: meantReference(malformed[0]),
        },
      );
    }
    const [meant] = shellReferencesIn(text);
    if (meant !== undefined) {
      draft.reportWritten("invalid_reference", path, `$${meant} is plain text here`, {
        hint: `write \${${meant}}`,
      });
    }
    const reserved = names.find(isReserved);
    if (reserved !== undefined) {
      draft.reportWritten("reserved_reference", path, `${reserved} belongs to the runtime`, {
        hint: "names that begin with LIMPET_ cannot be referenced",
      });
    }
  });
};

/** Checks addresses and references. */
export const checkReferencesAndAddresses = (draft: TeamDraft, open: OpenPlaces): void => {
  checkAddresses(draft, open);
  checkReferences(draft);
};
