import { base32, hexOf } from "../../sandbox/sha256.ts";
import { digestOf, randomBytes } from "./encoding.ts";

/** This file computes session ids and object names, which are the same on every surface. */

export const sessionIdPattern = /^s_[a-z2-7]{26}$/;

const idOf = (bytes: Uint8Array): string => `s_${base32(bytes.slice(0, 16))}`;

export const createSessionId = (): string => idOf(randomBytes(16));

/** Returns 128 random bits in base32, for ids that must not be guessed. */
export const randomBits = (): string => base32(randomBytes(16));

/** Returns the id of a session that its caller named (`ref`) or created under an `Idempotency-Key` (`idem`). */
export const deriveSessionId = async (kind: "ref" | "idem", tenant: string, name: string): Promise<string> =>
  idOf(await digestOf(kind, tenant, name));

/** Returns the SessionObject's name, which includes the tenant because a session id means nothing under another one. */
export const objectName = async (tenant: string, session: string): Promise<string> =>
  hexOf(await digestOf(tenant, session));

/** Names the one TeamObject of a deployment. */
export const teamObjectName = "team";
