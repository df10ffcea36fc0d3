import { parseExpression } from './parse.ts';
import {
  subexpressions,
  type ColumnName,
  type Expression,
  type LiteralValue,
} from './values/expression.ts';
import { SqlError } from './values/sql-error.ts';

/** A value of a column, as a literal of an expression has it. */
export interface LiteralPart {
  /** The name in lower case; the parts of a path are joined by dots. */
  readonly column: string;
  /** The same text for all spellings of a value: `5`, `5.0`, `'5'`. */
  readonly value: string;
}

/** Values that identify rows together. */
export type LiteralKey = readonly LiteralPart[];

/** Maximum number of keys of an expression. */
export const MAX_LITERAL_KEYS = 1000;

/**
 * The keys of the rows of which an expression is true: what it compares with `=` or `IN`. Parts that
 * OR joins are keys of their own, those that AND joins are one key; all other parts are left out.
 * @throws SqlError for a text that is no expression, and RangeError for more than `MAX_LITERAL_KEYS`.
 */
export function literalKeys(text: string): readonly LiteralKey[] {
  return keysOf(parseExpression(text));
}

function keysOf(node: Expression): readonly LiteralKey[] {
  if (node.kind === 'or') return limited(node.operands.flatMap(keysOf));
  if (node.kind === 'and') return node.operands.map(keysOf).reduce(combined, []);
  if (node.kind === 'comparison' && node.operator === '=') {
    const { left, right } = node;
    return left.kind === 'column' ? keysFor(left, [right]) : keysFor(right, [left]);
  }
  return node.kind === 'in' && !node.negated ? keysFor(node.operand, node.items) : [];
}

function combined(keys: readonly LiteralKey[], more: readonly LiteralKey[]): readonly LiteralKey[] {
  if (keys.length === 0 || more.length === 0) return keys.length === 0 ? more : keys;
  if (keys.length * more.length > MAX_LITERAL_KEYS) throw new RangeError('too many keys');
  return keys.flatMap((key) => more.map((other) => [...key, ...other]));
}

function keysFor(column: Expression, items: readonly Expression[]): readonly LiteralKey[] {
  if (column.kind !== 'column') return [];
  const values = items.map((item) => (item.kind === 'literal' ? valueOf(item.value) : undefined));
  const known = values.filter((value) => value !== undefined);
  return limited(known.map((value) => [{ column: nameOf(column), value }]));
}

function limited(keys: readonly LiteralKey[]): readonly LiteralKey[] {
  if (keys.length > MAX_LITERAL_KEYS) throw new RangeError('too many keys');
  return keys;
}

function nameOf({ path }: ColumnName): string {
  return path.map(({ text }) => text.toLowerCase()).join('.');
}

/** Finds the values of keys among the literals of expressions. Nothing is evaluated. */
export class LiteralSearch {
  readonly #wanted = new Map<string, Set<string>>();
  readonly #found = new Set<string>();

  constructor(keys: readonly LiteralKey[]) {
    for (const { column, value } of keys.flat()) {
      const values = this.#wanted.get(column) ?? new Set<string>();
      this.#wanted.set(column, values.add(value));
    }
  }

  /** Adds the literals of an expression. A text that is none adds nothing. */
  add(text: string): void {
    const expression = parsed(text);
    if (expression !== undefined) this.#visit(expression);
  }

  /** Adds a text that is looked for in all columns. */
  addSearched(text: string): void {
    const value = spelt(text);
    for (const [column, values] of this.#wanted) if (values.has(value)) this.#add(column, value);
  }

  /** Whether all values of a key were found, each in a condition that names its column. */
  has(key: LiteralKey): boolean {
    return key.every(({ column, value }) => this.#found.has(JSON.stringify([column, value])));
  }

  #add(column: string, value: string): void {
    this.#found.add(JSON.stringify([column, value]));
  }

  /** A condition is what AND, OR and NOT join. */
  #visit(node: Expression): void {
    if (node.kind === 'and' || node.kind === 'or' || node.kind === 'not') {
      for (const part of subexpressions(node)) this.#visit(part);
      return;
    }
    const parts: Expression[] = [node];
    // The list grows during the iteration.
    for (const part of parts) for (const inner of subexpressions(part)) parts.push(inner);
    const columns = new Set(
      parts.flatMap((part) => (part.kind === 'column' ? [nameOf(part)] : [])),
    );
    const values = new Set(
      parts.flatMap((part) => (part.kind === 'literal' ? [valueOf(part.value)] : [])),
    );
    for (const [column, wanted] of this.#wanted) {
      if (!columns.has(column)) continue;
      for (const value of wanted) if (values.has(value)) this.#add(column, value);
    }
  }
}

function parsed(text: string): Expression | undefined {
  try {
    return parseExpression(text);
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    throw error;
  }
}

type ValueTexts = {
  readonly [Type in LiteralValue['type']]: (
    literal: Extract<LiteralValue, { type: Type }>,
  ) => string | undefined;
};

/** Undefined for what identifies no row. */
const valueTexts: ValueTexts = {
  null: () => undefined,
  interval: () => undefined,
  integer: ({ value }) => spelt(String(value)),
  number: ({ text }) => spelt(text),
  text: ({ value }) => spelt(value),
  boolean: ({ value }) => String(value),
  binary: ({ hex }) => `x'${hex.toLowerCase()}'`,
  date: ({ days }) => `date ${days}`,
  time: ({ nanoseconds }) => `time ${nanoseconds}`,
  timestamp: ({ nanoseconds }) => `timestamp ${nanoseconds}`,
};

function valueOf(literal: LiteralValue): string | undefined {
  return valueTexts[literal.type](literal as never);
}

const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,6}))?$/i;

/** A text; numbers without regard to leading and trailing zeros and to exponents. */
function spelt(text: string): string {
  const found = NUMBER.exec(text.trim());
  if (found === null) return text;
  const [, sign, whole = '', fraction = '', exponent = '0'] = found;
  const digits = whole + fraction;
  if (digits === '') return text;
  let [start, end] = [0, digits.length];
  while (digits[start] === '0') start++;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return '0';
  const scale = Number(exponent) + whole.length - end;
  return `${sign === '-' ? '-' : ''}${digits.slice(start, end)}e${scale}`;
}
