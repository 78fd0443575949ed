import { expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";

/** What a caller in plain JavaScript, without types, is told about options that the client does not take. */

const url = "https://agents.example.com";

test.each(["key", "apiKey", "baseUrl"])(
  "AP-51: the option %s is refused with those that there are",
  (name) => {
    expect(() => createClient({ url, [name]: "lk_x" })).toThrow(
      `createClient has no option ${name}; its options are url, token, getToken, fetch, WebSocket`,
    );
  },
);

test.each(["localhost:8787", "agents.example.com", "ws://agents.example.com", "https://", "", undefined])(
  "AP-51: the url %j is no address, and the way to write one is told",
  (given) => {
    const options: { readonly url: string } = Object.assign({ url }, { url: given });
    expect(() => createClient(options)).toThrow(
      `url: ${given} is no address; write it like https://agents.example.com`,
    );
  },
);

test("AP-51: every option that there is is taken, and a path in the url is kept", async () => {
  const asked: string[] = [];
  const client = createClient({
    url: `${url}/limpet`,
    token: "lk_x",
    getToken: () => "lt_x",
    fetch: async (address) => {
      asked.push(new Request(address).url);
      return Response.json({});
    },
    WebSocket: globalThis.WebSocket,
  });
  await client.call("agents");
  expect(asked).toEqual([`${url}/limpet/v1/agents`]);
});
