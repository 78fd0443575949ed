/** The program that the conformance suite runs as a client: it hands the scenario to the test, which plays it. */

const [test = "", url = ""] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: name = "", MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;
const body = JSON.stringify({ name, url, context: JSON.parse(context) as unknown });
const { status } = await fetch(test, { method: "POST", body });
process.exitCode = status === 200 ? 0 : 1;
