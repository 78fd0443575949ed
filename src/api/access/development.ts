import { allScopes } from "../../session/rpc.ts";
import type { Principal } from "../../session/rpc.ts";
import type { RequestContext } from "../context.ts";

/** Admits requests without a key on a development machine; a deployed Worker has no loopback address. */

export const isLoopbackHost = (host: string): boolean =>
  /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/.test(host);

const isLoopbackAddress = (address: string): boolean => /^((::ffff:)?127(\.\d{1,3}){3}|::1)$/.test(address);

/**
 * Returns whether a request's headers about its client can be trusted. Wrangler lets a client state its own address
 * and drops the `MF-Original-URL` by which a page replaces its Host; the front of `npm start` blocks both and marks
 * its requests.
 */
const isVouchedFor = ({ env, request }: RequestContext): boolean => {
  if (request.headers.has("MF-Original-URL")) return false;
  const { LIMPET_FRONT: voucher } = env;
  return voucher === undefined || (voucher !== "" && request.headers.get("Limpet-Front") === voucher);
};

/** Returns whether a request was sent from this machine to itself. */
const isLocal = ({ url, request: { headers } }: RequestContext): boolean =>
  isLoopbackHost(url.host) &&
  isLoopbackHost(headers.get("Host") ?? url.host) &&
  isLoopbackAddress(headers.get("CF-Connecting-IP") ?? "");

/** Returns whether only our own page can have sent a request, according to its browser's headers. */
const isOwnPage = ({ url, request: { headers } }: RequestContext): boolean =>
  (headers.get("Origin") ?? url.origin) === url.origin && headers.get("Sec-Fetch-Site") !== "cross-site";

/** Returns the tenant `dev` for a keyless request on a development machine, and null for any other. */
export const findDevPrincipal = (context: RequestContext): Principal | null =>
  context.env.LIMPET_DEV === "1" && isVouchedFor(context) && isLocal(context) && isOwnPage(context)
    ? { tenant: "dev", jurisdiction: null, by: "dev", scopes: allScopes }
    : null;
