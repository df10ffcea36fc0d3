/**
 * What an expression was refused for. `value` is a value that the expression
 * cannot take: a malformed date, a text that is no number, a division by zero.
 */
type SqlErrorKind =
  | 'syntax'
  | 'unknown-column'
  | 'unknown-function'
  | 'type'
  | 'overflow'
  | 'value'
  | 'limit';

/** The refusal of an expression: one sentence that ends with the place in the text. */
export class SqlError extends Error {
  readonly kind: SqlErrorKind;
  /** The 1-based character of the expression's text that the refusal is about. */
  readonly position: number;

  constructor(kind: SqlErrorKind, message: string, position: number) {
    super(`${message}, at position ${position}`);
    this.name = 'SqlError';
    this.kind = kind;
    this.position = position;
  }
}

/** A piece of the caller's text for a message, cut where it is long. */
export function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
