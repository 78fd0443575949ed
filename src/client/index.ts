export type * from "./transcript.ts";
