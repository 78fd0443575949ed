import { fromBase64Url, toBase64Url } from "../../sandbox/base64.ts";
import type { Bindings } from "./secrets.ts";
import { bindingTextOf } from "./secrets.ts";

/** Encrypts what the deployment stores for its own use, under a key derived from LIMPET_ADMIN_KEY. */

/** Encrypts texts; `bound` names the place of a text, and in any other place it cannot be decrypted. */
export interface Sealer {
  readonly seal: (text: string, bound: string) => Promise<string>;
  /** Decrypts a text; returns null if it was not sealed for this place under the current key. */
  readonly open: (sealed: string, bound: string) => Promise<string | null>;
}

const utf8 = new TextEncoder();

const ivBytes = 12;

const deriveKey = async (secret: string): Promise<CryptoKey> => {
  const base = await crypto.subtle.importKey("raw", utf8.encode(secret), "HKDF", false, ["deriveKey"]);
  const derivation = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(),
    info: utf8.encode("limpet stored credentials"),
  };
  return crypto.subtle.deriveKey(derivation, base, { name: "AES-GCM", length: 256 }, false, [
    "encrypt",
    "decrypt",
  ]);
};

const createSealer = (secret: string): Sealer => {
  let derived: Promise<CryptoKey> | null = null;
  const keyOf = (): Promise<CryptoKey> => (derived ??= deriveKey(secret));
  const cipher = (iv: Uint8Array<ArrayBuffer>, bound: string) => ({
    name: "AES-GCM" as const,
    iv,
    additionalData: utf8.encode(bound),
  });
  return {
    seal: async (text, bound) => {
      const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
      const sealed = await crypto.subtle.encrypt(cipher(iv, bound), await keyOf(), utf8.encode(text));
      return toBase64Url(new Uint8Array([...iv, ...new Uint8Array(sealed)]));
    },
    open: async (sealed, bound) => {
      const bytes = fromBase64Url(sealed);
      if (bytes === null || bytes.length <= ivBytes) return null;
      const [iv, rest] = [bytes.slice(0, ivBytes), bytes.slice(ivBytes)];
      const key = await keyOf();
      return crypto.subtle.decrypt(cipher(iv, bound), key, rest).then(
        (opened) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(opened),
        () => null,
      );
    },
  };
};

/** Returns the sealer with the deployment's key; null if there is no key. */
export const sealerOf = (env: Bindings): Sealer | null => {
  const secret = bindingTextOf(env, "LIMPET_ADMIN_KEY");
  return secret === null ? null : createSealer(secret);
};
