import { SqlError } from '../values/sql-error.ts';
import { subexpressions, type Expression } from '../values/expression.ts';
import { maxDepth, maxNodes } from '../values/limits.ts';
import type { TokenCursor } from './cursor.ts';

/** Operators by binding power, weakest first. */
export const level = {
  none: 0,
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  concatenation: 6,
  sum: 7,
  product: 8,
  sign: 9,
  postfix: 10,
} as const;

/** State that the parts of the parser share. */
export interface Parser {
  readonly cursor: TokenCursor;
  /** Reads an expression of operators that bind tighter than `minimum`. */
  expression(minimum: number): Expression;
  /** The number of the next `?`, counted from 1. */
  nextMark(): number;
  /** Freezes a new node. Throws SqlError `limit` when the tree becomes too deep. */
  build<Made extends Expression>(node: Made): Made;
}

function tooDeep(position: number): SqlError {
  return new SqlError(
    'limit',
    `expected at most ${maxDepth} levels of nesting, found more`,
    position,
  );
}

/** Counts the levels of a tree as it grows, and those of the recursion that reads it. */
export class DepthGuard {
  /** Of the nodes that have children. */
  readonly #heights = new Map<Expression, number>();
  #level = 0;
  #nodes = 0;

  /** Takes the height of a node whose children were measured before. */
  measure(node: Expression): void {
    this.#count(node);
    let height = 1;
    for (const child of subexpressions(node)) {
      height = Math.max(height, (this.#heights.get(child) ?? 1) + 1);
    }
    if (height > maxDepth) throw tooDeep(node.position);
    if (height > 1) this.#heights.set(node, height);
  }

  #count(node: Expression): void {
    this.#nodes += node.kind === 'literal' ? 0 : 1;
    if (this.#nodes > maxNodes) {
      const message = `expected at most ${maxNodes} operators and names, found more`;
      throw new SqlError('limit', message, node.position);
    }
  }

  enter(position: number): void {
    this.#level++;
    if (this.#level > maxDepth) throw tooDeep(position);
  }

  leave(): void {
    this.#level--;
  }
}
