import { defineConfig, type UserProjectConfigExport } from 'vitest/config';

const unit = ['sql', 'arrow', 'policy', 'protocol', 'rules', 'store', 'storage'].map(below);
const engine = ['engine', 'oracle'].map(below);

export default defineConfig({
  test: {
    // Each runs alone with `vitest run --project NAME`. A new folder of `test/` is in `system` by itself.
    projects: [
      project('unit', unit),
      project('engine', engine),
      project('system', ['test/**/*.test.ts'], [...unit, ...engine]),
    ],
    maxWorkers: 2,
  },
});

function below(folder: string): string {
  return `test/${folder}/**/*.test.ts`;
}

function project(name: string, include: string[], exclude: string[] = []): UserProjectConfigExport {
  return {
    test: {
      name,
      include,
      exclude,
      // Wide enough for a machine that does other work: no test depends on how fast it is.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      // The same for what a test waits for; `test/support/eventually.ts` waits as long.
      expect: { poll: { timeout: 240_000, interval: 50 } },
      pool: 'forks',
      // Tests keep their state to themselves, and loading every module anew for each file takes minutes.
      isolate: false,
    },
  };
}
