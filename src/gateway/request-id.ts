import { randomFillSync } from 'node:crypto';

const ID_BYTES = 16;
const random = Buffer.alloc(256 * ID_BYTES);
let used = random.length;

const DIGITS = Buffer.from('0123456789abcdef');
/** The text that is being written; its dashes and its version stay. */
const text = Buffer.from('00000000-0000-4000-8000-000000000000');
/** Where each byte's digits stand in it. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const VERSION_PLACE = 14;
const VERSION_4 = DIGITS[4]!;
const VARIANT_BYTE = 8;

/** A random UUID (RFC 9562 section 5.4). Each request needs one or two, and those of `node:crypto` are put together from pieces. */
export function newId(): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  for (let index = 0; index < ID_BYTES; index += 1) {
    const drawn = random[used + index]!;
    const byte = index === VARIANT_BYTE ? (drawn & 0x3f) | 0x80 : drawn;
    const place = places[index]!;
    text[place] = DIGITS[byte >> 4]!;
    text[place + 1] = DIGITS[byte & 15]!;
  }
  text[VERSION_PLACE] = VERSION_4;
  used += ID_BYTES;
  return text.toString('latin1');
}
