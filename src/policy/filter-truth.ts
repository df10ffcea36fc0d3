import { columnsOf } from '../rules/commit-rule.ts';
import { bindPredicate } from '../sql/bind.ts';
import { truthOverColumn } from '../sql/column-truth.ts';
import { anyValue } from '../sql/compare/value-range.ts';
import { parseExpression } from '../sql/parse.ts';
import { may, possibleStates } from '../sql/possible.ts';
import type { Expression } from '../sql/values/expression.ts';
import { SqlError } from '../sql/values/sql-error.ts';

/**
 * Whether the SQL of a filter is true for every row or for none; undefined if that depends on the
 * row, on the caller or on the time, or shows only in several columns together. Values of the
 * caller are columns here.
 */
export function constantTruth(sql: string): boolean | undefined {
  return truthOf(parseExpression(sql));
}

function truthOf(part: Expression): boolean | undefined {
  const [column, ...others] = columnsIn(part);
  if (column === undefined) return sameAtAnyTime((now) => truthAlone(part, now));
  const alone = others.length > 0 ? undefined : overColumn(part, column);
  if (alone !== undefined || (part.kind !== 'and' && part.kind !== 'or')) return alone;
  const deciding = part.kind === 'or';
  const parts = partsByColumn(part);
  // Nothing more is to be seen in the parts of a whole about one column.
  if (others.length === 0 && parts.every((each) => columnsIn(each).length > 0)) return undefined;
  const truths = parts.map(truthOf);
  if (truths.includes(deciding)) return deciding;
  return truths.includes(undefined) ? undefined : !deciding;
}

type Junction = Extract<Expression, { kind: 'and' | 'or' }>;

/** The operands of a junction, those about one column put together unless all are. */
function partsByColumn(junction: Junction): readonly Expression[] {
  const operands = flattened(junction);
  const groups = new Map<string, Expression[]>();
  for (const operand of operands) {
    const columns = columnsIn(operand).join('\n');
    const group = groups.get(columns);
    if (group === undefined) groups.set(columns, [operand]);
    else group.push(operand);
  }
  if (groups.size === 1) return operands;
  return [...groups.values()].map((group) =>
    group.length === 1 ? group[0]! : { ...junction, operands: group },
  );
}

function flattened({ kind, operands }: Junction): readonly Expression[] {
  return operands.flatMap((operand) => (operand.kind === kind ? flattened(operand) : operand));
}

function columnsIn(part: Expression): readonly string[] {
  return [...new Set(columnsOf(part).map((name) => name.toLowerCase()))].sort();
}

function overColumn(part: Expression, column: string): boolean | undefined {
  return sameAtAnyTime((now) => truthOverColumn(part, column, now));
}

/** Two moments, in nanoseconds since 1970: a filter that looks at the clock may differ between them. */
const MOMENTS = [0n, 4_000_000_000_000_000_000n] as const;

function sameAtAnyTime(truthAt: (now: bigint) => boolean | undefined): boolean | undefined {
  const [first, last] = MOMENTS;
  const truth = truthAt(first);
  return truth === undefined || truthAt(last) === truth ? truth : undefined;
}

/** Of a part without columns. */
function truthAlone(part: Expression, now: bigint): boolean | undefined {
  try {
    const states = possibleStates(bindPredicate(part, { fields: [], now }))(() => anyValue);
    if (states === may.beTrue) return true;
    return (states & may.beTrue) === 0 ? false : undefined;
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    throw error;
  }
}
