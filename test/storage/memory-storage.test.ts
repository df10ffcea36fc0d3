import { expect, it } from 'vitest';
import { MemoryStorage } from '../../src/storage/memory-storage.ts';
import { storageConformance } from '../conformance/storage.ts';

storageConformance(async () => ({ storage: new MemoryStorage(), folder: '/folder' }));

it('has none of what only a disk has', () => {
  const { folders, files } = new MemoryStorage();
  expect([folders, files]).toEqual([undefined, undefined]);
});
