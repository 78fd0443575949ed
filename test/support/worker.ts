import { compileTeam } from "../../src/config/build/compile.ts";
import { createLimpet } from "../../src/index.ts";
import { mcp } from "../../src/toolboxes/mcp/index.ts";
import { probeToolbox } from "./worker/probe.ts";
import { yaml } from "./worker/team.ts";

/** The Worker under test: the product over a team of scripted agents. */

const toolboxes = [probeToolbox];
const { team, diagnostics } = compileTeam(new Map([["team.yaml", yaml]]), {
  name: "test",
  extensions: { exports: { toolboxes } },
});
if (team === null) throw new Error(JSON.stringify(diagnostics, null, 1));

const observability = { ...team.observability, log_level: "error" } as const;
const limpet = createLimpet({ ...team, observability }, { toolboxes }, mcp);

export const { SessionObject, TeamObject, TenantObject, ProviderGate } = limpet;
export default limpet.router;
