import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRequests } from '../../../src/audit/decided/reader.ts';
import { logTable } from '../../../src/audit/search/log-table.ts';
import { reportRequests } from '../../../src/audit/search/report.ts';
import { searchRequests } from '../../../src/audit/search/search.ts';
import {
  detachedPortionsOf,
  sealOlderSegments,
} from '../../../src/audit/segments/detached-portions.ts';
import { sealFinished } from '../../../src/audit/segments/sealing.ts';
import { isSealSigned, parseSeal, sealText } from '../../../src/audit/segments/seal.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey, type SigningKey } from '../../../src/audit/signing/keys.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { randomOf } from '../../service/random.ts';
import { casesOf } from '../../support/cases.ts';
import { record } from '../records.ts';

const root = await mkdtemp(join(tmpdir(), 'arrowgate-'));

afterAll(() => rm(root, { recursive: true, force: true }));

interface SealedLog {
  readonly folder: string;
  readonly key: SigningKey;
  readonly segment: string;
  readonly seal: string;
}

/** A log of one segment with requests of three subjects. */
async function sealedLog(): Promise<SealedLog> {
  const folder = join(root, 'log');
  const key = await readOrMakeSigningKey(join(root, 'key.pem'));
  const log = await openAuditLog({ folder, rotateBytes: 2 ** 30 });
  for (let at = 0; at < 2500; at++) {
    const id = `request-${at}-${(at * 7919) % 100_003}`;
    const more = {
      subject: `user:${at % 3}`,
      rule: `policy.csv:${at % 11}`,
      user_agent: `agent ${id}`,
    };
    await log.write(record(id, more), false);
    const outcome = { phase: 'outcome', duration_us: 5, status: 200, bytes_out: at } as const;
    await log.write(record(id, { ...more, ...outcome }), false);
  }
  await log.close();
  const options = { folder, key, own: '', staleMillis: -1, retainMillis: 1e15 };
  const run = await sealFinished({ ...options, write: writeSegment });
  expect(run).toMatchObject({ sealed: 1, failures: [] });
  const [instance = ''] = await readdir(folder);
  const path = (name: string) => join(folder, instance, name);
  return { folder, key, segment: path('00000001.arrow'), seal: path('00000001.seal') };
}

type Reading = (folder: string) => Promise<unknown>;

/** Everything that reads segments, with what it answers as a text. */
const readings: Readonly<Record<string, Reading>> = {
  search: async (folder) => {
    const found: string[] = [];
    for await (const some of searchRequests(folder, { subject: 'user:1' }))
      found.push(...some.map(({ record }) => record.request_id));
    return found;
  },
  report: (folder) => reportRequests(folder, 'rule', {}),
  table: async (folder) => {
    const [part] = await logTable(folder).parts();
    const open = await part!.open();
    const found: unknown[] = [];
    try {
      for (let at = 0; at < open.batchRows.length; at++) {
        const batch = await open.read(at, ['subject', 'user_agent', 'bytes_out']);
        found.push(...batch.toArray().map(String));
      }
    } finally {
      await open.close();
    }
    return found;
  },
  requests: async (folder) => {
    const found: unknown[] = [];
    for await (const some of readRequests(folder)) found.push(some);
    return found;
  },
};

const shown = (answer: unknown): string =>
  JSON.stringify(answer, (_, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    return value instanceof Map ? [...value] : value;
  });

describe('a sealed segment with a flipped bit', () => {
  let log: SealedLog;
  const right = new Map<string, string>();

  beforeAll(async () => {
    log = await sealedLog();
    for (const [name, read] of Object.entries(readings)) {
      right.set(name, shown(await read(log.folder)));
      expect(right.get(name)!.length).toBeGreaterThan(100);
    }
  });

  /** Flips a bit of a file for each reading; what was answered wrongly, and how often it was refused. */
  async function flips(path: string, cases: number) {
    const bytes = await readFile(path);
    const random = randomOf(cases);
    const result = { wrong: [] as string[], refused: 0, right: 0, sentences: new Set<string>() };
    for (let number = 0; number < cases; number++) {
      const [at, bit] = [random(bytes.length), random(8)];
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1 << bit;
      await writeFile(path, changed);
      for (const [name, read] of Object.entries(readings)) {
        try {
          if (shown(await read(log.folder)) === right.get(name)) result.right += 1;
          else result.wrong.push(`${name}: byte ${at}, bit ${bit}`);
        } catch (error) {
          result.refused += 1;
          result.sentences.add(error instanceof Error ? error.message : String(error));
        }
      }
    }
    await writeFile(path, bytes);
    return result;
  }

  it('is refused by every reader, with its portion', { timeout: 900_000 }, async () => {
    const found = await flips(log.segment, casesOf(40, 1000));
    expect(found.wrong).toEqual([]);
    expect(found.refused).toBeGreaterThan(20);
    for (const sentence of found.sentences) {
      expect(sentence).toMatch(
        /^the segment [-\w]+\/00000001\.arrow is damaged: portion \d+ \(bytes \d+ to \d+\) does not match its checksum$/,
      );
    }
  });

  it('is refused if the bit is in the seal', { timeout: 900_000 }, async () => {
    const found = await flips(log.seal, casesOf(40, 1000));
    expect(found.wrong).toEqual([]);
    expect(found.refused).toBeGreaterThan(20);
  });

  it('is refused if it is cut off or longer', async () => {
    const bytes = await readFile(log.segment);
    for (const changed of [
      bytes.subarray(0, -70_000),
      Buffer.concat([bytes, Buffer.alloc(70_000)]),
    ]) {
      await writeFile(log.segment, changed);
      for (const read of Object.values(readings)) {
        await expect(read(log.folder)).rejects.toThrow('and its seal covers');
      }
    }
    await writeFile(log.segment, bytes);
  });

  it('is an error of the table that its callers understand', async () => {
    const bytes = await readFile(log.segment);
    await writeFile(log.segment, Buffer.from(bytes).fill(1, 1000, 1010));
    await expect(readings['table']!(log.folder)).rejects.toMatchObject({
      name: 'CatalogError',
      row: { code: 18 },
      message: expect.stringContaining('portion 0 (bytes 0 to 65535)'),
    });
    await writeFile(log.segment, bytes);
  });

  it('has its checksums beside its seal if the seal is of an earlier version', async () => {
    const text = await readFile(log.seal, 'utf8');
    const { portions: _, ...fields } = parseSeal(text);
    expect(isSealSigned(parseSeal(text), [log.key.public])).toBe(true);
    const old = sealText(log.key, fields);
    expect(old).not.toContain('portions');
    expect(isSealSigned(parseSeal(old), [log.key.public])).toBe(true);
    await writeFile(log.seal, old);
    const readAll = async (): Promise<readonly string[]> =>
      Promise.all(Object.values(readings).map(async (read) => shown(await outcomeOf(read))));
    const outcomeOf = (read: Reading) => read(log.folder).catch((error: Error) => error.message);
    for (const outcome of await readAll()) expect(outcome).toContain('it has no checksums of');
    const damaged: string[] = [];
    const options = {
      folder: log.folder,
      read: () => Promise.resolve(),
      damaged: (path: string, error: unknown) => damaged.push(`${path}: ${String(error)}`),
    };
    const bytes = await readFile(log.segment);
    const flipped = Buffer.from(bytes);
    flipped[bytes.length >> 1]! ^= 2;
    await writeFile(log.segment, flipped);
    expect([await sealOlderSegments(options), damaged.length]).toEqual([0, 1]);
    await writeFile(log.segment, bytes);
    expect([await sealOlderSegments(options), damaged.length]).toEqual([1, 1]);
    expect(await sealOlderSegments(options)).toBe(0);
    for (const [name, read] of Object.entries(readings))
      expect(shown(await read(log.folder))).toBe(right.get(name));
    await writeFile(log.segment, flipped);
    // A report reads a few columns alone.
    const outcomes = (await readAll()).filter((outcome) => ![...right.values()].includes(outcome));
    expect(outcomes.length).toBeGreaterThan(0);
    for (const outcome of outcomes) expect(outcome).toContain('is damaged: portion');
    await writeFile(log.segment, bytes);
    const place = detachedPortionsOf(log.seal);
    const sums = await readFile(place, 'utf8');
    await writeFile(
      place,
      sums.replace(/.\n$/, (end) => (end === '0\n' ? '1\n' : '0\n')),
    );
    for (const outcome of await readAll())
      expect(outcome).toMatch(/the checksums of .* are damaged/);
    await rm(place);
    await writeFile(log.seal, text);
  });
});
