import { networkInterfaces } from "node:os";

/** Says where a server is reached that listens at a host. */

export interface ServedAddresses {
  /** URL for this machine. */
  readonly url: string;
  /** URL for other machines of its network, which need a key there; null if they do not reach it. */
  readonly network: string | null;
}

const isLoopback = (host: string): boolean => /^(?:localhost|::1|127\.[\d.]+)$/.test(host);

const isEverywhere = (host: string): boolean => host === "0.0.0.0" || host === "::";

/** Finds an address of this machine that others of its network reach; null without a network. */
const findNetworkHost = (): string | null => {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? null;
};

/** Finds the URLs of a server that listens at a host. */
export const findAddresses = (host: string, port: number): ServedAddresses => {
  const urlOf = (name: string): string => `http://${name.includes(":") ? `[${name}]` : name}:${port}`;
  if (!isLoopback(host) && !isEverywhere(host)) return { url: urlOf(host), network: urlOf(host) };
  const network = isEverywhere(host) ? findNetworkHost() : null;
  return { url: urlOf("localhost"), network: network === null ? null : urlOf(network) };
};
