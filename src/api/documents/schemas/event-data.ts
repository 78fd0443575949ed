import type * as z from "zod";
import type { DataOf, EventType } from "../../../agent/state/events.ts";
import { schemaOf } from "./schema-of.ts";

/** Says when an event occurs, and describes its data. */
export interface EventEntry<Type extends EventType = EventType> {
  readonly says: string;
  readonly data: z.ZodType<DataOf<Type>>;
}

/** Defines the data of an event. */
export const dataOf = <Type extends EventType>() => schemaOf<DataOf<Type>>();
