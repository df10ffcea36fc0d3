import {
  appendFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstHead, hashAfter, hashTail } from '../../../src/audit/chain/hash-chain.ts';
import { anchorFile } from '../../../src/audit/checkpoints/places.ts';
import { parseSeal, sealText } from '../../../src/audit/segments/seal.ts';
import { sealFinished, type SealingRun } from '../../../src/audit/segments/sealing.ts';
import { writeSegment } from '../../../src/audit/segments/segment-file.ts';
import { readOrMakeSigningKey, type SigningKey } from '../../../src/audit/signing/keys.ts';
import {
  verifyLog,
  type VerificationResult,
} from '../../../src/audit/verification/verification.ts';
import { readTrustedCheckpoints } from '../../../src/audit/checkpoints/trusted.ts';
import { readRequests } from '../../../src/audit/decided/reader.ts';
import { openAuditLog } from '../../../src/audit/writer.ts';
import { testFolders } from '../../support/folder.ts';
import { readAll, record } from '../records.ts';
import { eventually } from '../../support/eventually.ts';

const RECORDS = 60;
const newFolder = testFolders();

interface Written {
  readonly folder: string;
  readonly anchor: string;
  readonly key: SigningKey;
  /** The lines of all files together. */
  readonly lines: readonly string[];
  readonly instance: string;
}

/** A log of some files, closed. */
async function written(rotateBytes: number, places = true): Promise<Written> {
  const root = await newFolder();
  const [folder, anchor] = [join(root, 'audit'), join(root, 'anchor.jsonl')];
  const key = await readOrMakeSigningKey(join(root, 'key.pem'));
  const checkpoints = {
    key,
    places: places ? [anchorFile(anchor)] : [],
    failed: () => undefined,
  };
  const log = await openAuditLog({ folder, rotateBytes, checkpoints });
  for (let index = 0; index < RECORDS; index++)
    await log.write(record(`r${index}`), index % 7 === 0);
  await log.close();
  const [instance] = await readdir(folder);
  return { folder, anchor, key, instance: instance!, lines: await linesOf(folder, instance!) };
}

async function filesOf(folder: string, instance: string): Promise<readonly string[]> {
  const names = (await readdir(join(folder, instance))).sort();
  return names.map((name) => join(folder, instance, name));
}

async function linesOf(folder: string, instance: string): Promise<readonly string[]> {
  const texts = await Promise.all(
    (await filesOf(folder, instance)).map((path) => readFile(path, 'utf8')),
  );
  return texts.join('').split('\n').slice(0, -1);
}

/** Puts these lines in place of the log, all in one file. */
async function replace({ folder, instance }: Written, lines: readonly string[]): Promise<void> {
  const [first, ...others] = await filesOf(folder, instance);
  await writeFile(first!, lines.map((line) => `${line}\n`).join(''));
  for (const other of others) await rm(other);
}

async function verify({ folder, anchor, key }: Written): Promise<VerificationResult> {
  return verifyLog(folder, await readTrustedCheckpoints([anchorFile(anchor)], [key.public]));
}

/** The lines from the one given on with hashes that fit, as somebody could make them who cannot sign. */
function relinked(written: Written, lines: readonly string[], from: number): readonly string[] {
  const head = from === 0 ? firstHead(written.instance).hash : hashOf(lines[from - 1]!);
  let previous = head;
  return lines.map((line, index) => {
    if (index < from) return line;
    const fields = line.slice(0, line.lastIndexOf(',"hash":"'));
    previous = hashAfter(previous, Buffer.from(fields));
    return fields + hashTail(previous);
  });
}

function hashOf(line: string): string {
  return line.slice(-45, -2);
}

describe('an audit log that nobody touched', () => {
  it.each([500, 5000, 2 ** 20])('holds, in files of %i bytes', async (rotateBytes) => {
    const log = await written(rotateBytes);
    const verified = await verify(log);
    expect(verified).toMatchObject({
      instances: 1,
      records: BigInt(RECORDS),
      unsigned: 0n,
      findings: [],
      notes: [],
      heads: [{ instance: log.instance, count: BigInt(RECORDS), key: log.key.public.id }],
    });
  });

  it('holds when a crash tore its last record', async () => {
    const log = await written(5000);
    const last = (await filesOf(log.folder, log.instance)).at(-1)!;
    await appendFile(last, log.lines[0]!.slice(0, 100));
    const { findings, notes, records } = await verify(log);
    expect([findings, records]).toEqual([[], BigInt(RECORDS)]);
    expect(notes).toEqual([`${last} ends with a torn record, which was never confirmed`]);
  });

  it('holds where a disk that failed kept records that were refused', async () => {
    const log = await written(5000);
    const files = await filesOf(log.folder, log.instance);
    const first = (await readFile(files[0]!, 'utf8')).trimEnd().split('\n');
    const next = log.lines[first.length]!;
    const refused = next.replace('"r', '"x').slice(0, next.lastIndexOf(',"hash":"'));
    const tail = hashTail(hashAfter(hashOf(first.at(-1)!), Buffer.from(refused)));
    await appendFile(files[0]!, `${refused}${tail}\n`);
    const { findings, notes } = await verify(log);
    expect(findings).toEqual([]);
    expect(notes).toEqual([`${files[0]} ends with 1 records that were never confirmed`]);
  });

  it('says how many records nobody has signed for', async () => {
    const log = await written(5000, false);
    await writeFile(log.anchor, '');
    expect(await verify(log)).toMatchObject({ unsigned: BigInt(RECORDS), findings: [] });
  });

  it('is signed for within a second also when nothing is durable', async () => {
    const root = await newFolder();
    const anchor = join(root, 'anchor.jsonl');
    const key = await readOrMakeSigningKey(join(root, 'key.pem'));
    const checkpoints = { key, places: [anchorFile(anchor)], failed: () => undefined };
    const folder = join(root, 'audit');
    const log = await openAuditLog({ folder, rotateBytes: 2 ** 20, checkpoints });
    await log.write(record('r1'), false);
    await eventually(async () => expect(await readFile(anchor, 'utf8')).toContain('"count":1'));
    await log.close();
  });
});

describe('an audit log', () => {
  it('of which a record was edited is found out, wherever it was', async () => {
    const log = await written(2 ** 20);
    const places = fc.record({
      line: fc.nat(RECORDS - 1),
      at: fc.double({ min: 0, max: 0.999, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(places, async ({ line, at }) => {
        const text = log.lines[line]!;
        const index = Math.floor(at * text.length);
        // A number stays a number, so that it may look as if the record belonged elsewhere.
        const [one, two] = /\d/.test(text[index]!) ? '79' : 'xy';
        const other = text[index] === one ? two! : one!;
        await replace(
          log,
          log.lines.with(line, text.slice(0, index) + other + text.slice(index + 1)),
        );
        expect((await verify(log)).findings).toMatchObject([
          { kind: 'edited', line: line + 1, sequence: BigInt(line + 1) },
        ]);
      }),
      { numRuns: 60 },
    );
  });

  it('of which records were removed is found out', async () => {
    const log = await written(2 ** 20);
    for (const [first, count] of [
      [0, 1],
      [5, 1],
      [20, 10],
      [RECORDS - 2, 1],
    ] as const) {
      await replace(log, log.lines.toSpliced(first, count));
      expect((await verify(log)).findings).toMatchObject([
        { kind: 'removed', line: first + 1, sequence: BigInt(first + 1) },
      ]);
    }
  });

  it('of which a file was removed is found out', async () => {
    const log = await written(5000);
    const [, second] = await filesOf(log.folder, log.instance);
    const gone = (await readFile(second!, 'utf8')).split('\n').length - 1;
    await rm(second!);
    const [finding] = (await verify(log)).findings;
    expect(finding).toMatchObject({ kind: 'removed', line: 1 });
    expect(finding!.text).toBe(
      `records ${finding!.sequence} to ${finding!.sequence + BigInt(gone) - 1n} were removed`,
    );
  });

  it('of which records changed places is found out', async () => {
    const log = await written(2 ** 20);
    for (const [one, other] of [
      [0, 1],
      [7, 30],
      [RECORDS - 2, RECORDS - 1],
    ] as const) {
      const lines = log.lines.with(one, log.lines[other]!).with(other, log.lines[one]!);
      await replace(log, lines);
      expect((await verify(log)).findings).toMatchObject([
        { kind: 'reordered', line: one + 1, sequence: BigInt(one + 1) },
      ]);
    }
  });

  it('that was cut short is found out', async () => {
    const log = await written(2 ** 20);
    for (const left of [RECORDS - 1, 10, 0]) {
      await replace(log, log.lines.slice(0, left));
      expect((await verify(log)).findings).toMatchObject([
        { kind: 'cut short', sequence: BigInt(left + 1) },
      ]);
    }
    await rm(join(log.folder, log.instance), { recursive: true });
    expect((await verify(log)).findings).toMatchObject([{ kind: 'removed', sequence: 1n }]);
  });

  it('that was edited and linked anew is found out, since it is not what was signed', async () => {
    const log = await written(2 ** 20);
    for (const line of [0, 25, RECORDS - 1]) {
      const text = log.lines[line]!.replace('"/prod/orders"', '"/prod/others"');
      const lines = relinked(log, log.lines.with(line, text), line);
      await replace(log, lines);
      const [finding, ...others] = (await verify(log)).findings;
      expect(others).toEqual([]);
      expect(finding).toMatchObject({ kind: 'edited' });
      expect(finding!.sequence).toBeLessThanOrEqual(BigInt(line + 1));
    }
  });

  it('is not vouched for by a checkpoint that nobody of trust signed', async () => {
    const log = await written(2 ** 20);
    const stranger = await readOrMakeSigningKey(join(await newFolder(), 'key.pem'));
    const anchors = [anchorFile(log.anchor)];
    const { findings } = await verifyLog(
      log.folder,
      await readTrustedCheckpoints(anchors, [stranger.public]),
    );
    const known = (await readFile(log.anchor, 'utf8')).trimEnd().split('\n').length;
    const which = known === 1 ? 'the checkpoint at' : `${known} checkpoints at`;
    expect(findings).toMatchObject([{ kind: 'unknown key', instance: log.instance }]);
    expect(findings[0]!.text.startsWith(which)).toBe(true);
    expect(findings[0]!.text).toContain(` by the unknown key ${log.key.public.id}: `);
  });
});

/** Seals everything but the last file of a log. */
async function seal({ folder, key, instance }: Written, retainMillis = 1e12): Promise<SealingRun> {
  return sealFinished({
    folder,
    key,
    own: instance,
    staleMillis: 1e12,
    retainMillis,
    write: writeSegment,
  });
}

describe('a log whose finished files were sealed', () => {
  it('holds, reads as before, and is sealed once', async () => {
    const log = await written(5000);
    const before = await readAll(log.folder);
    const files = (await filesOf(log.folder, log.instance)).length;
    expect(await seal(log)).toEqual({ sealed: files - 1, retired: 0, unfit: [], failures: [] });
    expect(await seal(log)).toEqual({ sealed: 0, retired: 0, unfit: [], failures: [] });
    expect(await readAll(log.folder)).toEqual(before);
    expect(await verify(log)).toMatchObject({ records: BigInt(RECORDS), findings: [], notes: [] });
  });

  it('holds when a crash left the lines of a segment behind', async () => {
    const log = await written(5000);
    const [first] = await filesOf(log.folder, log.instance);
    const lines = await readFile(first!);
    await seal(log);
    await writeFile(first!, lines);
    expect((await verify(log)).findings).toEqual([]);
    expect(await seal(log)).toMatchObject({ sealed: 1 });
    expect((await verify(log)).findings).toEqual([]);
  });

  it('is found out when a byte of a segment is another, wherever it was', async () => {
    const log = await written(5000);
    await seal(log);
    const path = join(log.folder, log.instance, '00000002.arrow');
    const bytes = await readFile(path);
    const at = fc.nat(bytes.length - 1);
    await fc.assert(
      fc.asyncProperty(at, async (index) => {
        const other = Buffer.from(bytes);
        other[index]! ^= 0x21;
        await writeFile(path, other);
        // A byte of the number of its rows hides some of them.
        const kind = expect.stringMatching(/^(edited|removed)$/);
        expect((await verify(log)).findings).toMatchObject([{ kind, file: path }]);
      }),
      { numRuns: 20 },
    );
    await writeFile(path, bytes);
    expect((await verify(log)).findings).toEqual([]);
  });

  it('names the record that was edited in a segment', async () => {
    const log = await written(5000);
    await seal(log);
    const path = join(log.folder, log.instance, '00000001.arrow');
    const bytes = await readFile(path);
    const at = bytes.indexOf('r2');
    bytes[at + 1] = '9'.charCodeAt(0);
    await writeFile(path, bytes);
    expect((await verify(log)).findings).toMatchObject([
      { kind: 'edited', file: path, sequence: 3n, text: 'record 3 was edited' },
    ]);
  });

  it('is found out when a segment or its seal goes, or another key seals it', async () => {
    const log = await written(5000);
    await seal(log);
    const [arrow, sealed] = ['arrow', 'seal'].map((end) =>
      join(log.folder, log.instance, `00000002.${end}`),
    );
    const [bytes, text] = [await readFile(arrow!), await readFile(sealed!, 'utf8')];
    await rm(arrow!);
    expect((await verify(log)).findings).toMatchObject([{ kind: 'removed', file: arrow }]);
    await rm(sealed!);
    expect((await verify(log)).findings).toMatchObject([{ kind: 'removed' }]);
    await writeFile(arrow!, bytes);
    const stranger = await readOrMakeSigningKey(join(await newFolder(), 'key.pem'));
    await writeFile(sealed!, sealText(stranger, parseSeal(text)));
    expect((await verify(log)).findings).toMatchObject([{ kind: 'edited', file: arrow }]);
  });

  it('lets go what was kept long enough, and holds', async () => {
    const log = await written(5000);
    await seal(log);
    const { retired } = await seal(log, 1);
    expect(retired).toBeGreaterThan(1);
    const { findings, notes } = await verify(log);
    expect(findings).toEqual([]);
    expect(notes).toHaveLength(retired);
    expect(notes[0]).toMatch(/00000001\.arrow was kept until .*: its \d+ records are gone$/);
    expect((await readAll(log.folder)).length).toBeLessThan(RECORDS);
  });

  it('leaves a file as it is whose chain does not hold', async () => {
    const log = await written(5000);
    const [first] = await filesOf(log.folder, log.instance);
    await writeFile(first!, (await readFile(first!, 'utf8')).replace('"r3"', '"r4"'));
    expect(await seal(log)).toEqual({ sealed: 0, retired: 0, unfit: [first], failures: [] });
    expect((await verify(log)).findings).toMatchObject([{ kind: 'edited', sequence: 4n }]);
  });

  it('is made of one instance though that of another cannot be looked at', async () => {
    const [bad, good] = [await written(2_000), await written(2_000)];
    await seal(bad);
    const seals = (await filesOf(bad.folder, bad.instance)).filter((path) =>
      path.endsWith('.seal'),
    );
    await writeFile(seals[0]!, 'torn');
    const before = join(good.folder, `0-${bad.instance}`);
    await rename(join(bad.folder, bad.instance), before);
    const { sealed, failures } = await seal(good);
    expect(sealed).toBeGreaterThan(1);
    expect(failures).toHaveLength(1);
  });
});

async function countRequests(folder: string): Promise<number> {
  let count = 0;
  for await (const requests of readRequests(folder)) count += requests.length;
  return count;
}

describe('a file of the log that is not the log’s own', () => {
  it.each(['00000001.arrow', '00000001.seal', '00000002.jsonl'])(
    'is a finding when it was replaced by a symbolic link, and is not followed: %s',
    async (name) => {
      const log = await written(5000);
      if (name.startsWith('00000001')) await seal(log);
      const path = join(log.folder, log.instance, name);
      const elsewhere = join(await newFolder(), name);
      await rename(path, elsewhere);
      await symlink(elsewhere, path);
      const [finding, ...others] = (await verify(log)).findings;
      expect(others).toEqual([]);
      expect(finding).toMatchObject({ kind: 'removed', instance: log.instance });
      expect(finding!.text).toContain('is a symbolic link or lies behind one: it was not read');
      await expect(countRequests(log.folder)).rejects.toThrow('is a symbolic link');
    },
  );

  it('is a finding when it is a folder, and a link in place of an instance is none of its log', async () => {
    const log = await written(2 ** 20);
    const [file] = await filesOf(log.folder, log.instance);
    await rm(file!);
    await mkdir(file!);
    const [finding] = (await verify(log)).findings;
    expect(finding).toMatchObject({ kind: 'removed', file });
    expect(finding!.text).toContain('is not a plain file');
    const elsewhere = join(await newFolder(), log.instance);
    await rename(join(log.folder, log.instance), elsewhere);
    await symlink(elsewhere, join(log.folder, log.instance));
    expect((await verify(log)).findings).toMatchObject([{ kind: 'removed', sequence: 1n }]);
  });

  it('is no matter of links above the log, which the configuration may name', async () => {
    const log = await written(5000);
    await seal(log);
    const link = join(await newFolder(), 'data');
    await symlink(log.folder, link);
    const through = { ...log, folder: link };
    expect(await verify(through)).toMatchObject({ records: BigInt(RECORDS), findings: [] });
    expect(await readAll(link)).toEqual(await readAll(log.folder));
  });
});
