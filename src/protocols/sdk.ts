import type { Protocol } from "./protocol.ts";

/** The SDKs' timeout, longer than any deadline of the runtime. */
export const sdkTimeout = 14 * 60_000;

interface BuiltRequest {
  readonly url: string;
  readonly headers: Headers;
}

/** The part of either SDK's client that builds a request. */
interface SdkClient {
  buildRequest(options: {
    readonly method: "post";
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  }): Promise<{ readonly req: { readonly headers: Headers }; readonly url: string }>;
}

/** Drops the SDKs' headers about machine and runtime: they are a third of a request's headers. */
const stripTelemetry = (headers: Headers): Headers =>
  new Headers([...headers].filter(([name]) => !name.startsWith("x-stainless-")));

/** The number of addresses whose built requests are cached. */
const maxKnownPosts = 64;

/**
 * Posts as an SDK would: URL and headers are the same for every post to an address, so the SDK builds them once. The
 * SDK does not send: an attempt has one deadline, one signal and one error handling, which belong to the runtime.
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
