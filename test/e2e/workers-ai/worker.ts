import { ModelError } from "../../../src/model/error.ts";
import { createCompleter } from "../../../src/providers/index.ts";
import type { CompleterOptions } from "../../../src/providers/index.ts";
import { providerSchema } from "../../../src/providers/schema.ts";
import type { ProviderConfig } from "../../../src/providers/schema.ts";
import { request } from "../../support/requests.ts";

/** Asks Workers AI once through the runtime's own binding, and answers with what came of it. */
export default {
  async fetch(asked: Request, env: Readonly<Record<string, unknown>>): Promise<Response> {
    const { fields, section } = await asked.json<{ fields: object; section: object }>();
    const config = providerSchema.parse({ name: "ai", kind: "workers-ai", ...section }) as ProviderConfig;
    const egress: CompleterOptions["egress"] = () =>
      Promise.reject(new Error("nothing goes over the network"));
    const completer = createCompleter({ config, egress, bindings: env, secret: (text) => text });
    const deltas: string[] = [];
    const onDelta = (more: readonly { readonly data: string }[]) =>
      void deltas.push(...more.map(({ data }) => data));
    try {
      const signal = AbortSignal.timeout(20_000);
      const completion = await completer.complete(request({ model: config.model, ...fields }), {
        signal,
        onDelta,
      });
      return Response.json({ completion, deltas });
    } catch (error) {
      if (error instanceof ModelError) return Response.json({ failure: error.failure, deltas });
      throw error;
    }
  },
};
