import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Wide enough for a machine that does other work: no test depends on how fast it is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The same for what a test waits for; `test/support/eventually.ts` waits as long.
    expect: { poll: { timeout: 240_000, interval: 50 } },
    pool: 'forks',
    // Tests keep their state to themselves, and loading every module anew for each file takes minutes.
    isolate: false,
    maxWorkers: 2,
  },
});
