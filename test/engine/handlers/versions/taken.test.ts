import { describe, expect, it } from 'vitest';
import { haveTakenEffect } from '../../../../src/engine/handlers/versions/batch-commit-tables.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const bytes = (text: string) => Buffer.from(text);

describe('haveTakenEffect', () => {
  it('knows writes by any of their values', async () => {
    const store = new MemoryStore();
    const writes = [
      { key: 'a', value: bytes('1') },
      { key: 'b', value: bytes('2') },
      { key: 'c', value: null },
    ];
    expect(await haveTakenEffect(store, writes)).toBe(false);
    await store.commit([], writes);
    expect(await haveTakenEffect(store, writes)).toBe(true);
    await store.commit([], [{ key: 'a', value: bytes('3') }]);
    expect(await haveTakenEffect(store, writes)).toBe(true);
    await store.commit([], [{ key: 'b', value: bytes('3') }]);
    expect(await haveTakenEffect(store, writes)).toBe(false);
  });

  it('knows removals by what is left', async () => {
    const store = new MemoryStore();
    await store.commit([], [{ key: 'a', value: bytes('1') }]);
    const writes = [
      { key: 'a', value: null },
      { key: 'b', value: null },
    ];
    expect(await haveTakenEffect(store, writes)).toBe(false);
    await store.commit([], writes);
    expect(await haveTakenEffect(store, writes)).toBe(true);
  });
});
