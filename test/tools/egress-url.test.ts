import { BlockList } from "node:net";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { writeAddressPattern } from "../../src/tools/egress/address-pattern.ts";
import { addressSubject, checkUrl } from "../../src/tools/egress/url.ts";
import { matchesGlob } from "../../src/sandbox/glob.ts";
import type { EgressRules } from "../../src/tools/egress/url.ts";
import { disguises, ordinary } from "../support/addresses.ts";

const rules: EgressRules = {
  allow: [],
  deny: [],
  ports: [443, 80, 8443],
  allow_http: true,
  privateAllow: [],
};
const reason = (address: string, more: Partial<EgressRules> = {}): string | null => {
  const check = checkUrl(address, { ...rules, ...more });
  return check.ok ? null : check.reason;
};

test.each(disguises)("TB-18 RE-T7: %s is no public host", (address) => {
  expect(reason(address)).toMatch(/not a public|not a valid (name|URL)/);
});

const otherwise: readonly (readonly [string, RegExp])[] = [
  ["ftp://example.com/", /scheme ftp:/],
  ["file:///etc/passwd", /scheme file:/],
  ["data:text/plain,hi", /scheme data:/],
  ["javascript:alert(1)", /scheme javascript:/],
  ["https://user:pass@example.com/", /user name or password/],
  ["https://user@example.com/", /user name or password/],
  ["https://example.com@127.0.0.1/", /user name/],
  ["https://example.com:22/", /port 22 is not in egress.ports/],
  ["https://example.com:6379/", /port 6379/],
  ["//example.com/", /not a valid URL/],
  ["example.com", /not a valid URL/],
  ["", /not a valid URL/],
  ["https://", /not a valid URL/],
  ["https://256.1.1.1/", /not a valid URL/],
  ["https://[fe80::1%25eth0]/", /not a valid URL/],
];
test.each(otherwise)("TB-18: %s is refused with its reason", (address, why) => {
  expect(reason(address)).toMatch(why);
});

test("TB-18: two hundred ordinary addresses pass", () => {
  expect(ordinary.length).toBeGreaterThanOrEqual(200);
  expect(ordinary.filter((address) => reason(address) !== null)).toEqual([]);
});

test("TB-18: the host is called lower-cased, as IDNA, without trailing dot", () => {
  const check = checkUrl("https://BÜCHER.example.:8443/A?b", rules);
  expect(check.ok && check.url.href).toBe("https://xn--bcher-kva.example:8443/A?b");
});

test("TB-7: a permission pattern is matched against scheme, host, port and path, spelled in one way", () => {
  expect(addressSubject("https://BÜCHER.example./a/../b?token=1#c")).toBe(
    "https://xn--bcher-kva.example:443/b",
  );
  expect(addressSubject("http://a.example/%70riv%61te%2Fx%20y")).toBe("http://a.example:80/private%2Fx%20y");
  expect(addressSubject("https://[2606:4700::1111]:8443")).toBe("https://[2606:4700::1111]:8443/");
});

describe("TB-18 RE-T7: random addresses against an independent oracle", () => {
  const closed = new BlockList();
  for (const [net, prefix] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ] as const)
    closed.addSubnet(net, prefix, "ipv4");
  closed.addAddress("168.63.129.16", "ipv4");
  const open6 = new BlockList();
  open6.addSubnet("2000::", 3, "ipv6");
  const closed6 = new BlockList();
  for (const [net, prefix] of [
    ["2001::", 23],
    ["2001:db8::", 32],
    ["3fff::", 20],
  ] as const)
    closed6.addSubnet(net, prefix, "ipv6");

  const near = fc.constantFrom(0, 9, 10, 11, 63, 64, 100, 126, 127, 128, 168, 169, 172, 192, 198, 203, 224);
  const byte = fc.integer({ min: 0, max: 255 });
  const ipv4 = fc.tuple(fc.oneof(near, byte), fc.oneof(near, byte), fc.oneof(near, byte), byte);

  test("IPv4, plain and inside every carrier", () => {
    fc.assert(
      fc.property(ipv4, (bytes) => {
        const dotted = bytes.join(".");
        const expected = !closed.check(dotted, "ipv4");
        const hex = bytes.map((value) => value.toString(16).padStart(2, "0")).join("");
        const pair = `${hex.slice(0, 4)}:${hex.slice(4)}`;
        const forms = [
          dotted,
          `0x${hex}`,
          `[::ffff:${dotted}]`,
          `[::${pair}]`,
          `[::ffff:0:${pair}]`,
          `[64:ff9b::${pair}]`,
          `[2002:${pair}::1]`,
        ];
        for (const form of forms)
          expect([form, reason(`https://${form}/`) === null]).toEqual([form, expected]);
      }),
      { numRuns: 3000 },
    );
  });

  test("IPv6 outside the carriers", () => {
    const start = fc.constantFrom(
      0x2000,
      0x2001,
      0x2003,
      0x2606,
      0x3fff,
      0x4000,
      0xfc00,
      0xfe80,
      0xff00,
      0x5f00,
    );
    const group = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.constantFrom(0, 0xdb8, 0x1ff, 0x200, 0xfff),
    );
    fc.assert(
      fc.property(start, fc.array(group, { minLength: 7, maxLength: 7 }), (first, rest) => {
        const address = [first, ...rest].map((value) => value.toString(16)).join(":");
        const expected = open6.check(address, "ipv6") && !closed6.check(address, "ipv6");
        expect([address, reason(`https://[${address}]/`) === null]).toEqual([address, expected]);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("TB-18: the rules", () => {
  test("plain http needs allow_http", () => {
    expect(reason("http://example.com/", { allow_http: false })).toMatch(/egress.allow_http/);
    expect(reason("http://example.com/")).toBeNull();
  });
  test("deny beats everything, with subdomain patterns", () => {
    const deny = ["evil.example", "*.bad.example", "127.0.0.1"];
    expect(reason("https://EVIL.example./", { deny })).toMatch(/egress.deny/);
    expect(reason("https://a.b.bad.example/", { deny })).toMatch(/egress.deny/);
    expect(reason("https://bad.example/", { deny })).toBeNull();
    expect(reason("https://notevil.example/", { deny })).toBeNull();
    expect(reason("http://127.0.0.1:9/", { deny, privateAllow: ["127.0.0.1:9"] })).toMatch(/egress.deny/);
  });
  test("the allow list counts only for callers that ask for it", () => {
    const some = { ...rules, allow: ["*.docs.example.org"] };
    expect(checkUrl("https://other.example/", some).ok).toBe(true);
    expect(checkUrl("https://other.example/", some, { allowList: true }).ok).toBe(false);
    expect(checkUrl("https://a.docs.example.org/", some, { allowList: true }).ok).toBe(true);
  });
  test("this deployment's own hosts are refused", () => {
    expect(reason("https://Agents.example.com/", { ownHosts: new Set(["agents.example.com"]) })).toMatch(
      /deployment/,
    );
  });
  test("a private target opens only by its exact host and port", () => {
    const privateAllow = ["127.0.0.1:8801", "ollama:11434", "[::1]:9000"];
    expect(reason("http://127.0.0.1:8801/v1", { privateAllow, allow_http: false })).toBeNull();
    expect(reason("http://0x7f.1:8801/v1", { privateAllow })).toBeNull();
    expect(reason("http://ollama:11434/v1", { privateAllow })).toBeNull();
    expect(reason("http://[::1]:9000/", { privateAllow })).toBeNull();
    expect(reason("http://127.0.0.1:8802/", { privateAllow })).toMatch(/LIMPET_PRIVATE_EGRESS/);
    expect(reason("http://127.0.0.2:8801/", { privateAllow })).toBe(
      "127.0.0.2 is not a public address; only the operator can permit it: add 127.0.0.2:8801 to LIMPET_PRIVATE_EGRESS (on this machine in .dev.vars or .dev.vars.<team>)",
    );
    expect(reason("http://user:x@127.0.0.1:8801/", { privateAllow })).toMatch(/user name/);
  });
});

test("TB-7: an address is matched in one spelling, and so is a pattern that is written like it", () => {
  expect(addressSubject("https://x.example/%c3%a9/%2f/%61")).toBe(
    addressSubject("https://x.example/é/%2F/a"),
  );
  expect(addressSubject("https://x.example//admin///x")).toBe("https://x.example:443/admin/x");
  expect(writeAddressPattern("https://x.example//admin/**")).toBe("https://x.example/admin/**");
  expect(writeAddressPattern("**://x.example//a")).toBe("**://x.example/a");
  const proxied = addressSubject("https://x.example/fetch/https://y.example/a");
  for (const start of ["**/", "**://x.example:443/"])
    expect(matchesGlob(writeAddressPattern(`${start}fetch/https://y.example/**`), proxied)).toBe(true);
  const segment = fc.string({ unit: "grapheme" }).map(encodeURIComponent);
  const path = fc.array(segment).map((segments) => `/${segments.join("/")}`);
  fc.assert(
    fc.property(fc.webAuthority(), path, (host, rest) => {
      const subject = addressSubject(`https://${host}${rest}`);
      const pattern = writeAddressPattern(`https://${host}${rest.toLowerCase().replaceAll("*", "%2a")}`);
      expect(writeAddressPattern(pattern)).toBe(pattern);
      if (rest === rest.toLowerCase() && !rest.includes("*"))
        expect(matchesGlob(pattern, subject.replace(":443/", "/"))).toBe(true);
    }),
  );
});
