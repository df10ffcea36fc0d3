import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DecidedRequest } from '../../../src/audit/decided/request.ts';
import type { AuditRecord } from '../../../src/audit/record/record.ts';
import { readRequests, type Period } from '../../../src/audit/decided/reader.ts';
import { sealFinished } from '../../../src/audit/segments/sealing.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey } from '../../../src/audit/signing/keys.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { testFolders } from '../../support/folder.ts';
import { record } from '../records.ts';

const newFolder = testFolders();

async function written(records: readonly AuditRecord[], rotateBytes = 2 ** 20): Promise<string> {
  const folder = join(await newFolder(), 'audit');
  const log = await openAuditLog({ folder, rotateBytes });
  for (const each of records) await log.write(each, true);
  await log.close();
  return folder;
}

async function sealed(folder: string): Promise<void> {
  await sealFinished({
    folder,
    own: '',
    key: await readOrMakeSigningKey(join(folder, '..', 'key.pem')),
    staleMillis: -1e9,
    retainMillis: 1e15,
    write: writeSegment,
  });
}

async function read(folder: string, period?: Period): Promise<readonly DecidedRequest[]> {
  const all: DecidedRequest[] = [];
  for await (const requests of readRequests(folder, period)) all.push(...requests);
  return all;
}

const idsOf = (requests: readonly DecidedRequest[]) => requests.map((one) => one.decisionId);

function pair(id: string, minute: number, more: Partial<AuditRecord> = {}): readonly AuditRecord[] {
  const time = `2026-01-31T10:${String(minute).padStart(2, '0')}:00.000001Z`;
  return [
    record(id, { ...more, time }),
    record(id, { ...more, time, phase: 'outcome', duration_us: 500n, status: 200 }),
  ];
}

const text = fc.string({ unit: 'binary', maxLength: 12 });
const nasty = fc.oneof(
  text,
  fc.constantFrom('","operation":"x', ',"status":', '\\","context":{', '"phase":"outcome"', '\n'),
  // A caller may call a key of a context like a field of the record.
  fc.constantFrom('commit', 'context', 'status', 'hash', 'time'),
);

describe('the requests of a log', () => {
  it('are each there once: by the outcome, or by the attempt that has none', async () => {
    const folder = await written([...pair('a', 1), record('lost'), ...pair('b', 2)], 1500);
    expect((await read(folder)).map((one) => [one.decisionId, one.phase])).toEqual([
      ['a', 'outcome'],
      ['b', 'outcome'],
      ['lost', 'attempt'],
    ]);
    await sealed(folder);
    expect(idsOf(await read(folder)).sort()).toEqual(['a', 'b', 'lost']);
  });

  it('are each there once where a later start wrote the outcome', async () => {
    const [[lost, outcome], other] = [pair('lost', 1), pair('other', 2)];
    const folder = await written([lost!, ...other]);
    const later = await openAuditLog({ folder, rotateBytes: 2 ** 20 });
    await later.write(outcome!, true);
    await later.close();
    const all = (await read(folder)).map((one) => `${one.decisionId} ${one.phase}`);
    expect(all.toSorted()).toEqual(['lost outcome', 'other outcome']);
  });

  it('are those of the period alone', async () => {
    const folder = await written(
      [1, 2, 3, 4].flatMap((minute) => pair(`r${minute}`, minute)),
      1500,
    );
    const period = { since: '2026-01-31T10:02:00.000000Z', until: '2026-01-31T10:04:00.000000Z' };
    expect(idsOf(await read(folder, period))).toEqual(['r2', 'r3']);
    await sealed(folder);
    expect(idsOf(await read(folder, period))).toEqual(['r2', 'r3']);
    expect(idsOf(await read(folder, { since: '2026-02-01T00:00:00.000000Z' }))).toEqual([]);
  });

  it('are the same from lines and from a segment, whatever is in them', async () => {
    const anything = fc.record({
      user_agent: nasty,
      subject: nasty,
      source_ip: nasty,
      object: nasty,
      rule: fc.option(nasty, { nil: null }),
      principal: fc.record({
        subject: nasty,
        groups: fc.array(nasty, { maxLength: 2 }),
        roles: fc.array(nasty, { maxLength: 2 }),
        scopes: fc.constant(null),
      }),
      context: fc.dictionary(nasty, nasty, { noNullPrototype: true, maxKeys: 3 }),
      rights: fc.array(
        fc.record({
          action: nasty,
          branch: fc.option(nasty, { nil: null }),
          objects: fc.array(nasty, { maxLength: 2 }),
        }),
        { maxLength: 2 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { minLength: 1, maxLength: 8 }), async (given) => {
        const records = given.flatMap((more, at) => pair(`r${at}`, at, more));
        const folder = await written(records);
        const lines = await read(folder);
        await sealed(folder);
        const rows = await read(folder);
        expect(rows.map((one) => one.record())).toEqual(
          lines.map((one) => expect.objectContaining(rowPart(one))),
        );
        expect(rows.map((one) => one.conditionInputs())).toEqual(
          lines.map((one) => one.conditionInputs()),
        );
        const likes = (requests: readonly DecidedRequest[]) =>
          requests.map((one) => requests.findIndex(({ key }) => key === one.key));
        expect(likes(rows)).toEqual(likes(lines));
        for (const [at, more] of given.entries()) {
          expect(lines[at]!.record()).toMatchObject(more);
          expect(lines[at]!.conditionInputs()).toMatchObject({
            ip: more.source_ip,
            context: more.context,
          });
        }
      }),
      { numRuns: 15 },
    );
  });
});

/** What a row has of a line's record. */
function rowPart(request: DecidedRequest): object {
  const { principal, operation, object, rule, rights, decision, time, duration_us } =
    request.record();
  return { principal, operation, object, rule, rights, decision, time, duration_us };
}
