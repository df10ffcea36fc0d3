import {
  Binary,
  Decimal as DecimalType,
  Field,
  List,
  Struct,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  type DataType,
  type Decimal,
  type Timestamp,
} from 'apache-arrow';
import type { Bound } from '../evaluate/bound.ts';
import { castAlwaysFits, castKernel, canCast } from './cast.ts';
import { SqlError } from '../values/sql-error.ts';
import { adaptLiteral, float64Type, literalAs, textType } from './literals.ts';
import { call, nullType } from '../evaluate/node.ts';
import { sameType } from '../../arrow/types.ts';
import {
  commonInteger,
  elementType,
  familyOf,
  integerOf,
  integerType,
  isComputable,
  mapTypeOf,
  mapTypes,
  stepOf,
  sqlTypeName,
} from '../values/types.ts';
import { tryCastKernel } from './try-cast.ts';
import { checkClocks, hasClock } from '../values/zone-clock.ts';

/** The node as another type: a literal directly, anything else through a cast. */
export function coerce(node: Bound, type: DataType): Bound {
  if (sameType(node.type, type)) return node;
  const converted = node.kind === 'literal' ? literalAs(node, type) : undefined;
  return converted ?? castTo(node, type, node.position);
}

/** A cast of a node. The caller has checked `canCast`. */
export function castTo(node: Bound, type: DataType, position: number): Bound {
  checkClocks(node.type, type, position);
  const fallible = !castAlwaysFits(node.type, type);
  return call({ name: 'cast', type, arguments: [node], kernel: castKernel, position, fallible });
}

/** TRY_CAST of a node. The caller has checked `canCast`. */
function tryCastTo(node: Bound, type: DataType, position: number): Bound {
  checkClocks(node.type, type, position);
  return castAlwaysFits(node.type, type)
    ? castTo(node, type, position)
    : call({
        name: 'try_cast',
        type,
        arguments: [node],
        kernel: tryCastKernel,
        position,
        fallible: false,
      });
}

const stampTypes: readonly (readonly [bigint, (zone: string | null) => DataType])[] = [
  [1n, (zone) => new TimestampNanosecond(zone)],
  [1000n, (zone) => new TimestampMicrosecond(zone)],
  [1_000_000n, (zone) => new TimestampMillisecond(zone)],
  [1_000_000_000n, (zone) => new TimestampSecond(zone)],
];

/** Timestamp type for a step in nanoseconds; steps of days use seconds. */
export function timestampOf(step: bigint, zone: string | null): DataType {
  const found = stampTypes.findLast(([each]) => each <= step)!;
  return found[1](zone);
}

function zoneOf(type: DataType): string | null {
  return familyOf(type) === 'timestamp' ? ((type as Timestamp).timezone ?? null) : null;
}

/** The timestamp type that can hold both. A date with a timestamp of another zone than UTC gives one without a zone. */
export function commonTimestamp(left: DataType, right: DataType): DataType {
  const [a, b] = [stepOf(left), stepOf(right)];
  const hasDate = familyOf(left) === 'date' || familyOf(right) === 'date';
  const isUtcDay = hasDate && (hasClock(left) || hasClock(right));
  return timestampOf(a < b ? a : b, isUtcDay ? null : (zoneOf(left) ?? zoneOf(right)));
}

function scaleOf(type: DataType): number {
  return familyOf(type) === 'decimal' ? (type as Decimal).scale : 0;
}

/** The type that can hold the numbers of both; integers with floats become float64. */
export function commonNumber(left: DataType, right: DataType): DataType {
  const families = [familyOf(left), familyOf(right)];
  if (families.every((family) => family === 'integer')) {
    return integerType(commonInteger(integerOf(left), integerOf(right)));
  }
  if (families.includes('float')) return sameType(left, right) ? left : float64Type;
  return new DecimalType(Math.max(scaleOf(left), scaleOf(right)), 38, 128);
}

const numeric: ReadonlySet<string> = new Set(['integer', 'float', 'decimal']);

/** Whether a type is one of numbers. */
export function isNumeric(type: DataType): boolean {
  return numeric.has(familyOf(type));
}

function commonList(left: DataType, right: DataType): DataType | undefined {
  const inner = commonOfTwo(elementType(left), elementType(right));
  return inner === undefined ? undefined : new List(new Field('item', inner, true));
}

/** The map type whose key and value types can hold those of both. */
function commonMap(left: DataType, right: DataType): DataType | undefined {
  const [a, b] = [mapTypes(left), mapTypes(right)];
  const [key, value] = [commonOfTwo(a[0], b[0]), commonOfTwo(a[1], b[1])];
  return key === undefined || value === undefined ? undefined : mapTypeOf(key, value);
}

/** The struct type whose fields can hold those of both; both need the same fields in the same order. */
function commonStruct(left: DataType, right: DataType): DataType | undefined {
  const fields = left.children.map((field, at) => {
    const other = right.children[at];
    const inner = other?.name === field.name ? commonOfTwo(field.type, other.type) : undefined;
    return inner === undefined ? undefined : new Field(field.name, inner, true);
  });
  const alike = left.children.length === right.children.length;
  return alike && fields.every((field) => field !== undefined) ? new Struct(fields) : undefined;
}

/** The type that can hold the values of both; undefined if there is none. */
export function commonOfTwo(left: DataType, right: DataType): DataType | undefined {
  const [a, b] = [familyOf(left), familyOf(right)];
  if (sameType(left, right) || b === 'null') return left;
  if (a === 'null') return right;
  if (isNumeric(left) && isNumeric(right)) return commonNumber(left, right);
  const calendar = (a === 'date' || a === 'timestamp') && (b === 'date' || b === 'timestamp');
  if (calendar) return commonTimestamp(left, right);
  if (a !== b) return undefined;
  const shared: Partial<Record<typeof a, () => DataType | undefined>> = {
    text: () => textType,
    binary: () => new Binary(),
    list: () => commonList(left, right),
    struct: () => commonStruct(left, right),
    map: () => commonMap(left, right),
    time: () => (stepOf(left) < stepOf(right) ? left : right),
    duration: () => (stepOf(left) < stepOf(right) ? left : right),
  };
  return shared[a]?.();
}

/** Non-literals decide the type; literals take it if it can hold them. */
function widen(current: DataType, node: Bound): DataType | undefined {
  const fits = familyOf(current) !== 'null' && adaptLiteral(node, current) !== undefined;
  return fits ? current : commonOfTwo(current, node.type);
}

/**
 * The one type of several results, as of the branches of CASE. Throws SqlError
 * `type` when they have none in common, or one that cannot be computed with.
 */
export function commonType(nodes: readonly Bound[], position: number): DataType {
  const ordered = [
    ...nodes.filter((node) => node.kind !== 'literal'),
    ...nodes.filter((node) => node.kind === 'literal'),
  ];
  let type: DataType = nullType;
  for (const node of ordered) {
    const wider = widen(type, node);
    if (wider === undefined) {
      throw new SqlError(
        'type',
        `expected results of one type, found ${sqlTypeName(type)} and ${sqlTypeName(node.type)}`,
        position,
      );
    }
    type = wider;
  }
  if (!isComputable(type)) {
    throw new SqlError(
      'type',
      `expected results that can be computed with, found ${sqlTypeName(type)}`,
      position,
    );
  }
  return type;
}

/** CAST or TRY_CAST of a node. Throws SqlError `type` if the types cannot be cast. */
export function bindCastTo(bound: Bound, type: DataType, tries: boolean, position: number): Bound {
  if (sameType(bound.type, type)) {
    // A column is handed out as it is stored, so a dictionary of texts is not yet a text.
    return sameType(storedType(bound), type) ? bound : castTo(bound, type, position);
  }
  if (!canCast(bound.type, type)) {
    throw new SqlError(
      'type',
      `expected a value that casts to ${sqlTypeName(type)}, found ${sqlTypeName(bound.type)}`,
      position,
    );
  }
  return tries ? tryCastTo(bound, type, position) : castTo(bound, type, position);
}

/** A column or field keeps its stored type; anything else has its computed type. */
export function isStored(node: Bound): boolean {
  return node.kind === 'column' || (node.kind === 'field' && isStoredStruct(node.operand));
}

/** Fields of a dictionary of structs cannot be returned as stored. */
function isStoredStruct(node: Bound): boolean {
  const stored = node.kind === 'column' || node.kind === 'field';
  return stored && isStored(node) && familyOf(node.stored) === 'struct';
}

/** The type as the batch holds it; for anything but a column or a field of one, as it is computed. */
export function storedType(node: Bound): DataType {
  const stored = isStored(node) && (node.kind === 'column' || node.kind === 'field');
  return stored ? node.stored : node.type;
}
