import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Schema } from 'apache-arrow';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openFile } from '../../../src/arrow/ipc/file-reader.ts';
import { FileWriter } from '../../../src/arrow/ipc/file-writer.ts';
import { anchorFile } from '../../../src/audit/checkpoints/places.ts';
import { batchOfRecords, recordFields } from '../../../src/audit/record/columns.ts';
import type { LoggedRecord } from '../../../src/audit/record/record.ts';
import { sealFinished } from '../../../src/audit/segments/sealing.ts';
import { recordsOfSegment, writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import {
  verifyLog,
  type VerificationResult,
} from '../../../src/audit/verification/verification.ts';
import { readTrustedCheckpoints } from '../../../src/audit/checkpoints/trusted.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { testFolders } from '../../support/folder.ts';
import { record } from '../records.ts';

/* Every kind of tampering at random places of a log that is sealed but for its last file. */

const RECORDS = 60;
const newFolder = testFolders();

/** A part of a log whose records can be replaced. */
interface Part {
  readonly path: string;
  /** How many records come before it. */
  readonly before: number;
  readonly records: readonly LoggedRecord[];
  write(records: readonly LoggedRecord[]): Promise<void>;
}

interface Log {
  readonly parts: readonly Part[];
  verify(): Promise<VerificationResult>;
}

async function sealedLog(): Promise<Log> {
  const root = await newFolder();
  const [folder, anchor] = [join(root, 'audit'), join(root, 'anchor.jsonl')];
  const key = await readOrMakeSigningKey(join(root, 'key.pem'));
  const checkpoints = { key, places: [anchorFile(anchor)], failed: () => undefined };
  const log = await openAuditLog({ folder, rotateBytes: 9000, checkpoints });
  for (let at = 0; at < RECORDS; at++) await log.write(record(`r${at}`), at % 7 === 0);
  await log.close();
  const own = log.instance;
  await sealFinished({
    folder,
    key,
    own,
    staleMillis: 1e12,
    retainMillis: 1e12,
    write: writeSegment,
  });
  const names = (await readdir(join(folder, own))).filter((name) => name.endsWith('.arrow'));
  const parts: Part[] = [];
  for (const name of names.sort())
    parts.push(await segmentPart(join(folder, own, name), parts.at(-1)));
  return {
    parts,
    verify: async () =>
      verifyLog(folder, await readTrustedCheckpoints([anchorFile(anchor)], [key.public])),
  };
}

async function segmentPart(path: string, previous: Part | undefined): Promise<Part> {
  const records: LoggedRecord[] = [];
  for await (const each of recordsOfSegment(path)) records.push(each);
  const before = previous === undefined ? 0 : previous.before + previous.records.length;
  return { path, before, records, write: (changed) => writeFile(path, segmentOf(changed)) };
}

function segmentOf(records: readonly LoggedRecord[]): Buffer {
  const schema = new Schema([...recordFields]);
  const writer = new FileWriter(schema);
  const pieces = [writer.begin(), ...writer.batch(batchOfRecords(schema, records)), writer.end()];
  return Buffer.concat(pieces);
}

/** The places of all bytes that can say how many rows a file has: those before its columns that are not its schema, and its footer. */
function* placesOfCounts(bytes: Buffer): Generator<number> {
  const footer = bytes.length - 10 - bytes.readInt32LE(bytes.length - 10);
  const batch = 8 + bytes.readInt32LE(12) + 8;
  const columns = batch + 8 + bytes.readInt32LE(batch + 4);
  for (let at = batch; at < columns; at++) yield at;
  for (let at = footer; at < bytes.length - 10; at++) yield at;
}

async function rowsOf(bytes: Buffer): Promise<number> {
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    const copy = new Uint8Array(length);
    copy.set(bytes.subarray(offset, offset + length));
    return copy;
  };
  return (await openFile({ size: bytes.length, read })).rows;
}

/** What is done to the record at a place, and what is to be found. */
interface Change {
  readonly kind: 'edited' | 'removed' | 'reordered';
  apply(records: readonly LoggedRecord[], at: number, other: number): readonly LoggedRecord[];
}

const changes: Readonly<Record<string, Change>> = {
  'a field': {
    kind: 'edited',
    apply: (records, at) => records.with(at, { ...records[at]!, object: '/prod/others' }),
  },
  'a hash': {
    kind: 'edited',
    apply: (records, at) => records.with(at, { ...records[at]!, hash: 'x'.repeat(43) }),
  },
  'a number, to a later one': {
    kind: 'edited',
    apply: (records, at, other) => renumbered(records, at, BigInt(other + 1)),
  },
  'a number, to an earlier one': {
    kind: 'edited',
    apply: (records, at, other) => renumbered(records, at, -BigInt(other + 1)),
  },
  'some records, taken out': {
    kind: 'removed',
    apply: (records, at, other) => records.toSpliced(at, 1 + (other % 3)),
  },
  'two records, exchanged': {
    kind: 'reordered',
    apply: (records, at, other) => {
      const to = other === at ? (at + 1) % records.length : other;
      return records.with(at, records[to]!).with(to, records[at]!);
    },
  },
};

function renumbered(records: readonly LoggedRecord[], at: number, by: bigint) {
  const changed = records[at]!;
  return records.with(at, { ...changed, sequence: changed.sequence + by });
}

describe('a sealed segment of an audit log', () => {
  it.each(Object.entries(changes))('is found out when %s was changed', async (_, change) => {
    const log = await sealedLog();
    const places = fc.record({
      part: fc.nat(log.parts.length - 1),
      at: fc.nat(1000),
      other: fc.nat(1000),
    });
    await fc.assert(
      fc.asyncProperty(places, async (place) => {
        const part = log.parts[place.part]!;
        const { records } = part;
        const [at, other] = [place.at % records.length, place.other % records.length];
        const changed = change.apply(records, at, other);
        await part.write(changed);
        const { findings } = await log.verify();
        await part.write(records);
        const first = records.findIndex((each, index) => each !== changed[index]);
        expect(findings).toMatchObject([
          { kind: change.kind, file: part.path, sequence: BigInt(part.before + first + 1) },
        ]);
      }),
      { numRuns: 25 },
    );
  });

  it('is found out when a record was moved into another segment', async () => {
    const log = await sealedLog();
    const [one, other] = log.parts as [Part, Part];
    await one.write(one.records.with(2, other.records[1]!));
    await other.write(other.records.with(1, one.records[2]!));
    expect((await log.verify()).findings).toMatchObject([
      { kind: 'reordered', file: one.path, sequence: 3n },
    ]);
  });

  it('is found out when a byte is another, wherever it is', async () => {
    const log = await sealedLog();
    const [, part] = log.parts as [Part, Part];
    const bytes = await readFile(part.path);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(bytes.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, mask) => {
          const other = Buffer.from(bytes);
          other[at]! ^= mask;
          await writeFile(part.path, other);
          const found = [{ kind: 'edited', file: part.path }];
          expect((await log.verify()).findings).toMatchObject(found);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('is edited, not cut, when any byte hides records that are there still', async () => {
    const log = await sealedLog();
    const [, part] = log.parts as [Part, Part];
    const bytes = await readFile(part.path);
    const told: string[] = [];
    for (const at of placesOfCounts(bytes)) {
      for (const mask of [1, 255]) {
        const other = Buffer.from(bytes);
        other[at]! ^= mask;
        const rows = await rowsOf(other).catch(() => part.records.length);
        if (rows >= part.records.length) continue;
        await writeFile(part.path, other);
        const { findings } = await log.verify();
        const [first, last] = [part.before + rows + 1, part.before + part.records.length];
        expect(findings).toMatchObject([{ kind: 'edited', file: part.path }]);
        if (findings[0]!.text !== 'the file cannot be read any more') {
          expect(findings[0]!.sequence).toBe(BigInt(first));
          const text = `the file was edited to hide its records from ${first} to ${last}`;
          expect(findings[0]!.text).toBe(text);
        }
        told.push(findings[0]!.text);
      }
    }
    expect(new Set(told).size).toBe(2);
    await part.write(part.records.slice(0, -2));
    expect((await log.verify()).findings).toMatchObject([{ kind: 'removed' }]);
  });
});
