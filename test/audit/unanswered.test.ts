import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BlockMemory } from '../../src/audit/chain/block.ts';
import { HashChain } from '../../src/audit/chain/hash-chain.ts';
import { readAttemptsNote } from '../../src/audit/instances/attempts-note.ts';
import { recordText } from '../../src/audit/record/encoding.ts';
import { resolveAttempts, type ResolutionOptions } from '../../src/audit/resolution.ts';
import { writeSegment } from '../../src/audit/segments/segment-file.ts';
import { sealFinished } from '../../src/audit/segments/sealing.ts';
import { readOrMakeSigningKey } from '../../src/audit/signing/keys.ts';
import { bytesToExamine, unansweredAttempts } from '../../src/audit/unanswered.ts';
import { openAuditLog, type AuditLog } from '../../src/audit/writer.ts';
import { ownMark } from '../../src/store/process-mark.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { readAll, record } from './records.ts';

const newFolder = testFolders();
/** No process has this number. */
const NO_PID = 2 ** 30;
/** More than are written between two notes. */
const REQUESTS = 11_000;
const OPEN = [3, 5000, 10_500, 10_999];

interface Written {
  readonly root: string;
  readonly folder: string;
  readonly processes: string;
  readonly instance: string;
}

/** The log of a process that is gone. Four of its attempts have no outcome; two come before its note. */
async function killed(): Promise<Written> {
  const root = await newFolder();
  const [folder, processes] = [join(root, 'audit'), join(root, 'processes')];
  const log = await openAuditLog({ folder, processes, rotateBytes: 500_000 });
  const { instance } = log;
  for (let at = 0; at < REQUESTS; at++) {
    await log.write(record(`r${at}`), false);
    if (!OPEN.includes(at)) await log.write(record(`r${at}`, { phase: 'outcome' }), false);
    // The note is written while the last thousand requests have not come.
    if (at === 10_200) await noted(log, processes);
  }
  await log.close();
  const mark = { ...(await ownMark()), pid: NO_PID };
  await writeFile(join(processes, `${instance}.json`), JSON.stringify(mark));
  return { root, folder, processes, instance };
}

async function noted(log: AuditLog, processes: string): Promise<void> {
  await log.write(record('durable', { phase: 'outcome' }), true);
  await eventually(async () => {
    const note = await readAttemptsNote(processes, log.instance);
    expect([...note!.open.keys()]).toEqual(['r3', 'r5000']);
  });
}

const ids = OPEN.map((at) => `r${at}`);

describe('attempts without an outcome', () => {
  it('are found by the note and the records after it, in lines and in segments', async () => {
    const log = await killed();
    const note = await readAttemptsNote(log.processes, log.instance);
    const examined = { ...log, note };
    const all = await readAll(log.folder);
    const expected = all.filter(
      (each) => each.phase === 'attempt' && ids.includes(each.decision_id),
    );
    const whole = await bytesToExamine({ ...log, note: undefined });
    expect(await bytesToExamine(examined)).toBeLessThan(whole / 2);
    expect(await unansweredAttempts(examined)).toEqual(expected);
    expect(await unansweredAttempts({ ...examined, note: undefined })).toEqual(expected);
    const key = await readOrMakeSigningKey(join(log.root, 'key.pem'));
    const options = { folder: log.folder, own: '', key, staleMillis: 1e12, retainMillis: 1e15 };
    expect((await sealFinished({ ...options, write: writeSegment })).sealed).toBeGreaterThan(5);
    expect(await unansweredAttempts(examined)).toEqual(expected);
  });

  it('are found without a note, or with one that is damaged', async () => {
    const log = await killed();
    const path = join(log.processes, `${log.instance}.open`);
    await writeFile(path, (await readFile(path, 'utf8')).replace('r5000', 'r5001'));
    expect(await readAttemptsNote(log.processes, log.instance)).toBeUndefined();
    await rm(path);
    expect(await readAttemptsNote(log.processes, log.instance)).toBeUndefined();
  });

  it('are resolved once, or later if more than the limit is to be read', async () => {
    const log = await killed();
    const own = await openAuditLog({ folder: log.folder, rotateBytes: 1_000_000 });
    const options: ResolutionOptions = {
      folder: log.folder,
      processes: log.processes,
      log: own,
      resolved: new Set(),
      fateOf: async () => 'unknown',
    };
    expect(await resolveAttempts(options, { mostBytes: 1000 })).toEqual({
      written: 0,
      deferred: [log.instance],
    });
    expect((await resolveAttempts(options)).written).toBe(OPEN.length);
    expect((await resolveAttempts(options)).written).toBe(0);
    expect((await resolveAttempts({ ...options, resolved: new Set() })).written).toBe(0);
    await own.close();
    const outcomes = (await readAll(log.folder)).filter((each) => each.instance === own.instance);
    expect(outcomes.map((each) => each.decision_id)).toEqual(ids);
  });

  it('get no second outcome when a resolution was interrupted', async () => {
    const log = await killed();
    const failing = async (stop: number): Promise<string> => {
      const own = await openAuditLog({ folder: log.folder, rotateBytes: 1_000_000 });
      let count = 0;
      const options: ResolutionOptions = {
        folder: log.folder,
        processes: log.processes,
        log: own,
        resolved: new Set(),
        fateOf: async () => {
          count += 1;
          if (count > stop) throw new Error('interrupted');
          return 'unknown';
        },
      };
      await resolveAttempts(options).catch(() => undefined);
      await own.close();
      const mark = { ...(await ownMark()), pid: NO_PID };
      await writeFile(join(log.processes, `${own.instance}.json`), JSON.stringify(mark));
      return own.instance;
    };
    const by = [await failing(1), await failing(1), await failing(9)];
    const outcomes = (await readAll(log.folder)).filter((each) => by.includes(each.instance));
    expect(outcomes.map((each) => each.decision_id).toSorted()).toEqual(ids.toSorted());
    expect((await readdir(log.processes)).filter((name) => name.endsWith('.resolved'))).toContain(
      `${log.instance}.resolved`,
    );
  });
});

it('records that were not kept change no open attempt', () => {
  const chain = new HashChain('one', () => undefined);
  const frame = (place: number, ...lines: readonly (readonly [string, 'attempt' | 'outcome'])[]) =>
    chain.frame(
      BigInt(place),
      lines.map(([id, phase]) => ({ bytes: recordText(record(id, { phase })) })),
    );
  frame(1, ['a', 'attempt'], ['b', 'attempt']);
  chain.onDurable();
  frame(3, ['a', 'outcome'], ['c', 'attempt'], ['c', 'outcome'], ['d', 'attempt']);
  chain.dropped();
  expect(chain.openAttempts()).toEqual({
    count: 2n,
    open: new Map([
      ['a', 1n],
      ['b', 2n],
    ]),
  });
  frame(3, ['d', 'attempt'], ['b', 'outcome']);
  chain.onDurable();
  expect(chain.openAttempts()?.open).toEqual(
    new Map([
      ['a', 1n],
      ['d', 3n],
    ]),
  );
});

it('both halves of a request in one block leave no attempt open', () => {
  const chain = new HashChain('one', () => undefined);
  const memory = new BlockMemory(1_000_000);
  const frame = (
    place: number,
    ...halves: readonly (readonly [string, 'attempt' | 'outcome'])[]
  ) => {
    const block = memory.take();
    for (const [id, phase] of halves) {
      const half = record(id, { phase });
      expect(block.add(half, recordText(half))).toBe(true);
    }
    const framed = chain.frame(BigInt(place), [{ bytes: block.bytes, lines: block.count }]);
    const lines = Buffer.from(framed).toString().trimEnd().split('\n');
    expect(lines.map((line) => line.includes('"phase":"outcome"'))).toEqual(
      halves.map(([, phase]) => phase === 'outcome'),
    );
    chain.onDurable();
  };
  frame(
    1,
    ['a', 'attempt'],
    ['b', 'attempt'],
    ['b', 'outcome'],
    ['c', 'attempt'],
    ['b', 'outcome'],
  );
  expect(chain.openAttempts()).toEqual({
    count: 5n,
    open: new Map([
      ['a', 1n],
      ['c', 4n],
    ]),
  });
  frame(6, ['d', 'attempt'], ['a', 'outcome'], ['d', 'outcome'], ['e', 'attempt']);
  expect(chain.openAttempts()).toEqual({
    count: 9n,
    open: new Map([
      ['c', 4n],
      ['e', 9n],
    ]),
  });
});
