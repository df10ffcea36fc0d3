import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { DATA_FORMAT, openFormat } from '../../../../src/engine/catalog/journal/data-format.ts';
import { upgradeSteps, type UpgradeStep } from '../../../../src/engine/upkeep/upgrade/steps.ts';
import {
  planUpgrade,
  requireUnused,
  upgrade,
} from '../../../../src/engine/upkeep/upgrade/upgrade.ts';
import { ReadingRate } from '../../../../src/engine/upkeep/verification/portion-reading.ts';
import { folderBoard } from '../../../../src/engine/versions/leases/presence-board.ts';
import { Presence } from '../../../../src/engine/versions/leases/presence.ts';
import { Running } from '../../../../src/engine/versions/leases/running.ts';
import { refusalOf } from '../../../support/catalog.ts';
import { disk } from '../../../support/disk.ts';
import { testFolders } from '../../../support/folder.ts';
import { MemoryStore } from '../../../support/memory-store.ts';

const newFolder = testFolders();
let data: string;
let calls: string[];
let isBroken: boolean;

beforeEach(async () => {
  data = await newFolder();
  calls = [];
  isBroken = false;
  await writeFile(join(data, 'FORMAT'), '1\n');
});

const format = (): Promise<string> => readFile(join(data, 'FORMAT'), 'utf8');

/** A step that writes two files, and may end between them. */
function step(number: number): UpgradeStep {
  return {
    format: number,
    summary: `write the files of format ${number}`,
    run: async () => {
      calls.push(`${number}: ${(await format()).trim()}`);
      await writeFile(join(data, `${number}-a`), '');
      if (isBroken) throw new Error('killed');
      await writeFile(join(data, `${number}-b`), '');
      return 2;
    },
  };
}

const steps = [step(2), step(3)];

async function run() {
  const plan = await planUpgrade(disk, data, steps);
  const parts = {
    storage: disk,
    data,
    store: new MemoryStore(),
    sealAudit: () => Promise.resolve(0),
    rate: new ReadingRate(0),
    progress: () => undefined,
    unreadable: () => expect.fail('no file is read'),
  };
  return upgrade(parts, plan);
}

describe('an upgrade', () => {
  it('has one step for each format after the first, up to the one of this program', () => {
    const formats = upgradeSteps.map((each) => each.format);
    expect(formats).toEqual(Array.from({ length: DATA_FORMAT - 1 }, (_, at) => at + 2));
  });

  it('makes the steps in their order, each between its two formats', async () => {
    expect(await run()).toEqual([
      { format: 2, summary: 'write the files of format 2', changes: 2 },
      { format: 3, summary: 'write the files of format 3', changes: 2 },
    ]);
    expect(calls).toEqual(['2: 1>2', '3: 2>3']);
    expect(await format()).toBe('3\n');
    expect(await run()).toEqual([]);
    expect(calls).toHaveLength(2);
  });

  it('continues with the step that was interrupted, and nothing else opens the folder before', async () => {
    await writeFile(join(data, 'FORMAT'), '2\n');
    isBroken = true;
    await expect(run()).rejects.toThrow('killed');
    expect(await format()).toBe('2>3\n');
    expect(await refusalOf(openFormat(disk, data))).toBe(
      `17 ServiceUnavailable: ${data}/FORMAT says format 3; this program reads up to format 2`,
    );
    isBroken = false;
    expect(await planUpgrade(disk, data, steps)).toMatchObject({ from: 2, to: 3, resumed: true });
    expect(await run()).toHaveLength(1);
    expect(await format()).toBe('3\n');
    expect((await readdir(data)).toSorted()).toEqual(['3-a', '3-b', 'FORMAT']);
  });

  it.each([
    ['4\n', 'FORMAT says format 4; this program reads up to format 3'],
    ['3>4\n', 'FORMAT says format 4; this program reads up to format 3'],
    ['of a book\n', 'FORMAT holds no format version'],
    ['1>\n', 'FORMAT holds no format version'],
  ])('is refused for the format %j', async (text, sentence) => {
    await writeFile(join(data, 'FORMAT'), text);
    await expect(run()).rejects.toThrow(`${data}/${sentence}`);
    expect([await format(), calls]).toEqual([text, []]);
  });

  it('is refused for a folder without a format, with and without data', async () => {
    const empty = await newFolder();
    await expect(planUpgrade(disk, empty, steps)).rejects.toThrow(
      `${empty}/FORMAT is missing: there is nothing to upgrade`,
    );
    await mkdir(join(empty, 'tables', 'one'), { recursive: true });
    await expect(planUpgrade(disk, empty, steps)).rejects.toThrow(
      `${empty}/tables holds data of an unknown format`,
    );
  });

  it('is refused while a process uses the folder', async () => {
    const folder = join(data, 'catalog', 'processes');
    const presence = await Presence.open(folderBoard(disk, folder), new Running());
    await expect(requireUnused(disk, data)).rejects.toThrow(
      `1 processes use ${data}: stop every gateway of this catalog, and run this again`,
    );
    await presence.close();
    await requireUnused(disk, data);
  });
});
