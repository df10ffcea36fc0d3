import type { Tables } from './embedded-transaction.ts';
import { boundBytes, keyBytes } from './key.ts';
import type { Seen, Watch } from './store.ts';

type Test = (values: Tables['values']) => boolean;

/** Compares what lies in the file with what was read from it, and copies none of it. */
export class EmbeddedWatch implements Watch {
  readonly #newest: () => Tables | undefined;
  readonly #tests: readonly Test[];

  /** @param newest The tables as every commit so far has left them; undefined where they have to be awaited. */
  constructor(newest: () => Tables | undefined, seen: readonly Seen[]) {
    this.#newest = newest;
    this.#tests = seen.map(testOf);
  }

  holds(): boolean | undefined {
    const tables = this.#newest();
    if (tables === undefined) return undefined;
    try {
      for (const test of this.#tests) if (!test(tables.values)) return false;
      return true;
    } catch {
      // The file does not answer, and a read says so.
      return undefined;
    }
  }
}

function testOf(seen: Seen): Test {
  return seen.kind === 'value' ? valueTest(keyBytes(seen.key), seen.value) : countTest(seen);
}

function valueTest(key: Buffer, value: Uint8Array | null): Test {
  if (value === null) return (values) => values.getBinaryFast(key) === undefined;
  const expected = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return (values) => {
    // Memory that the package uses again for the next value: its bytes are only compared.
    const found: Uint8Array | undefined = values.getBinaryFast(key);
    return found !== undefined && expected.compare(found, 0, found.length) === 0;
  };
}

function countTest({ start, end, count }: Extract<Seen, { kind: 'count' }>): Test {
  const range = { start: boundBytes(start), end: boundBytes(end) };
  return (values) => values.getKeysCount(range) === count;
}
