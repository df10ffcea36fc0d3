import { DataType } from 'apache-arrow';
import type { Mask } from '../protocol/restrictions.ts';
import { bindAssignment } from '../sql/assign.ts';
import { parseExpression } from '../sql/parse.ts';
import { SqlError } from '../sql/values/sql-error.ts';

/** The types whose values each mask can replace. */
const fits: {
  readonly [Kind in Mask['mask']]: (type: DataType, mask: Extract<Mask, { mask: Kind }>) => boolean;
} = {
  null: () => true,
  constant: (type, { value }) => !isNested(type) && holds(type, constantSql(value)),
  sha256: isText,
  alphanum: isText,
  first: isText,
  last: isText,
  year: isDay,
  month: isDay,
  round: (type, { to }) => DataType.isFloat(type) || isRoundable(type, to),
};

/** Whether a mask can replace the values of a column of that type. */
export function maskFits(mask: Mask, type: DataType): boolean {
  return fits[mask.mask](type, mask as never);
}

/** The SQL of a constant. */
export function constantSql(value: string | number | boolean): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

function holds(type: DataType, sql: string): boolean {
  try {
    bindAssignment(parseExpression(sql), { fields: [] }, type);
    return true;
  } catch (error) {
    if (error instanceof SqlError) return false;
    throw error;
  }
}

/** Multiples are computed in 64 bits with a sign. */
function isRoundable(type: DataType, to: number): boolean {
  if (!DataType.isInt(type) || !Number.isSafeInteger(to)) return false;
  return type.isSigned || type.bitWidth < 64;
}

function isDay(type: DataType): boolean {
  return DataType.isDate(type) || DataType.isTimestamp(type);
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type);
}

function isNested(type: DataType): boolean {
  return type.children !== null && type.children !== undefined && type.children.length > 0;
}
