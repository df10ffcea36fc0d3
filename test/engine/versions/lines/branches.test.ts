import { Int32, vectorFromArray } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EngineTable, refusalOf, streamOf } from '../../../support/engine-table.ts';
import { ModelBranch, ModelTable, type Step } from '../../table/branch-model.ts';
import { casesOf } from '../../../support/cases.ts';

const nat = fc.nat({ max: 50 });
const values = fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 1, maxLength: 4 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('insert' as const), on: nat, values }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('overwrite' as const), on: nat, values }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('delete' as const),
      on: nat,
      divisor: fc.integer({ min: 2, max: 7 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'restore' as const,
        'branch' as const,
        'branch' as const,
        'tag' as const,
      ),
      on: nat,
      version: nat,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unbranch' as const), on: nat }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('untag' as const), tag: nat }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('forget' as const),
      on: nat,
      first: fc.nat({ max: 3 }),
      last: fc.constantFrom(3, 6, 100),
    }),
  },
);

describe('branches', () => {
  it('are as in the model after any steps, each version of each', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
        const run = await Run.open();
        try {
          for (const one of steps) await run.take(one);
          await run.compare();
          await run.clear();
        } finally {
          await run.close();
        }
      }),
      { numRuns: casesOf(10, 24) },
    );
  });
});

/** A table and its model side by side. */
class Run {
  readonly #table: EngineTable;
  readonly #model = new ModelTable();
  #names = 0;

  private constructor(table: EngineTable) {
    this.#table = table;
  }

  static async open(): Promise<Run> {
    const run = new Run(await EngineTable.open());
    await run.#table.create(rowsOf([1, 2, 3]));
    run.#model.branches[0]!.commit([1, 2, 3]);
    return run;
  }

  async close(): Promise<void> {
    await this.#table.close();
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'untag') return this.#untag(step.tag);
    const branch = pick(this.#model.branches, step.on);
    if (step.kind === 'unbranch') return this.#unbranch(branch);
    if (step.kind === 'forget') return this.#forget(branch, step.first, step.last);
    if (step.kind === 'delete') return this.#delete(branch, step.divisor);
    if ('values' in step) return this.#insert(branch, step.kind, step.values);
    const version = pick(branch.versions(), step.version);
    if (step.kind === 'branch') return this.#branch(branch, version);
    if (step.kind === 'tag') return this.#tag(branch, version);
    await this.#table.post('restore', { branch: branch.name, version });
    branch.commit(branch.rows(version)!);
  }

  async #insert(branch: ModelBranch, kind: 'insert' | 'overwrite', added: number[]): Promise<void> {
    const mode = kind === 'overwrite' ? '&mode=overwrite' : '';
    const sent = { body: streamOf(rowsOf(added)) };
    await this.#table.send(`insert?branch=${encodeURIComponent(branch.name)}${mode}`, sent);
    branch.commit(kind === 'overwrite' ? added : [...branch.headRows, ...added]);
  }

  async #delete(branch: ModelBranch, divisor: number): Promise<void> {
    const predicate = `n % ${divisor} = 0`;
    await this.#table.post('delete', { predicate, branch: branch.name });
    branch.commit(branch.headRows.filter((value) => value % divisor !== 0));
  }

  async #branch(from: ModelBranch, version: number): Promise<void> {
    const name = `b/${this.#names++}`;
    const body = { name, from_branch: from.name, from_version: version };
    await this.#table.post('branches/create', body);
    const { branches } = this.#model;
    branches.push(new ModelBranch(name, from, version, from.rows(version)!));
  }

  async #unbranch(branch: ModelBranch): Promise<void> {
    const work = this.#table.post('branches/delete', { name: branch.name });
    if (!this.#model.isFree(branch)) {
      expect(await refusalOf(work)).toMatch(/^1[39] the branch .* cannot be deleted: /);
      return;
    }
    await work;
    this.#model.branches.splice(this.#model.branches.indexOf(branch), 1);
  }

  async #tag(branch: ModelBranch, version: number): Promise<void> {
    const tag = `t${this.#names++}`;
    await this.#table.post('tags/create', { tag, version, branch: branch.name });
    this.#model.tags.set(tag, { branch, version });
  }

  async #untag(choice: number): Promise<void> {
    const { tags } = this.#model;
    if (tags.size === 0) return;
    const tag = pick([...tags.keys()], choice);
    await this.#table.post('tags/delete', { tag });
    tags.delete(tag);
  }

  async #forget(branch: ModelBranch, start: number, end: number): Promise<void> {
    const [first, last] = start <= end ? [start, end] : [end, start];
    const answer = await this.#table.post('version/delete', {
      ranges: [{ start_version: first, end_version: last }],
      branch: branch.name,
    });
    expect(answer).toEqual({ deleted_count: this.#model.forget(branch, first, last) });
  }

  /** Every version of every branch, and what each tag names. */
  async compare(): Promise<void> {
    for (const branch of this.#model.branches) {
      const { name } = branch;
      const listed = await this.#table.post(`version/list?branch=${encodeURIComponent(name)}`);
      const { versions } = listed as { versions: { version: number }[] };
      expect(versions.map(({ version }) => version)).toEqual(branch.versions());
      for (const version of branch.versions()) {
        expect(await this.#table.column('n', { branch: name, version })).toEqual(
          branch.rows(version),
        );
      }
      expect(await this.#table.column('n', { branch: name })).toEqual(branch.headRows);
    }
    for (const [tag, { version }] of this.#model.tags) {
      expect(await this.#table.post('describe', { tag })).toMatchObject({ version });
    }
  }

  /** Takes away all but the newest version of main: then no file of anything else is left. */
  async clear(): Promise<void> {
    for (const tag of this.#model.tags.keys()) await this.#table.post('tags/delete', { tag });
    const others = this.#model.branches.slice(1).toReversed();
    for (const { name } of others) await this.#table.post('branches/delete', { name });
    const ranges = [{ start_version: 0, end_version: -1 }];
    await this.#table.post('version/delete', { ranges });
    const main = this.#model.branches[0]!;
    expect(await this.#table.column('n')).toEqual(main.headRows);
    const { stats } = (await this.#table.post('describe')) as {
      stats: { num_fragments: number; num_deleted_rows: number };
    };
    // One manifest, one data file for each fragment, and at most as many lists of deleted rows.
    const files = (await this.#table.files()).length;
    expect(files).toBeGreaterThan(stats.num_fragments);
    expect(files).toBeLessThanOrEqual(1 + 2 * stats.num_fragments);
    if (stats.num_deleted_rows === 0) expect(files).toBe(1 + stats.num_fragments);
  }
}

function pick<Item>(items: readonly Item[], choice: number): Item {
  return items[choice % items.length]!;
}

function rowsOf(numbers: readonly number[]) {
  return { n: vectorFromArray(numbers, new Int32()) };
}
