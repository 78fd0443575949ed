import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { Json } from "../../chat/message.ts";
import type { IssuerCredentials } from "./port.ts";

/** Reads and writes what authorization servers issued for a server, as its tenant stores it. */

/** Credentials that an authorization server issued, as they change while in use. */
export interface Credentials {
  client?: StoredOAuthClientInformation | undefined;
  tokens?: StoredOAuthTokens | undefined;
  /** Tokens before this one, the newest first, which a server may still repeat. */
  earlier?: readonly string[];
  expiresAt: number | null;
  savedAt: number;
  discovery?: OAuthDiscoveryState | undefined;
}

export const readStored = (stored: readonly IssuerCredentials[]): Map<string, Credentials> =>
  new Map(stored.map(({ issuer, value }) => [issuer, value as unknown as Credentials]));

/** Number of issuers whose credentials are kept, so that a server that names ever new issuers fills nothing. */
const mostIssuers = 3;

/** Credentials of the authorization servers of one server, and which of these was named last. */
interface CredentialsInUse {
  readonly byIssuer: ReadonlyMap<string, Credentials>;
  readonly issuer: string;
}

/** Returns the credentials to store: of the issuer in use and of those before it. */
export const writeStored = ({ byIssuer, issuer: current }: CredentialsInUse): readonly IssuerCredentials[] =>
  Array.from(byIssuer, ([issuer, value]) => ({
    issuer,
    value,
    at: issuer === current ? Infinity : value.savedAt,
  }))
    .toSorted((one, other) => other.at - one.at)
    .slice(0, mostIssuers)
    .map(({ issuer, value }) => ({ issuer, value: value as unknown as Json }));

/** Number of earlier tokens that are kept, each as long as a server makes it. */
const mostEarlier = 3;

/** Returns the earlier tokens of credentials whose token is replaced or no longer used. */
export const earlierAfter = ({ tokens, earlier = [] }: Credentials): readonly string[] =>
  (tokens === undefined ? earlier : [tokens.access_token, ...earlier]).slice(0, mostEarlier);

export const newestOf = (byIssuer: ReadonlyMap<string, Credentials>): Credentials | undefined =>
  [...byIssuer.values()]
    .filter(({ tokens }) => tokens !== undefined)
    .toSorted((one, other) => other.savedAt - one.savedAt)[0];
