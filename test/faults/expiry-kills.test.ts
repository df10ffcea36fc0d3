import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { sendGranted } from '../service/http.ts';
import { tableFiles } from '../support/dropped.ts';
import { casesOf } from '../support/cases.ts';
import { Service } from '../support/service.ts';
import { flagsOf, type KillPlan } from './kill-plan.ts';
import { listedRows } from '../support/listed-rows.ts';

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

/** The steps of a collection that expires versions, and removes their files. */
const kills: readonly Pick<KillPlan, 'step' | 'when' | 'count'>[] = [
  { step: 'write audit', when: 'within', count: 2 },
  { step: 'flush journal', when: 'before', count: 1 },
  { step: 'flush journal', when: 'after', count: 1 },
  // Files of tables are removed by a path of their opened folder: rows first, then lists, then manifests.
  { step: 'remove other', when: 'before', count: 1 },
  { step: 'remove other', when: 'after', count: 1 },
  { step: 'remove other', when: 'before', count: 4 },
  { step: 'remove other', when: 'after', count: 8 },
  { step: 'flush journal', when: 'after', count: 2 },
];

let service: Service;
afterEach(() => service.stop());

const post = (action: string, body: object | Uint8Array = {}) =>
  sendGranted(service.url, `POST /v1/table/t/${action}`, { body });

async function versions(): Promise<readonly number[]> {
  const { json } = await post('version/list');
  return (json['versions'] as readonly { version: number }[])
    .map(({ version }) => version)
    .toSorted((left, right) => left - right);
}

/** The words of a collection that keeps two versions. */
async function collection(): Promise<readonly string[]> {
  const path = join(service.folder, 'brief.yaml');
  await writeFile(path, 'versions: { keep_for: 0s, keep_last: 2 }\n');
  return ['catalog', 'gc', '--config', path, '--policies', service.policies];
}

/** Collects until a step at which the command is killed. @returns Whether it came to it. */
async function killedAt(kill: (typeof kills)[number]): Promise<boolean> {
  const flags = flagsOf({ ...kill, since: 'start' }, 0);
  const words = [...flags, MAIN, ...(await collection()), '--data', service.data];
  const command = spawn(process.execPath, words, { stdio: 'ignore' });
  await once(command, 'close');
  return command.signalCode === 'SIGKILL';
}

it('leaves no version by halves when a collection is killed at any step', async () => {
  service = await Service.start();
  await post('create', listedRows(0));
  const counts = new Map<number, number>([[1, 1]]);
  let newest = 1;
  for (const kill of kills.filter((_, at) => at % (kills.length / casesOf(4, 8)) === 0)) {
    // Each replaces all files, so that those of the versions before can go.
    for (let count = 1; count <= 3; count++) {
      const values = Array.from({ length: count }, (_, at) => at);
      await post('insert?mode=overwrite', listedRows(...values));
      counts.set(++newest, count);
    }
    expect(await killedAt(kill), `${kill.when} ${kill.step} ${kill.count}`).toBe(true);
    const left = await versions();
    expect(left.slice(-2)).toEqual([newest - 1, newest]);
    for (const version of left) {
      const { text } = await post('count_rows', { version });
      expect(text, `${kill.when} ${kill.step}`).toBe(String(counts.get(version)));
    }
    const verified = await service.command('catalog', 'verify', '--json');
    expect(JSON.parse(verified.out).findings).toEqual([]);
  }
  expect(await service.command(...(await collection()))).toMatchObject({ code: 0, err: '' });
  expect(await versions()).toEqual([newest - 1, newest]);
  expect(await tableFiles(service.data)).toHaveLength(6);
  const search = ['audit', 'search', '--operation', 'CatalogExpire', '--format', 'json'];
  const { out } = await service.command(...search);
  const found = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(found).toContainEqual(
    expect.objectContaining({
      subject: 'system:retention',
      object: '/t',
      context: expect.objectContaining({ branch: 'main', keep_for: '0s', keep_last: '2' }),
    }),
  );
});
