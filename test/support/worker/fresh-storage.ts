import { reset } from "cloudflare:test";
import { beforeAll } from "vitest";

/** Test files share a Worker, which starts once: each of them begins with empty objects. */

beforeAll(reset);
