/** What in a new version of the documents would break clients of the old one (AP-50). What only adds breaks none. */

type Json = unknown;
type Fields = Readonly<Record<string, Json>>;

/** Who writes a value: the client, whose old values must go on being taken, or the server, whose new ones must go on being understood. */
type Direction = "input" | "output";

const isFields = (value: Json): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fieldsOf = (value: Json): Fields => (isFields(value) ? value : {});
const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);

interface Side {
  readonly document: Fields;
  readonly schema: Fields;
}

const resolve = ({ document, schema }: Side): Side => {
  const { $ref: ref } = schema;
  if (typeof ref !== "string") return { document, schema };
  const found = ref
    .slice(2)
    .split("/")
    .reduce<Json>((at, key) => fieldsOf(at)[key], document);
  return resolve({ document, schema: fieldsOf(found) });
};

/** The alternatives of a schema, those inside its alternatives too. */
const alternativesOf = (side: Side): readonly Side[] => {
  const { document, schema } = resolve(side);
  const choices = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])].map(fieldsOf);
  if (choices.length > 0) return choices.flatMap((choice) => alternativesOf({ document, schema: choice }));
  const { type } = schema;
  if (!Array.isArray(type)) return [{ document, schema }];
  return type.map((each: Json) => ({ document, schema: { ...schema, type: each } }));
};

/** The constant by which an object is told from others, such as its `type`. */
const markOf = ({ schema }: Side): string => {
  const marks = Object.entries(fieldsOf(schema["properties"])).flatMap(([name, each]) => {
    const { const: value } = fieldsOf(each);
    return value === undefined ? [] : [`${name}=${JSON.stringify(value)}`];
  });
  return marks.join(" ");
};

const kindOf = (side: Side): string => {
  const { type, const: value } = side.schema;
  const plain = typeof type === "string" ? (type === "integer" ? "number" : type) : "any";
  return plain === "object" ? `object ${markOf(side)}`.trim() : value === undefined ? plain : typeof value;
};

/** Bounds that a value must keep, and which way they are looser. */
const bounds = {
  maxLength: 1,
  maximum: 1,
  exclusiveMaximum: 1,
  maxItems: 1,
  minLength: -1,
  minimum: -1,
  exclusiveMinimum: -1,
  minItems: -1,
} as const;

const compareBounds = (before: Fields, after: Fields, at: string): readonly string[] =>
  Object.entries(bounds).flatMap(([key, sign]) => {
    const [old, now] = [before[key], after[key]];
    if (typeof now !== "number") return [];
    const isTighter = typeof old !== "number" || (now - old) * sign < 0;
    return isTighter ? [`${at}: ${key} became ${now}`] : [];
  });

/** Forms of a text that were not asked for before. */
const compareForms = (before: Fields, after: Fields, at: string): readonly string[] =>
  ["pattern", "format"].flatMap((key) =>
    after[key] === undefined || after[key] === before[key]
      ? []
      : [`${at}: ${key} became ${JSON.stringify(after[key])}`],
  );

/** What a field that is left out means. */
const compareDefaults = (before: Fields, after: Fields, at: string): readonly string[] => {
  const [old, now] = [before, after].map((schema) => JSON.stringify(schema["default"]) ?? "nothing");
  return old === now ? [] : [`${at}: its default became ${now}`];
};

const allowedOf = ({ enum: values, const: value }: Fields): readonly Json[] | null =>
  Array.isArray(values) ? values : value === undefined ? null : [value];

/** Values that a client may send no longer. What a server sends may become more, since clients ignore what they do not know. */
const compareValues = (before: Fields, after: Fields, at: string): readonly string[] => {
  const [old, now] = [allowedOf(before), allowedOf(after)];
  if (now === null) return [];
  if (old === null) return [`${at}: only some values are taken now`];
  const gone = old.filter((value) => !now.includes(value));
  return gone.length === 0 ? [] : [`${at}: ${gone.map(String).join(", ")} is no value any more`];
};

const compareObjects = (
  before: Side,
  after: Side,
  direction: Direction,
  at: string,
  seen: ReadonlySet<string>,
): readonly string[] => {
  const [old, now] = [fieldsOf(before.schema["properties"]), fieldsOf(after.schema["properties"])];
  const [oldRequired, nowRequired] = [listOf(before.schema["required"]), listOf(after.schema["required"])];
  const shared = Object.keys(old).flatMap((name) =>
    now[name] === undefined
      ? [`${at}/${name}: the field is gone`]
      : compareSchemas(
          { document: before.document, schema: fieldsOf(old[name]) },
          { document: after.document, schema: fieldsOf(now[name]) },
          direction,
          `${at}/${name}`,
          seen,
        ),
  );
  const [from, to] = direction === "input" ? [nowRequired, oldRequired] : [oldRequired, nowRequired];
  const changed = from
    .filter((name) => !to.includes(name))
    .filter((name) => direction === "input" || now[String(name)] !== undefined)
    .map(
      (name) => `${at}/${String(name)}: ${direction === "input" ? "must be sent now" : "may be absent now"}`,
    );
  const [oldRest, nowRest] = [before.schema["additionalProperties"], after.schema["additionalProperties"]];
  const rest =
    isFields(oldRest) && isFields(nowRest)
      ? compareSchemas(
          { document: before.document, schema: oldRest },
          { document: after.document, schema: nowRest },
          direction,
          `${at}/*`,
          seen,
        )
      : [];
  const closed =
    direction === "input" && nowRest === false && oldRest !== false
      ? [`${at}: fields of other names are taken no longer`]
      : [];
  return [...shared, ...changed, ...rest, ...closed];
};

const compareAlternative = (
  before: Side,
  after: Side,
  direction: Direction,
  at: string,
  seen: ReadonlySet<string>,
): readonly string[] => {
  if (kindOf(after).startsWith("object")) return compareObjects(before, after, direction, at, seen);
  if (before.schema["type"] === "array") {
    const [old, now] = [before, after].map(({ document, schema }) => ({
      document,
      schema: fieldsOf(schema["items"]),
    }));
    if (old === undefined || now === undefined) return [];
    const items = compareSchemas(old, now, direction, `${at}[]`, seen);
    return direction === "output" ? items : [...items, ...compareBounds(before.schema, after.schema, at)];
  }
  if (direction === "output") return [];
  return [
    ...compareBounds(before.schema, after.schema, at),
    ...compareForms(before.schema, after.schema, at),
    ...compareValues(before.schema, after.schema, at),
  ];
};

/** Takes for each alternative of one side the one of the same kind, in their order. */
const pairs = (before: readonly Side[], after: readonly Side[]) => {
  const left = [...after];
  const paired = before.map((old) => {
    const at = left.findIndex((now) => kindOf(now) === kindOf(old));
    return { old, now: at < 0 ? null : (left.splice(at, 1)[0] ?? null) };
  });
  return { paired, added: left };
};

function compareSchemas(
  before: Side,
  after: Side,
  direction: Direction,
  at: string,
  seen: ReadonlySet<string> = new Set(),
): readonly string[] {
  const key = `${String(before.schema["$ref"])} ${String(after.schema["$ref"])}`;
  if (before.schema["$ref"] !== undefined && seen.has(key)) return [];
  const meant = direction === "input" ? compareDefaults(before.schema, after.schema, at) : [];
  const inner = new Set([...seen, key]);
  const [olds, nows] = [alternativesOf(before), alternativesOf(after)];
  const any = (sides: readonly Side[]): boolean => sides.some((side) => kindOf(side) === "any");
  if (any(direction === "input" ? nows : olds)) return meant;
  const { paired, added } = pairs(olds, nows);
  const gone = paired.flatMap(({ old, now }) =>
    now === null ? [`${at}: ${kindOf(old)} is gone`] : compareAlternative(old, now, direction, at, inner),
  );
  const grown =
    direction === "input" || any(nows)
      ? []
      : added.filter((side) => markOf(side) === "").map((side) => `${at}: may be ${kindOf(side)} now`);
  const widened = direction === "output" && any(nows) && !any(olds) ? [`${at}: may be anything now`] : [];
  return [...meant, ...gone, ...grown, ...widened];
}

const compareContents = (
  [before, old]: readonly [Fields, Json],
  [after, now]: readonly [Fields, Json],
  direction: Direction,
  at: string,
): readonly string[] =>
  Object.entries(fieldsOf(fieldsOf(old)["content"])).flatMap(([type, each]) => {
    const next = fieldsOf(fieldsOf(now)["content"])[type];
    if (next === undefined) return [`${at}: ${type} is gone`];
    const [was, is] = [fieldsOf(fieldsOf(each)["schema"]), fieldsOf(fieldsOf(next)["schema"])];
    return compareSchemas({ document: before, schema: was }, { document: after, schema: is }, direction, at);
  });

const namedOf = (document: Fields, parameters: Json): ReadonlyMap<string, Fields> =>
  new Map(
    listOf(parameters)
      .map((each) => resolve({ document, schema: fieldsOf(each) }).schema)
      .map((each) => [`${String(each["in"])} ${String(each["name"])}`, each]),
  );

const compareParameters = (before: Fields, after: Fields, old: Fields, now: Fields, at: string) => {
  const [olds, nows] = [namedOf(before, old["parameters"]), namedOf(after, now["parameters"])];
  const shared = [...olds].flatMap(([name, was]) => {
    const is = nows.get(name);
    if (is === undefined) return [`${at}: the parameter ${name} is gone`];
    return compareSchemas(
      { document: before, schema: fieldsOf(was["schema"]) },
      { document: after, schema: fieldsOf(is["schema"]) },
      "input",
      `${at} ${name}`,
    );
  });
  const demanded = [...nows]
    .filter(([name, { required }]) => required === true && olds.get(name)?.["required"] !== true)
    .map(([name]) => `${at}: the parameter ${name} must be sent now`);
  return [...shared, ...demanded];
};

const compareSecurity = (old: Fields, now: Fields, at: string): readonly string[] => {
  const [olds, nows] = [old, now].map(({ security }) => listOf(security).map((each) => JSON.stringify(each)));
  if (nows?.length === 0) return [];
  if (olds?.length === 0) return [`${at}: a credential is needed now`];
  return (olds ?? [])
    .filter((each) => nows?.includes(each) !== true)
    .map((each) => `${at}: ${each} does not suffice any more`);
};

const compareOperations = (before: Fields, after: Fields, old: Fields, now: Fields, at: string) => {
  const [oldBody, nowBody] = [fieldsOf(old["requestBody"]), fieldsOf(now["requestBody"])];
  const isDemanded = nowBody["required"] === true && oldBody["required"] !== true;
  const answers = Object.entries(fieldsOf(old["responses"])).flatMap(([status, was]) => {
    const is = fieldsOf(now["responses"])[status];
    if (is === undefined) return [`${at}: the answer ${status} is gone`];
    const [oldAnswer, nowAnswer] = [
      resolve({ document: before, schema: fieldsOf(was) }).schema,
      resolve({ document: after, schema: fieldsOf(is) }).schema,
    ];
    return compareContents([before, oldAnswer], [after, nowAnswer], "output", `${at} ${status}`);
  });
  return [
    ...compareSecurity(old, now, at),
    ...compareParameters(before, after, old, now, at),
    ...(isDemanded ? [`${at}: a body must be sent now`] : []),
    ...compareContents([before, oldBody], [after, nowBody], "input", `${at} body`),
    ...answers,
  ];
};

/** Lists what breaks clients of an OpenAPI document. */
export const findBrokenRoutes = (before: Fields, after: Fields): readonly string[] =>
  Object.entries(fieldsOf(before["paths"])).flatMap(([path, methods]) =>
    Object.entries(fieldsOf(methods)).flatMap(([method, old]) => {
      const now = fieldsOf(fieldsOf(after["paths"])[path])[method];
      const at = `${method.toUpperCase()} ${path}`;
      return now === undefined
        ? [`${at}: the route is gone`]
        : compareOperations(before, after, fieldsOf(old), fieldsOf(now), at);
    }),
  );

/** Lists what breaks clients of an AsyncAPI document, whose messages from clients have a name of theirs. */
export const findBrokenMessages = (before: Fields, after: Fields): readonly string[] => {
  const [olds, nows] = [before, after].map((document) =>
    fieldsOf(fieldsOf(document["components"])["messages"]),
  );
  return Object.entries(olds ?? {}).flatMap(([name, old]) => {
    const now = (nows ?? {})[name];
    if (now === undefined) return [`${name} is gone`];
    const [was, is] = [fieldsOf(fieldsOf(old)["payload"]), fieldsOf(fieldsOf(now)["payload"])];
    const direction = name.startsWith("client_") ? "input" : "output";
    return compareSchemas(
      { document: before, schema: was },
      { document: after, schema: is },
      direction,
      name,
    );
  });
};

const codesOf = (channel: Fields): readonly Json[] =>
  listOf(channel["x-close-codes"]).map((each) => fieldsOf(each)["code"]);

/** Lists what breaks clients of the channels of an AsyncAPI document: where they are, how they end, what they hold. */
export const findBrokenChannels = (before: Fields, after: Fields): readonly string[] =>
  Object.entries(fieldsOf(before["channels"])).flatMap(([name, each]) => {
    const [old, now] = [fieldsOf(each), fieldsOf(fieldsOf(after["channels"])[name])];
    const moved = ["address", "x-subprotocol"]
      .filter((key) => old[key] !== now[key])
      .map((key) => `${name}: ${key} became ${String(now[key])}`);
    const codes = codesOf(now);
    const gone = codesOf(old).filter((code) => !codes.includes(code));
    const limits = fieldsOf(now["x-limits"]);
    const smaller = Object.entries(fieldsOf(old["x-limits"]))
      .filter(([key, limit]) => Number(limits[key] ?? 0) < Number(limit))
      .map(([key]) => `${name}: the limit ${key} is smaller`);
    return [...moved, ...gone.map((code) => `${name}: the close code ${String(code)} is gone`), ...smaller];
  });
