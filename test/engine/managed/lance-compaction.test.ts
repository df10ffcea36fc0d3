import { Int64, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type {
  LanceLibrary,
  LanceVersions,
} from '../../../src/engine/versions/managed/lance-library.ts';
import { streamOf } from '../../support/engine-table.ts';
import { freshEngine, type TestEngine } from '../../support/engine.ts';
import { libraryAccess } from '../../support/lance-access.ts';
import { bytesOf } from '../../support/query-answer.ts';
import { ask } from '../../support/request.ts';

/** Compactions of Lance tables between whose steps other writers commit. */

let engine: TestEngine;
let closeLibrary: () => Promise<void>;
/** Called before each commit of a compaction. */
let beforeCommit: () => Promise<void>;
/** Commits of compactions that were tried. */
let tried: number;

beforeEach(async () => {
  const access = await libraryAccess();
  closeLibrary = () => access.close();
  const lance = { library: besideOthers(access.library!), instead: access.instead };
  engine = await freshEngine({ lance, formatOf: () => 'lance' });
  beforeCommit = async () => undefined;
  tried = 0;
  await send('create', streamOf({ n: numbers(0, 10) }));
  for (let at = 1; at < 4; at++) await send('insert', streamOf({ n: numbers(10 * at, 10) }));
});

afterEach(async () => {
  await engine.close();
  await closeLibrary();
});

/** The same library, with others at work before each commit of a compaction. */
function besideOthers(library: LanceLibrary): LanceLibrary {
  const waiting = (versions: LanceVersions): LanceVersions => ({
    ...versions,
    create: async (...version) => {
      tried += 1;
      await beforeCommit();
      return versions.create(...version);
    },
  });
  const change: LanceLibrary['change'] = (place, asked, rows, versions, statement) => {
    const known = asked.kind === 'compact' ? waiting(versions) : versions;
    return library.change(place, asked, rows, known, statement);
  };
  return new Proxy(library, {
    get: (target, name) => {
      if (name === 'change') return change;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function numbers(first: number, count: number) {
  return vectorFromArray(
    Array.from({ length: count }, (_, at) => BigInt(first + at)),
    new Int64(),
  );
}

async function send(action: string, body: object | Uint8Array) {
  return ask(engine.backend, `POST /v1/table/t/${action}`, { body });
}

async function rows(): Promise<readonly number[]> {
  const { body } = await send('query', { vector: [], k: -1 });
  const found = tableFromIPC(await bytesOf(body as AsyncIterable<Uint8Array>)).getChild('n')!;
  return [...found].map(Number).toSorted((one, other) => one - other);
}

async function fragments(): Promise<number> {
  const { json } = await send('stats', {});
  return (json as { fragment_stats: { num_fragments: number } }).fragment_stats.num_fragments;
}

const compact = () => engine.upkeep!.compact(['t']);
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

it('merges fragments', async () => {
  expect(await compact()).toEqual({ merged: 4, made: 1 });
  expect([await fragments(), await rows()]).toEqual([1, upTo(40)]);
});

it('leaves a branch alone to which nobody has written', async () => {
  await send('branches/create', { name: 'dev' });
  await send('branches/create', { name: 'other' });
  await send('insert?branch=other', streamOf({ n: numbers(40, 1) }));
  expect(await compact()).toEqual({ merged: 9, made: 2 });
  const count = async (branch: string) => (await send('count_rows', { branch })).json;
  expect([await count('dev'), await count('other'), await rows()]).toEqual([40, 41, upTo(40)]);
});

it('merges the fragments that it read, and keeps rows that were added meanwhile', async () => {
  let next = 40;
  beforeCommit = async () => {
    if (next < 43) await send('insert', streamOf({ n: numbers(next++, 1) }));
  };
  expect(await compact()).toEqual({ merged: 4, made: 1 });
  expect(tried).toBeGreaterThan(next - 40);
  expect(await rows()).toEqual(upTo(next));
});

it.each([1, 2, 3, 4])(
  'loses no deletion that comes before its commit %i, and merges anew',
  async (which) => {
    beforeCommit = async () => {
      if (tried === which) await send('delete', { predicate: 'n IN (3, 17)' });
    };
    expect(await compact()).toEqual({ merged: 4, made: 1 });
    const left = tried < which ? upTo(40) : upTo(40).filter((n) => n !== 3 && n !== 17);
    expect([await fragments(), await rows()]).toEqual([1, left]);
  },
);

it('is given up where others change its fragments each time', async () => {
  let n = 0;
  beforeCommit = async () => {
    // Its first commit reserves numbers of fragments, its second one merges.
    if (tried % 2 === 0) await send('delete', { predicate: `n = ${n++}` });
  };
  const refused = await compact().then(String, String);
  expect(refused).toContain('table /t was changed meanwhile');
  expect(n).toBeGreaterThan(2);
  expect(await rows()).toEqual(upTo(40).slice(n));
  beforeCommit = async () => undefined;
  expect(await compact()).toEqual({ merged: 4, made: 1 });
});
