import type { Store, Write } from '../../store/store.ts';

/**
 * Whether writes of which the outcome is unknown have taken effect: any value of
 * theirs is found, or, where they only remove, nothing is left.
 */
export async function haveTakenEffect(
  store: Pick<Store, 'getMany'>,
  writes: readonly Write[],
): Promise<boolean> {
  const values = await store.getMany(writes.map(({ key }) => key));
  if (writes.every(({ value }) => value === null)) return values.every((one) => one === undefined);
  return writes.some(({ value }, index) => {
    const found = values[index];
    return value !== null && found !== undefined && Buffer.from(found).equals(value);
  });
}
