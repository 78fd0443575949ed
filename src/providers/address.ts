import type { Protocol } from "../protocols/protocol.ts";

/**
 * The URL of a provider's endpoint: a `base_url` without path gets `/v1` for the protocols of OpenAI, a trailing
 * `/v1` is dropped for anthropic, whose paths begin with it. The query of a gateway's address is kept.
 */
export const endpointOf = (baseUrl: string, { name, path }: Pick<Protocol, "name" | "path">): string => {
  const url = new URL(baseUrl);
  const base = url.pathname.replace(/\/+$/, "");
  if (name === "anthropic-messages") url.pathname = base.replace(/\/v1$/, "") + path;
  else url.pathname = (base === "" && name.startsWith("openai-") ? "/v1" : base) + path;
  return url.href;
};
