import { availableParallelism } from 'node:os';
import { defineConfig, type UserProjectConfigExport } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const unit = ['sql', 'arrow', 'policy', 'protocol', 'rules', 'store', 'storage'].map(below);
const engine = ['engine', 'oracle'].map(below);
/** Tests of programs that take minutes and gigabytes to install; they have a command of their own. */
const withEngines = process.env['ARROWGATE_TEST_ENGINES'] === 'all' ? [] : [below('engines')];

/** Files that take much longer than the others. */
const longest = [
  'faults/kills',
  'docs-snippets',
  'service/catalog-rebuild',
  'service/memory',
  'clients/managed-writers',
  'clients/reference-server',
  'service/processes',
  'service/sigkill',
  'service/redis',
  'service/shared-keys',
  'faults/redis-outages',
  'faults/redis-failover',
  'service/catalog-backup',
  'service/catalog-retention',
  'service/drain',
  'oracle/changes',
  'oracle/queries',
  'policy/watch',
  'sql/every-function',
  'store/redis/redis',
  'policy/casbin-equality',
];

/**
 * The longest files begin first, and the project of the longest before the others, so that at the
 * end idle workers wait for short files only.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const projects = ['system', 'engine', 'unit'];
    const place = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at < 0 ? longest.length : at;
    };
    return (await super.sort(files)).toSorted(
      (left, right) =>
        projects.indexOf(left.project.name) - projects.indexOf(right.project.name) ||
        place(left) - place(right),
    );
  }
}

export default defineConfig({
  test: {
    // Each runs alone with `vitest run --project NAME`. A new folder of `test/` is in `system` by itself.
    projects: [
      project('unit', unit),
      project('engine', engine),
      project('system', ['test/**/*.test.ts'], [...unit, ...engine, ...withEngines]),
    ],
    // Tests wait half of their time: two cores are busy with three workers.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    sequence: { sequencer: LongestFirst },
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
