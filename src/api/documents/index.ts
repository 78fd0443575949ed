/** This folder describes the API from its code: the build runs it, and the Worker loads none of it. */

export { createAsyncapi } from "./asyncapi.ts";
export { createOpenapi } from "./openapi.ts";
export { createReference } from "./page.ts";
