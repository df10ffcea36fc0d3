import { disk } from '../../support/disk.ts';
import { randomUUID } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Int64, tableFromIPC, vectorFromArray } from 'apache-arrow';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { VersionReader } from '../../../src/engine/catalog/records/version-reader.ts';
import { everyVersion } from '../../../src/engine/catalog/records/version-walk.ts';
import type { VersionRecord } from '../../../src/engine/format/records.ts';
import { collect, tableFiles } from '../../support/dropped.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { streamOf } from '../../support/engine-table.ts';
import { listedRows } from '../../support/listed-rows.ts';
import { bytesOf, rowsOf } from '../../support/query-answer.ts';
import { ask } from '../../support/request.ts';
import { casesOf } from '../../support/cases.ts';

/** One table as it must be: the values of each version, from 1. */
interface Modelled {
  readonly versions: Map<number, readonly number[]>;
  readonly tags: Map<string, number>;
  newest: number;
}

/** What is done to one table. */
type TableStep =
  | { readonly kind: 'append' | 'overwrite' | 'drop' | 'undrop'; readonly name: string }
  | { readonly kind: 'delete'; readonly name: string; readonly value: number }
  | { readonly kind: 'tag'; readonly name: string; readonly tag: string; readonly back: number }
  | { readonly kind: 'forget'; readonly name: string; readonly upTo: number };

type Step =
  | TableStep
  | { readonly kind: 'plant' | 'collect' | 'purge' }
  | { readonly kind: 'expire'; readonly keepLast: number };

/** Tables that are written, dropped, brought back and collected, and what they must hold. */
class Model {
  readonly #engine: TestEngine;
  readonly #tables = new Map<string, Modelled>();
  readonly #dropped: { readonly name: string; readonly table: Modelled }[] = [];
  #next = 1;

  constructor(engine: TestEngine) {
    this.#engine = engine;
  }

  async step(step: Step): Promise<void> {
    if (step.kind === 'plant') return this.#plant();
    if (step.kind === 'collect') return this.#collect(1e9);
    if (step.kind === 'purge') return this.#collect(0);
    if (step.kind === 'expire') return this.#expire(step.keepLast);
    if ('name' in step) return this.#tableStep(step);
  }

  async #tableStep(step: TableStep): Promise<void> {
    const table = this.#tables.get(step.name);
    if (step.kind === 'undrop') return this.#undrop(step.name);
    if (table === undefined) return this.#create(step.name);
    if (step.kind === 'drop') return this.#drop(step.name, table);
    if (step.kind === 'tag') return this.#tag(step.name, table, step.tag, step.back);
    if (step.kind === 'forget') return this.#forget(step.name, table, step.upTo);
    if (step.kind === 'delete') return this.#delete(step.name, table, step.value);
    return this.#write(step.name, table, step.kind);
  }

  /** Everything that must be readable is, and nothing is amiss. */
  async check(): Promise<void> {
    for (const [name, table] of this.#tables) {
      for (const [version, values] of table.versions) {
        expect(await this.#values(name, version), `${name} ${version}`).toEqual(values);
      }
    }
    expect((await this.#engine.upkeep!.verifier.verify()).findings).toEqual([]);
  }

  #send(name: string, action: string, body: Uint8Array | object = {}) {
    return ask(this.#engine.backend, `POST /v1/table/${name}/${action}`, { body });
  }

  /** A row of a table; the versions of one of them have lists of fragments. */
  #row(name: string, value: number): Uint8Array {
    if (name === 'listed') return listedRows(value);
    return streamOf({ n: vectorFromArray([BigInt(value)], new Int64()) });
  }

  async #values(name: string, version: number): Promise<readonly number[]> {
    const { body } = await this.#send(name, 'query', { vector: [], version, columns: ['n'] });
    return rowsOf(tableFromIPC(await bytesOf(body))).map(({ n }) => Number(n));
  }

  async #create(name: string): Promise<void> {
    const value = this.#next++;
    await this.#send(name, 'create', this.#row(name, value));
    this.#tables.set(name, { versions: new Map([[1, [value]]]), tags: new Map(), newest: 1 });
  }

  async #write(name: string, table: Modelled, kind: 'append' | 'overwrite'): Promise<void> {
    const value = this.#next++;
    const before = kind === 'append' ? table.versions.get(table.newest)! : [];
    await this.#send(name, `insert?mode=${kind}`, this.#row(name, value));
    table.versions.set(++table.newest, [...before, value]);
  }

  async #delete(name: string, table: Modelled, value: number): Promise<void> {
    const before = table.versions.get(table.newest)!;
    const left = before.filter((each) => each % 3 !== value);
    await this.#send(name, 'delete', { predicate: `n % 3 = ${value}` });
    const { json } = await this.#send(name, 'describe');
    const { version } = json as { version: number };
    table.newest = version;
    table.versions.set(version, left);
  }

  async #tag(name: string, table: Modelled, tag: string, back: number): Promise<void> {
    const known = [...table.versions.keys()];
    const version = known[Math.max(0, known.length - 1 - back)]!;
    await this.#send(name, table.tags.has(tag) ? 'tags/update' : 'tags/create', { tag, version });
    table.tags.set(tag, version);
  }

  async #forget(name: string, table: Modelled, upTo: number): Promise<void> {
    const ranges = [{ start_version: 0, end_version: upTo }];
    await this.#send(name, 'version/delete', { ranges });
    const tagged = new Set(table.tags.values());
    for (const version of table.versions.keys()) {
      if (version < upTo && version !== table.newest && !tagged.has(version)) {
        table.versions.delete(version);
      }
    }
  }

  async #expire(keepLast: number): Promise<void> {
    let expected = 0;
    for (const { versions, tags } of this.#tables.values()) {
      const tagged = new Set(tags.values());
      const last = new Set([...versions.keys()].slice(-keepLast));
      for (const version of versions.keys()) {
        if (last.has(version) || tagged.has(version)) continue;
        versions.delete(version);
        expected += 1;
      }
    }
    const expiry = { policy: { keepForMillis: 0, keepLast } };
    const { versions, failures } = await collect(this.#engine, { retentionMillis: 1e9, expiry });
    expect({ versions, failures }).toEqual({ versions: expected, failures: [] });
  }

  async #drop(name: string, table: Modelled): Promise<void> {
    await this.#send(name, 'drop');
    this.#tables.delete(name);
    this.#dropped.push({ name, table });
    // Of two that were dropped in the same millisecond it is not known which is newer.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }

  async #undrop(name: string): Promise<void> {
    const at = this.#dropped.findLastIndex((each) => each.name === name);
    const back = this.#engine.upkeep!.dropped.undrop([name]);
    if (at < 0 || this.#tables.has(name)) {
      await expect(back).rejects.toThrow();
      return;
    }
    await back;
    this.#tables.set(name, this.#dropped[at]!.table);
    this.#dropped.splice(at, 1);
  }

  /** Leaves a file behind as a writer would that was killed. */
  async #plant(): Promise<void> {
    const [any] = await tableFiles(this.#engine.data);
    if (any === undefined) return;
    const path = join(
      this.#engine.data,
      'tables',
      any.slice(0, 36),
      'data',
      `${randomUUID()}.arrow`,
    );
    await writeFile(path, 'left over');
    await utimes(path, new Date(1), new Date(1));
  }

  /** Afterwards there is on disk what the versions of live and dropped tables name, and nothing else. */
  async #collect(retentionMillis: number): Promise<void> {
    const { failures, waiting } = await collect(this.#engine, { retentionMillis });
    expect({ failures, waiting }).toEqual({ failures: [], waiting: 0 });
    if (retentionMillis === 0) this.#dropped.length = 0;
    const named = new Set<string>();
    const ids = new Set((await tableFiles(this.#engine.data)).map((path) => path.slice(0, 36)));
    expect(ids.size).toBe(this.#tables.size + this.#dropped.length);
    for (const id of ids) {
      for await (const { record } of everyVersion(this.#engine.store, id)) {
        for (const path of await this.#pathsOf(id, record)) named.add(join(id, path));
      }
    }
    const kept = (await tableFiles(this.#engine.data)).filter(
      // What lies in the folder of a dropped table goes with it.
      (path) => named.has(path) || this.#dropped.length === 0,
    );
    expect(kept).toEqual([...named].toSorted());
  }

  async #pathsOf(id: string, record: VersionRecord): Promise<readonly string[]> {
    const folder = join(this.#engine.data, 'tables', id);
    const named = await new VersionReader(disk).named(folder, record);
    return [...named, record.manifest];
  }
}

const name = fc.constantFrom('plain', 'listed');
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('append', 'overwrite'), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('drop', 'undrop'), name }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('delete'), name, value: fc.nat({ max: 2 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('tag'),
      name,
      tag: fc.constantFrom('v', 'w'),
      back: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('forget'), name, upTo: fc.nat({ max: 12 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('expire'), keepLast: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('plant', 'collect', 'purge') }) },
);

it('keeps what can be read or brought back, and nothing else', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 40 }), async (all) => {
      const engine = await freshEngine();
      try {
        const model = new Model(engine);
        for (const step of all) await model.step(step);
        await model.check();
        await model.step({ kind: 'purge' });
        await model.check();
      } finally {
        await engine.close();
      }
    }),
    { numRuns: casesOf(5, 12) },
  );
});
