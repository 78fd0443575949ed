import type { Protocol } from "./protocol.ts";

/** Longer than any deadline of ours. */
export const sdkTimeout = 14 * 60_000;

interface BuiltRequest {
  readonly url: string;
  readonly headers: Headers;
}

/** What either SDK's client says of a request. */
interface SdkClient {
  buildRequest(options: {
    readonly method: "post";
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  }): Promise<{ readonly req: { readonly headers: Headers }; readonly url: string }>;
}

/** Headers in which the SDKs tell their vendors of machine and runtime: a third of a request's, for no use of ours. */
const stripTelemetry = (headers: Headers): Headers =>
  new Headers([...headers].filter(([name]) => !name.startsWith("x-stainless-")));

/** Addresses whose requests are kept. */
const maxKnownPosts = 64;

/**
 * Posts as an SDK builds them: URL and headers, which are the same for every post to an address and so are built once. It
 * does not send them: an attempt has one deadline, one signal and one reading of errors, and they are ours.
 */
export const createPost = (load: () => Promise<SdkClient>): Protocol["post"] => {
  let client: SdkClient | null = null;
  const known = new Map<string, BuiltRequest>();
  const builtFor = async (path: string): Promise<BuiltRequest> => {
    const sdk = client ?? (await load());
    client = sdk;
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const { req, url } = await sdk.buildRequest({ method: "post", path, headers });
    if (known.size >= maxKnownPosts) known.clear();
    const built = { url, headers: stripTelemetry(req.headers) };
    known.set(path, built);
    return built;
  };
  return async (address, send, body, signal) => {
    const { url, headers } = known.get(address) ?? (await builtFor(address));
    return send(url, { method: "POST", headers, body, signal });
  };
};
