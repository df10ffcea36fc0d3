import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Tests keep their state to themselves, and loading every module anew for each file takes minutes.
    isolate: false,
    maxWorkers: 2,
  },
});
