import { LocalStorage } from '../../src/storage/local-storage.ts';

/** The storage of tests that look at files themselves. */
export const disk = new LocalStorage();
