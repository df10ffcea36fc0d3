import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { Field, Schema, Struct, tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { FileWriter } from '../../../src/arrow/ipc/file-writer.ts';
import { firstHead } from '../../../src/audit/chain/hash-chain.ts';
import { batchOfData } from '../../../src/arrow/data.ts';
import {
  followBatch,
  openSegment,
  recordsOfSegment,
  UnfitSegment,
  writeSegment,
} from '../../../src/audit/segments/segment-file.ts';
import {
  batchOfRecords,
  hasRecordColumns,
  recordFields,
} from '../../../src/audit/record/columns.ts';
import { logTable } from '../../../src/audit/search/log-table.ts';
import { SegmentSums } from '../../../src/audit/segments/portions.ts';
import { sealText } from '../../../src/audit/segments/seal.ts';
import { searchRequests } from '../../../src/audit/search/search.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import type { AuditRecord, LoggedRecord } from '../../../src/audit/record/record.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { testFolders } from '../../support/folder.ts';
import { readAll, record } from '../records.ts';

const newFolder = testFolders();
const word = fc.option(fc.string({ unit: 'binary', maxLength: 6 }), { nil: null });
const int = fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { nil: null });
const name = fc.string({ maxLength: 4 });
const anything = fc.record<Partial<AuditRecord>>({
  phase: fc.constantFrom('attempt', 'outcome'),
  duration_us: int,
  subject: word,
  principal: fc.option(
    fc.record({
      subject: name,
      groups: fc.array(name, { maxLength: 3 }),
      roles: fc.array(name, { maxLength: 2 }),
      scopes: fc.option(fc.array(fc.record({ action: name, pattern: name })), { nil: null }),
    }),
    { nil: null },
  ),
  objects: fc.array(name, { maxLength: 3 }),
  status: fc.option(fc.integer({ min: 100, max: 599 }), { nil: null }),
  bytes_in: int,
  restrictions: fc.array(name, { maxLength: 2 }),
  read: fc.option(
    fc.record({
      columns: fc.array(name, { maxLength: 3 }),
      rows: fc.bigInt({ min: 0n, max: 2n ** 62n }),
      version: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      filter: word,
    }),
    { nil: null },
  ),
  vended: fc.option(fc.record({ prefix: name, access: name, until: word }), { nil: null }),
  context: fc.dictionary(name, fc.string(), { noNullPrototype: true }),
  commit: fc.option(
    fc.record({
      kind: name,
      baseVersion: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: null }),
      version: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { nil: null }),
      rowsAdded: fc.bigInt({ min: 0n, max: 2n ** 62n }),
      rowsRemoved: fc.bigInt({ min: 0n, max: 2n ** 62n }),
      schemaChanged: fc.boolean(),
      rules: fc.array(name, { maxLength: 2 }),
      table: word,
      rowsChanged: fc.bigInt({ min: 0n, max: 2n ** 62n }),
      columns: fc.array(name, { maxLength: 3 }),
      statement: word,
    }),
    { nil: null },
  ),
});

interface Lines {
  readonly instance: string;
  readonly path: string;
  readonly records: readonly LoggedRecord[];
}

async function linesOf(records: readonly AuditRecord[]): Promise<Lines> {
  const folder = await newFolder();
  const log = await openAuditLog({ folder, rotateBytes: 2 ** 30 });
  for (const each of records) await log.write(each, false);
  await log.close();
  const [instance] = await readdir(folder);
  const path = join(folder, instance!, '00000001.jsonl');
  return { instance: instance!, path, records: await readAll(folder) };
}

async function recordsIn(path: string): Promise<readonly LoggedRecord[]> {
  const records: LoggedRecord[] = [];
  for await (const each of recordsOfSegment(path)) records.push(each);
  return records;
}

describe('a sealed segment', () => {
  it('may be made by two at once, whatever the numbers of their processes', async () => {
    const { instance, path, records } = await linesOf([record('a'), record('b')]);
    const made = [1, 2].map(() => writeSegment(path, `${path}.arrow`, firstHead(instance)));
    const [one, other] = await Promise.all(made);
    expect(one).toEqual(other);
    expect(await recordsIn(`${path}.arrow`)).toEqual(records);
  });

  it('has every field of every record as it was', async () => {
    const some = fc.array(anything, { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(some, async (fields) => {
        const given = fields.map((each, index) => record(`r${index}`, each));
        const { instance, path, records } = await linesOf(given);
        const { after } = await writeSegment(path, `${path}.arrow`, firstHead(instance));
        expect(await recordsIn(`${path}.arrow`)).toEqual(records);
        expect(after).toEqual({ count: BigInt(given.length), hash: records.at(-1)!.hash });
      }),
      { numRuns: 40 },
    );
  });

  it('is an Arrow file that says when its records were, in batches', async () => {
    const times = ['2026-02-01T00:00:00.000002Z', '2026-01-31T00:00:00.000001Z'];
    const many = Array.from({ length: 20_000 }, (_, at) =>
      record(`r${at}`, { time: times[at % 2]! }),
    );
    const { instance, path, records } = await linesOf(many);
    expect(records.slice(20_000)).toEqual([]);
    const { from, to } = await writeSegment(path, `${path}.arrow`, firstHead(instance));
    expect([from, to]).toEqual(times.toReversed());
    const table = tableFromIPC(await readFile(`${path}.arrow`));
    expect([table.numRows, table.batches.length]).toEqual([20_000, 2]);
    expect(table.get(19_999)?.toJSON()).toMatchObject({
      request_id: 'r19999',
      operation: 'DescribeTable',
    });
  });

  it('passes over a record that a crash tore', async () => {
    const { instance, path, records } = await linesOf([record('r1'), record('r2')]);
    await appendFile(path, '{"instance":"');
    await writeSegment(path, `${path}.arrow`, firstHead(instance));
    expect(await recordsIn(`${path}.arrow`)).toEqual(records);
  });

  it('of another version of the program is not read as if it were of this one', async () => {
    const path = join(await newFolder(), '00000001.arrow');
    const fields = recordFields.filter(({ name }) => name !== 'shadow');
    const writer = new FileWriter(new Schema([...fields]));
    await writeFile(path, Buffer.concat([writer.begin(), writer.end()]));
    await expect(recordsIn(path)).rejects.toThrow(
      `the segment ${path} has other columns: another version of the program wrote it, and this one cannot read it`,
    );
  });

  it('is not made of a file in which the chain does not hold', async () => {
    const { instance, path } = await linesOf([record('r1'), record('r2')]);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('"r2"', '"r3"'));
    const made = writeSegment(path, `${path}.arrow`, firstHead(instance));
    await expect(made).rejects.toThrow(UnfitSegment);
    await expect(readFile(`${path}.arrow`)).rejects.toThrow('ENOENT');
  });
});

const LATER = new Set(['restrictions', 'read', 'vended', 'canary']);
/** Parts of a commit in the first segments. */
const FIRST_PARTS = 7;

/** A segment as the first versions of the program made it, without restrictions, reads and canaries. */
function firstSegment(records: readonly LoggedRecord[]): Buffer {
  const at = recordFields.findIndex(({ name: column }) => column === 'commit');
  const { type } = recordFields[at]!;
  const parts: Field[] = type.children.slice(0, FIRST_PARTS);
  const old = new Struct(parts);
  const kept = recordFields.filter(({ name: column }) => !LATER.has(column));
  const schema = new Schema(kept.with(at, new Field('commit', old, true)));
  const { data } = batchOfRecords(new Schema([...recordFields]), records);
  const commit = data.children[at]!;
  const children = commit.children.slice(0, FIRST_PARTS);
  const cut = commit.clone(old, 0, commit.length, commit.nullCount, commit.buffers, children);
  const batch = batchOfData(
    schema,
    data.children.slice(0, kept.length).with(at, cut),
    records.length,
  );
  const writer = new FileWriter(schema);
  return Buffer.concat([writer.begin(), ...writer.batch(batch), writer.end()]);
}

describe('a segment of a version that said less of commits', () => {
  it('is read, searched and followed as before', async () => {
    const commit = {
      kind: 'update',
      baseVersion: 1n,
      version: 2n,
      rowsAdded: 0n,
      rowsRemoved: 0n,
      schemaChanged: false,
      rules: ['r'],
    };
    const { instance, path, records } = await linesOf([
      record('one'),
      record('two', { phase: 'outcome', duration_us: 0, commit, decision: 'allow' }),
    ]);
    expect(await readFile(path, 'utf8')).not.toContain('rows_changed');
    const segment = path.replace('jsonl', 'arrow');
    await writeFile(segment, firstSegment(records));
    expect(await recordsIn(segment)).toEqual(records);
    const opened = await openSegment(segment);
    const walked = followBatch(firstHead(instance), await opened.file.readBatch(0));
    opened.close();
    expect([walked.head.count, walked.broken]).toEqual([2n, undefined]);

    const key = await readOrMakeSigningKey(join(await newFolder(), 'key.pem'));
    const { time } = records[0]!;
    const sums = new SegmentSums();
    sums.add(await readFile(segment));
    const portions = sums.text();
    const place = { instance, file: '00000001.arrow', sha256: '', from: time, to: time, portions };
    const seal = sealText(key, { ...place, before: firstHead(instance), after: walked.head });
    await writeFile(path.replace('jsonl', 'seal'), seal);
    await rm(path);
    const folder = join(path, '..', '..');
    const [part] = await logTable(folder).parts();
    const open = await part!.open();
    const later = await open.read(0, ['read', 'phase', 'restrictions', 'canary']);
    expect(later.getChildAt(0)!.get(1)).toBe(null);
    expect([later.getChildAt(1)!.get(1), later.getChildAt(2)!.get(1)!.length]).toEqual([
      'outcome',
      0,
    ]);
    expect(later.getChildAt(3)!.get(1)).toBe(null);
    const without = (columns: number) => hasRecordColumns(recordFields.slice(0, -columns));
    expect([1, 2, 3, 4].map(without)).toEqual([true, true, false, true]);
    const read = await open.read(0, ['commit']);
    expect(read.schema.fields[0]!.type.children.length).toBeGreaterThan(FIRST_PARTS);
    expect(read.getChildAt(0)!.get(1)!.toJSON()).toMatchObject({
      kind: 'update',
      rows_changed: null,
    });
    await open.close();
    const found: string[] = [];
    for await (const some of searchRequests(folder, {})) {
      found.push(...some.map((each) => each.record.request_id));
    }
    expect(found).toContain('two');
    for await (const some of searchRequests(folder, { column: 'id' })) expect(some).toEqual([]);
  });
});
