import type * as z from "zod";
import type { DataOf, EventType } from "../../../agent/state/events.ts";
import { schemaOf } from "./schema-of.ts";

/** When an event occurs, and the schema of its data. */
export interface EventEntry<Type extends EventType = EventType> {
  readonly says: string;
  readonly data: z.ZodType<DataOf<Type>>;
}

/** Returns the definer of an event's data. */
export const dataOf = <Type extends EventType>() => schemaOf<DataOf<Type>>();
