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

/** The error of an expression: one sentence that ends with the position in the text. */
export class SqlError extends Error {
  readonly kind: SqlErrorKind;
  /** 1-based position of the error, in characters of the expression's text. */
  readonly position: number;

  constructor(kind: SqlErrorKind, message: string, position: number) {
    super(`${message}, at position ${position}`);
    this.name = 'SqlError';
    this.kind = kind;
    this.position = position;
  }
}

/** The caller's text for a message, shortened to 60 characters. */
export function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
