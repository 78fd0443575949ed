import { isFetcher } from "../engine/sandboxes.ts";
import { refuse } from "../session/problems.ts";
import type { RequestContext } from "./context.ts";
import type { Route } from "./route.ts";

/** Serves the files of `.limpet/public`, which the build writes and the Worker does not load. */

/** Answers with the file at the address of the request. */
export const answerAsset = async ({ env, request }: RequestContext): Promise<Response> => {
  const { ASSETS: assets } = env;
  if (!isFetcher(assets))
    return refuse("not_configured", "This deployment has no files: give wrangler.toml its section [assets].");
  const response = await assets.fetch(request);
  return response.status === 404 ? refuse("not_found", "There is no such file.") : response;
};

const assetRoute = (path: string): Route => ({ method: "GET", path, scope: "open", handle: answerAsset });

/** Routes of the API's descriptions, for programs and for people's tools. */
export const documentRoutes: readonly Route[] = ["/v1/openapi.json", "/v1/asyncapi.json", "/llms.txt"].map(
  assetRoute,
);
