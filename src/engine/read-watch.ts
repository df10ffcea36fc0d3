import type { Seen, Store, Watch } from '../store/store.ts';

type SeenValue = Extract<Seen, { kind: 'value' }>;

/**
 * Looks at records by reading all of them again, for a store that has to be waited for: once,
 * where making an answer anew takes several reads, one after the other.
 */
export class ReadWatch implements Watch {
  readonly #store: Pick<Store, 'getMany'>;
  readonly #seen: readonly SeenValue[];
  readonly #keys: readonly string[];

  constructor(store: Pick<Store, 'getMany'>, seen: readonly SeenValue[]) {
    this.#store = store;
    this.#seen = seen;
    this.#keys = seen.map(({ key }) => key);
  }

  async holds(): Promise<boolean> {
    const values = await this.#store.getMany(this.#keys);
    return this.#seen.every(({ value }, at) => isSame(value, values[at]));
  }
}

/** What was seen as values alone; undefined where more than values was. */
export function valuesOf(seen: readonly Seen[]): readonly SeenValue[] | undefined {
  const values = seen.filter((one) => one.kind === 'value');
  return values.length === seen.length ? values : undefined;
}

function isSame(seen: Uint8Array | null, value: Uint8Array | undefined): boolean {
  if (seen === null || value === undefined) return seen === null && value === undefined;
  return Buffer.compare(seen, value) === 0;
}
