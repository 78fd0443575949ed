/**
 * Parses an IPv6 address in a URL's form (hex groups, at most one `::`) to its 128 bits; returns null for other
 * texts.
 */
const parseIpv6 = (text: string): bigint | null => {
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return null;
  const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const gap = 8 - front.length - back.length;
  if (tail === undefined ? gap !== 0 : gap < 1) return null;
  const all = [...front, ...Array.from({ length: gap }, () => "0"), ...back];
  if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return BigInt(`0x${all.map((group) => group.padStart(4, "0")).join("")}`);
};

/** Parses a dotted IPv4 address to its 32 bits; returns null for other texts. A parsed URL has no other spelling. */
const parseIpv4 = (text: string): bigint | null => {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255))
    return null;
  return BigInt(parts.reduce((sum, part) => sum * 256 + Number(part), 0));
};

interface AddressBlock {
  readonly bits: bigint;
  /** Number of bits after the prefix. */
  readonly rest: bigint;
}

const parseBlock4 = (text: string): AddressBlock => {
  const [address = "", length] = text.split("/");
  return { bits: parseIpv4(address) ?? 0n, rest: BigInt(32 - Number(length)) };
};

const parseBlock6 = (text: string): AddressBlock => {
  const [address = "", length] = text.split("/");
  return { bits: parseIpv6(address) ?? 0n, rest: BigInt(128 - Number(length)) };
};

const isInBlock = (address: bigint, { bits, rest }: AddressBlock): boolean =>
  address >> rest === bits >> rest;

/** Special-purpose IPv4 blocks of IANA's registry; 168.63.129.16 is a cloud's metadata service. */
const closedBlocks4 = (
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 " +
  "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3"
)
  .split(" ")
  .map(parseBlock4);

/** Global unicast block, and the protocol and documentation blocks inside it. */
const globalBlock6 = parseBlock6("2000::/3");

const closedBlocks6 = ["2001::/23", "2001:db8::/32", "3fff::/20"].map(parseBlock6);

/** IPv6 forms that carry an IPv4 address, with the number of bits after it. */
const carriers = [
  { name: "compatible", block: parseBlock6("::/96"), behind: 0n },
  { name: "mapped", block: parseBlock6("::ffff:0:0/96"), behind: 0n },
  { name: "siit", block: parseBlock6("::ffff:0:0:0/96"), behind: 0n },
  { name: "nat64", block: parseBlock6("64:ff9b::/96"), behind: 0n },
  { name: "6to4", block: parseBlock6("2002::/16"), behind: 80n },
] as const;

/** Recognises ISATAP: interface id 0000:5efe or 0200:5efe before the IPv4 address, under any prefix. */
const isIsatap = (address: bigint): boolean => ((address >> 32n) & 0xfdffffffn) === 0x5efen;

const isPublic4 = (address: bigint): boolean => !closedBlocks4.some((block) => isInBlock(address, block));

const isPublic6 = (address: bigint): boolean => {
  if (isIsatap(address) && !isPublic4(address & 0xffffffffn)) return false;
  const carrier = carriers.find(({ block }) => isInBlock(address, block));
  if (carrier !== undefined) return isPublic4((address >> carrier.behind) & 0xffffffffn);
  return isInBlock(address, globalBlock6) && !closedBlocks6.some((block) => isInBlock(address, block));
};

/** Returns whether a URL's host is a name, a public IP address or a closed one. IPv6 is written in brackets. */
export const addressKind = (host: string): "name" | "public" | "closed" => {
  if (host.startsWith("[")) {
    const address = parseIpv6(host.slice(1, -1));
    return address !== null && isPublic6(address) ? "public" : "closed";
  }
  const address = parseIpv4(host);
  if (address === null) return "name";
  return isPublic4(address) ? "public" : "closed";
};
