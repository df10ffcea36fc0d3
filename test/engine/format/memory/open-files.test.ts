import { Field, Int64, Schema, vectorFromArray } from 'apache-arrow';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { batchOf } from '../../../../src/arrow/select.ts';
import { OpenFiles } from '../../../../src/engine/format/memory/open-files.ts';
import { firstFile } from '../../../../src/engine/format/snapshot.ts';
import { TryAgain } from '../../../../src/protocol/errors.ts';
import type { Storage } from '../../../../src/storage/storage.ts';
import { storeTable, type StoredTable } from '../../../support/stored-table.ts';

const schema = new Schema([new Field('id', new Int64(), false)]);

let stored: StoredTable;

beforeEach(async () => {
  stored = await storeTable(schema, [[batchOf(schema, [vectorFromArray([1n], new Int64())], 1)]]);
});

afterEach(() => stored.remove());

/** The storage of the table in a process that has no descriptor left for some attempts. */
function without(attempts: number): Storage {
  let left = attempts;
  return new Proxy(stored.snapshot.storage, {
    get(target, name) {
      if (name === 'open' && left-- > 0) {
        return () => {
          throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
        };
      }
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

async function rowsBy(files: OpenFiles): Promise<number> {
  const { snapshot } = stored;
  try {
    const file = firstFile(snapshot.folder, snapshot.fragments[0]!);
    return await files.use(file, async (opened) => (await opened.file.readBatch(0)).numRows);
  } finally {
    await files.close();
  }
}

it('waits until a file can be opened again', async () => {
  expect(await rowsBy(new OpenFiles(without(5)))).toBe(1);
});

it('refuses after a while, and tries anew for the next request', async () => {
  const files = new OpenFiles(without(1000));
  await expect(rowsBy(files)).rejects.toThrow(TryAgain);
  expect(await rowsBy(new OpenFiles(without(0)))).toBe(1);
});
