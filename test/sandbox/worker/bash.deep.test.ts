import { exports } from "cloudflare:workers";
import { conformance } from "../conformance.ts";

const worker = (exports as unknown as { default: Fetcher }).default;

conformance("bash in workerd", () => ({ fetch: (request) => worker.fetch(request) }));
