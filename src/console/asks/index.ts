import { lazy } from "../parts/lazy.tsx";

/** The card of an open ask; its code is loaded with the first one. */
export const AskCard = lazy(async () => (await import("./ask.tsx")).AskCard);

/** What was written for an ask that was closed without it. */
export const UnusedEdit = lazy(async () => (await import("./unused.tsx")).UnusedEdit);
