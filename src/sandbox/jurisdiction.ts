/** Defines the jurisdictions of tenants' data, for the product and for the sandbox's Worker. */

/** Jurisdictions to which a tenant's data can be bound. */
export const jurisdictions = ["eu", "us"] as const;
export type Jurisdiction = (typeof jurisdictions)[number];

/** Tenant and the jurisdiction of its objects; null means anywhere. */
export interface TenantAddress {
  readonly tenant: string;
  readonly jurisdiction: Jurisdiction | null;
}

/** Namespace of objects that can be narrowed to one jurisdiction. */
export interface PlacedNamespace<Stub> {
  getByName(name: string): Stub;
  jurisdiction(place: Jurisdiction): PlacedNamespace<Stub>;
}

/** Returns whether an error means that this runtime has no jurisdictions, like workerd on a development machine. */
const hasNoPlaces = (error: unknown): boolean =>
  error instanceof Error && error.message === "Jurisdiction restrictions are not implemented in workerd.";

/**
 * Returns an object of a jurisdiction by its name. A local workerd refuses jurisdictions: there the object is in
 * the whole namespace, and still a separate one, because names and ids include the jurisdiction.
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
