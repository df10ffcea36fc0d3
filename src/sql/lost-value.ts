import type { DataType } from 'apache-arrow';
import { Utf8 } from 'apache-arrow';
import type { RowValue } from './cast-values.ts';
import { conversionOf } from './cast-values.ts';
import { excerpt, SqlError } from './errors.ts';
import { familyOf, typeName } from './types.ts';

const text = new Utf8();

/** A value as a person writes it: decimals with their point, moments as dates and times. */
function written(value: RowValue, type: DataType): string {
  if (typeof value === 'string') {
    return value;
  }
  return String(conversionOf(familyOf(type), 'text')?.(type, text)(value) ?? value);
}

/** The refusal of a value that another type cannot hold. A text that is no number is one of kind `value`. */
export class LostValue extends SqlError {
  /** The value as text, a string in double quotes. */
  readonly value: string;

  constructor(value: RowValue, from: DataType, to: DataType, position: number) {
    const isText = familyOf(from) === 'text';
    const shown = written(value, from);
    const found = isText ? `'${excerpt(shown)}'` : shown;
    const message = `expected a value that ${typeName(to)} can hold, found ${found} of ${typeName(from)}`;
    super(isText ? 'value' : 'overflow', message, position);
    this.value = isText ? JSON.stringify(shown) : shown;
  }
}
