import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseCheckpoint } from '../../src/audit/checkpoints/checkpoint.ts';
import type { CheckpointPlace } from '../../src/audit/checkpoints/places.ts';
import { readTrustedCheckpoints } from '../../src/audit/checkpoints/trusted.ts';
import { signSurvivors } from '../../src/audit/recovery-heads.ts';
import { readOrMakeSigningKey, type SigningKey } from '../../src/audit/signing/keys.ts';
import { verifyLog } from '../../src/audit/verification/verification.ts';
import { openAuditLog } from '../../src/audit/writer.ts';
import { ownMark } from '../../src/store/process-mark.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { record } from './records.ts';

const newFolder = testFolders();
/** No process has this number. */
const NO_PID = 2 ** 30;

/** The line of the signed record up to the first character of its hash. */
const SIGNED_HASH = /("request_id":"signed".*"hash":")./;

/** A place in memory, which can be made to refuse. */
class MemoryPlace implements CheckpointPlace {
  readonly name = 'memory';
  readonly texts = new Map<string, string>();
  refuses = false;

  async write(instance: string, text: string): Promise<void> {
    if (this.refuses) throw new Error('the place refuses');
    this.texts.set(instance, text);
  }

  async all(): Promise<readonly string[]> {
    return [...this.texts.values()];
  }

  count(instance: string): bigint {
    return parseCheckpoint(this.texts.get(instance)!).count;
  }
}

interface KilledLog {
  readonly folder: string;
  readonly processes: string;
  readonly key: SigningKey;
  readonly place: MemoryPlace;
  readonly instance: string;
}

/** A log of a process that is gone: of 300 records 200 are signed. */
async function killed(rotateBytes = 20_000, into?: KilledLog): Promise<KilledLog> {
  const root = await newFolder();
  const folder = into?.folder ?? join(root, 'audit');
  const processes = into?.processes ?? join(root, 'processes');
  const key = into?.key ?? (await readOrMakeSigningKey(join(root, 'key.pem')));
  const place = into?.place ?? new MemoryPlace();
  const checkpoints = { key, places: [place], failed: () => undefined };
  const log = await openAuditLog({ folder, processes, rotateBytes, checkpoints });
  const { instance } = log;
  for (let at = 0; at < 200; at++) await log.write(record(`r${at}`), false);
  await log.write(record('signed'), true);
  await eventually(() => expect(place.count(instance)).toBe(201n));
  place.refuses = true;
  for (let at = 0; at < 99; at++) await log.write(record(`s${at}`), false);
  await log.close();
  place.refuses = false;
  const mark = { ...(await ownMark()), pid: NO_PID };
  await writeFile(join(processes, `${instance}.json`), JSON.stringify(mark));
  return { folder, processes, key, place, instance };
}

function options({ folder, processes, key, place }: KilledLog) {
  return { folder, processes, own: 'own', key, trusted: [key.public], places: [place] };
}

async function filesOf({ folder, instance }: KilledLog): Promise<readonly string[]> {
  const names = (await readdir(join(folder, instance))).sort();
  return names.map((name) => join(folder, instance, name));
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  expect(text).toContain(from);
  await writeFile(path, text.replace(from, to));
}

async function findings(log: KilledLog): Promise<readonly string[]> {
  const trusted = await readTrustedCheckpoints([log.place], [log.key.public]);
  const facts = { starts: [], isOver: async () => true };
  const { findings: found } = await verifyLog(log.folder, trusted, undefined, facts);
  return found.map(({ kind }) => kind);
}

describe('the log of a process that was killed', () => {
  it('is signed up to its last record, once', async () => {
    const log = await killed();
    expect(await findings(log)).toEqual(['unsigned']);
    expect(await signSurvivors(options(log))).toEqual({
      signed: [log.instance],
      deferred: [],
      failures: [],
    });
    expect(log.place.count(log.instance)).toBe(300n);
    expect(await findings(log)).toEqual([]);
    expect((await signSurvivors(options(log))).signed).toEqual([]);
  });

  it('is read from its newest signed head on, whatever lies before', async () => {
    const log = await killed();
    const files = await filesOf(log);
    expect(files.length).toBeGreaterThan(4);
    await edit(files[0]!, '"r3"', '"x3"');
    const sizes = await Promise.all(files.map(async (path) => (await stat(path)).size));
    const mostBytes = sizes.reduce((sum, size) => sum + size, 0) / 2;
    expect((await signSurvivors(options(log), { mostBytes })).signed).toEqual([log.instance]);
    expect(log.place.count(log.instance)).toBe(300n);
    expect(await findings(log)).toEqual(['edited']);
  });

  it('is left for later if more than the limit is to be read', async () => {
    const log = await killed();
    expect(await signSurvivors(options(log), { mostBytes: 1000 })).toEqual({
      signed: [],
      deferred: [log.instance],
      failures: [],
    });
    expect((await signSurvivors(options(log))).signed).toEqual([log.instance]);
  });

  it('is not signed if the records after the signed head do not follow from it', async () => {
    const log = await killed();
    await edit((await filesOf(log)).at(-1)!, '"s98"', '"x98"');
    expect((await signSurvivors(options(log))).signed).toEqual([]);
    expect(await findings(log)).toEqual(['edited']);
  });

  it('is not signed if the signed head is not in it', async () => {
    for (const change of [
      async (log: KilledLog) => {
        for (const path of await filesOf(log)) {
          const text = await readFile(path, 'utf8');
          const end = text.indexOf('"signed"');
          if (end >= 0) await truncate(path, text.lastIndexOf('\n', end) + 1);
        }
      },
      async (log: KilledLog) => {
        for (const path of await filesOf(log))
          await writeFile(path, (await readFile(path, 'utf8')).replace(SIGNED_HASH, '$1!'));
      },
    ]) {
      const log = await killed();
      await change(log);
      expect((await signSurvivors(options(log))).signed).toEqual([]);
      expect(await findings(log)).toHaveLength(1);
    }
  });

  it('is signed later if that fails at first, and hinders no other', async () => {
    const log = await killed();
    const other = await killed(1_000_000, log);
    const place = log.place;
    const refusing: CheckpointPlace = {
      name: 'refusing',
      all: () => place.all(),
      write: async (instance, text) => {
        if (instance === log.instance) throw new Error('not now');
        await place.write(instance, text);
      },
    };
    const first = await signSurvivors({ ...options(log), places: [refusing] });
    expect([first.signed, first.failures]).toEqual([[other.instance], [new Error('not now')]]);
    expect((await signSurvivors(options(log))).signed).toEqual([log.instance]);
    expect(await findings(log)).toEqual([]);
  });
});
