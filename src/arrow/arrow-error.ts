/**
 * What is wrong with Arrow data: `corrupt` (the bytes break the format),
 * `unsupported` (well formed, but not supported here), `limit` (larger than is
 * allowed), `mismatch` (valid, but not what the schema asks for).
 */
type ArrowErrorKind = 'corrupt' | 'unsupported' | 'limit' | 'mismatch';

/** The error for Arrow data that is not accepted. Callers decide by `kind`, never by the message. */
export class ArrowError extends Error {
  readonly kind: ArrowErrorKind;

  constructor(kind: ArrowErrorKind, message: string) {
    super(message);
    this.name = 'ArrowError';
    this.kind = kind;
  }
}

/** An `ArrowError` of kind `corrupt`. */
export function corrupt(message: string): ArrowError {
  return new ArrowError('corrupt', message);
}
