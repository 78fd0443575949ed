import { describe } from "vitest";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { execGroup } from "./exec-group.ts";
import { fileGroup } from "./file-group.ts";
import { gitGroup } from "./git-group.ts";
import { jailGroup } from "./jail-group.ts";
import { operationGroup } from "./operation-group.ts";
import { searchGroup } from "./search-group.ts";
import { tarGroup } from "./tar-group.ts";
import { serviceGroup } from "./service-group.ts";

/** The conformance suite of sandbox drivers (TB-36), run against one driver: black box, over the wire alone. */
export function conformance(name: string, connect: () => Fetcher): void {
  describe(name, { timeout: 30_000 }, () => {
    execGroup(connect);
    fileGroup(connect);
    operationGroup(connect);
    searchGroup(connect);
    jailGroup(connect);
    gitGroup(connect);
    tarGroup(connect);
    serviceGroup(connect);
  });
}
