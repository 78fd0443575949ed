import type { Egress } from "../../tools/egress/egress.ts";
import { createEgress } from "../../tools/egress/egress.ts";
import type { EngineOptions } from "../create.ts";
import { createOwnHosts } from "./own-hosts.ts";
import type { Bindings } from "./secrets.ts";
import { bindingTextOf } from "./secrets.ts";

/** Lists the exact `host:port` targets that the operator permits. */
export const privateTargets = (env: Bindings): readonly string[] =>
  (bindingTextOf(env, "LIMPET_PRIVATE_EGRESS") ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");

/** Creates the only egress of a deployment, under the team's rules and the operator's. */
export const egressOf = ({ team, env, ownHosts, fetch: given }: EngineOptions): Egress =>
  createEgress({
    ...team.egress,
    privateAllow: privateTargets(env),
    ownHosts: ownHosts ?? createOwnHosts(team.access.hosts),
    ...(given === undefined ? {} : { fetch: given }),
  });
