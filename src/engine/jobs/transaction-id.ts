import { randomBytes } from 'node:crypto';

const TIME_BYTES = 6;

/** A new id: a UUID of version 7 (RFC 9562), so that ids are in the order of their time. */
export function newTransactionId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, TIME_BYTES);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex');
  return [
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([from, to]) => hex.slice(from, to))
    .join('-');
}

/** The first id of a moment, in milliseconds since 1970: every id of an earlier one lies before it. */
export function firstIdOf(millis: number): string {
  const hex = Math.max(0, Math.floor(millis))
    .toString(16)
    .padStart(2 * TIME_BYTES, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
