/**
 * The URL of a provider's endpoint: a `base_url` without path gets `/v1` on openai-chat, a trailing `/v1` is
 * dropped for anthropic, whose paths begin with it. The query of a gateway's address is kept.
 */
export const endpointOf = (baseUrl: string, protocol: string, path: string): string => {
  const url = new URL(baseUrl);
  const base = url.pathname.replace(/\/+$/, "");
  if (protocol === "anthropic-messages") url.pathname = base.replace(/\/v1$/, "") + path;
  else url.pathname = (base === "" && protocol === "openai-chat" ? "/v1" : base) + path;
  return url.href;
};
