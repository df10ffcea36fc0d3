import { Null, type DataType } from 'apache-arrow';
import {
  boolType,
  boundChildren,
  type Bound,
  type BoundLiteral,
  type BoundShared,
  type Kernel,
} from './bound.ts';
import { SqlError } from '../values/sql-error.ts';
import { evaluateNode } from './evaluate-node.ts';
import { constantFrame } from './frame.ts';
import { maxArguments, maxFoldedWork } from '../values/limits.ts';
import { scalarAt, type Scalar } from '../values/scalar.ts';
import { familyOf } from '../values/types.ts';
import { metered, type EvaluationBudget } from '../values/meter.ts';

/** Internal: computing a constant would take too long. */
class FoldLimit extends Error {}

/** Remaining work for the constants of one expression. */
class FoldBudget implements EvaluationBudget {
  #left = maxFoldedWork;

  run<Result>(work: () => Result): Result {
    return work();
  }

  charge(bytes: number): void {
    if (bytes > this.#left) this.#end();
  }

  release(): void {
    return undefined;
  }

  work(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) this.#end();
  }

  /** Nothing more is folded: what was tried is not undone. */
  #end(): never {
    this.#left = 0;
    throw new FoldLimit();
  }
}

/** The allowance of the expression that is being bound. Binding is synchronous, so there is only one. */
let open: FoldBudget | undefined;

/** Binds an expression. Constants are computed within the given work; beyond it they are evaluated with the rows. */
export function folding<Result>(bind: () => Result): Result {
  if (open !== undefined) return bind();
  open = new FoldBudget();
  try {
    return bind();
  } finally {
    open = undefined;
  }
}

/** The value of a constant; undefined if it takes more work than remains. */
function folded<Value>(compute: () => Value): Value | undefined {
  try {
    return metered(open ?? new FoldBudget(), compute);
  } catch (error) {
    if (error instanceof FoldLimit) return undefined;
    throw error;
  }
}

/** A literal of a type. */
export function literal(
  type: DataType,
  value: Scalar,
  position: number,
  digits?: string,
): BoundLiteral {
  // Written out: to freeze an object that was spread takes ten times as long.
  return Object.freeze(
    digits === undefined
      ? { kind: 'literal', type, value, position, fallible: false }
      : { kind: 'literal', type, value, position, fallible: false, digits },
  );
}

/** Null, or UNKNOWN as a predicate. */
export function nullLiteral(type: DataType, position: number): BoundLiteral {
  return literal(type, null, position);
}

/** The type of a null without context. */
export const nullType: DataType = new Null();

/** Freezes a node, or computes it when it has only literals. Errors are left for the rows that need the value. */
export function fold(node: Bound): Bound {
  const children = boundChildren(node);
  if (children.length === 0 || !children.every((child) => child.kind === 'literal')) {
    return Object.freeze(node);
  }
  const value = constantOf(node);
  if (value === undefined) return Object.freeze(node);
  return literal(node.type, value, node.position);
}

/** Undefined if it cannot be computed, or not within the allowance. */
function constantOf(node: Bound): Scalar | undefined {
  try {
    return folded(() => {
      const column = evaluateNode(node, constantFrame(1));
      return scalarAt(column, 0, familyOf(node.type) === 'text');
    });
  } catch (error) {
    if (error instanceof SqlError) return undefined;
    throw error;
  }
}

function anyFallible(nodes: readonly Bound[]): boolean {
  return nodes.some((node) => node.fallible);
}

interface CallParts {
  readonly name: string;
  readonly type: DataType;
  readonly arguments: readonly Bound[];
  readonly kernel: Kernel;
  readonly position: number;
  /** Whether the kernel itself may throw for a value. */
  readonly fallible: boolean;
}

/**
 * A call of a kernel, computed at once when its arguments are literals. Throws
 * SqlError `limit` for more arguments than a batch has room for.
 */
export function call(parts: CallParts): Bound {
  const literals = parts.arguments.every((argument) => argument.kind === 'literal');
  if (!literals && parts.arguments.length > maxArguments) {
    const message = `expected at most ${maxArguments} arguments of ${parts.name}, found ${parts.arguments.length}`;
    throw new SqlError('limit', message, parts.position);
  }
  const fallible = parts.fallible || anyFallible(parts.arguments);
  return fold({ kind: 'call', ...parts, arguments: Object.freeze([...parts.arguments]), fallible });
}

/** AND or OR of predicates; a single predicate is returned as it is. */
export function junction(kind: 'and' | 'or', operands: readonly Bound[], position: number): Bound {
  const [first] = operands;
  if (operands.length === 1 && first !== undefined) return first;
  const fallible = anyFallible(operands);
  return fold({ kind, type: boolType, operands: Object.freeze([...operands]), position, fallible });
}

/** NOT of a predicate. */
export function negation(operand: Bound, position: number): Bound {
  return fold({ kind: 'not', type: boolType, operand, position, fallible: operand.fallible });
}

/** Wraps an operand that is used in several places, so that it is evaluated once. */
export function shared(operand: Bound): Bound {
  if (operand.kind === 'literal' || operand.kind === 'column' || operand.kind === 'shared') {
    return operand;
  }
  const { type, position, fallible } = operand;
  const node: BoundShared = { kind: 'shared', type, operand, position, fallible };
  return Object.freeze(node);
}
