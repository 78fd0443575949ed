/** Describes the API from its code: the build runs this folder, and the Worker loads none of it. */

export { createAsyncapi } from "./asyncapi.ts";
export { createOpenapi } from "./openapi.ts";
export { createReference } from "./page.ts";
