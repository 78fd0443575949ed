/** This file defines where the data of a tenant is kept, for the product and for the sandbox's Worker. */

/** Lists the places to which a tenant's data can be bound. */
export const jurisdictions = ["eu", "us"] as const;
export type Jurisdiction = (typeof jurisdictions)[number];

/** Names a tenant and where its objects are kept; null means anywhere. */
export interface TenantAddress {
  readonly tenant: string;
  readonly jurisdiction: Jurisdiction | null;
}

/** A namespace of objects that can be narrowed to those of one place. */
export interface PlacedNamespace<Stub> {
  getByName(name: string): Stub;
  jurisdiction(place: Jurisdiction): PlacedNamespace<Stub>;
}

/** Returns whether this runtime has no places at all, as workerd on a development machine says it. */
const hasNoPlaces = (error: unknown): boolean =>
  error instanceof Error && error.message === "Jurisdiction restrictions are not implemented in workerd.";

/**
 * Returns an object of a jurisdiction by its name. A local workerd refuses jurisdictions: there the object is one
 * of the whole namespace, and is another one all the same, because names and ids include the jurisdiction.
 */
export const getPlacedObject = <Stub>(
  namespace: PlacedNamespace<Stub>,
  jurisdiction: Jurisdiction | null,
  name: string,
): Stub => {
  if (jurisdiction === null) return namespace.getByName(name);
  let placed: PlacedNamespace<Stub>;
  try {
    placed = namespace.jurisdiction(jurisdiction);
  } catch (error) {
    if (!hasNoPlaces(error)) throw error;
    placed = namespace;
  }
  return placed.getByName(name);
};
