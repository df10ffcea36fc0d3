import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { arrow } from '../clients/lancedb.ts';
import type { Reply } from '../service/http.ts';
import { randomOf } from '../service/random.ts';
import { waitUntil } from '../support/eventually.ts';
import { Service } from '../support/service.ts';
import {
  changes,
  filesIn,
  idsAfter,
  lanceKinds,
  reads,
  RottenLanceTable,
  writeTable,
  type Damage,
  type LanceRotFile,
} from './rotten-lance-table.ts';

/** Damaged and missing files of Lance tables: the requests that need them are refused, and no others. */

/** Flipped bits in all; 2,000 with `npm run test:rot`. */
const FLIPS = Number(process.env['ARROWGATE_TEST_ROT'] ?? 40);
/** Files with flipped bits. */
const FLIPPED_FILES = FLIPS / 4;
/** Damaged files of each kind; all of them with `npm run test:rot`. */
const FILES = FLIPS > 40 ? Infinity : 1;
/** Flipped bits of a file. */
const BITS = 12;
/** A fixed seed: a failure can be repeated. */
const SEED = Number(process.env['ARROWGATE_TEST_SEED'] ?? 1);

const damages: Readonly<Record<string, Damage>> = {
  lost: () => undefined,
  empty: () => Buffer.alloc(0),
  'cut short': (bytes) => bytes.subarray(0, bytes.length >> 1),
  overwritten: (bytes) => Buffer.alloc(bytes.length, 'x'),
};

const random = randomOf(SEED);
let folder: string;
let source: string;
let service: Service;
let untouched: RottenLanceTable;
let files: readonly LanceRotFile[];
let sound: ReadonlyMap<string, string>;
let copies = 0;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'lance-rot-')));
  await writeTable(folder, 'sound');
  const config = `locations: { allowed: [${JSON.stringify(folder)}] }\n`;
  service = await Service.start({ config });
  source = join(folder, 'sound.lance');
  files = await filesIn(source);
  untouched = await copy();
  sound = await answersOf(untouched);
  for (const answer of sound.values()) expect(answer).not.toMatch(/^(refused|-1)/);
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true });
});

function copy(): Promise<RottenLanceTable> {
  copies += 1;
  return RottenLanceTable.copy(service, source, `copy${copies}x`);
}

/** An answer as text: its rows in an order of their own, or its body without what differs from copy to copy. */
function textOf(table: RottenLanceTable, reply: Reply): string {
  if (reply.status !== 200) return refusalOf(table, reply);
  if (String(reply.headers['content-type']).includes('arrow')) {
    const rows = arrow.tableFromIPC(reply.bytes).toArray();
    return rows
      .map((row) => JSON.stringify(row))
      .toSorted()
      .join('\n');
  }
  return reply.text.replaceAll(table.name, 'NAME').replaceAll(/"created_at":"[^"]*"/g, '');
}

/** A refusal, which has to name the table, and not where it lies. */
function refusalOf({ name }: RottenLanceTable, { status, text }: Reply): string {
  const { code, error } = JSON.parse(text) as { readonly code: number; readonly error: string };
  expect(['500 18', '406 0', '503 17', '404 11'], text).toContain(`${status} ${code}`);
  // Whoever asks for a version that is gone knows its number.
  if (code !== 11) expect(error).toContain(`/${name}`);
  expect(error).not.toContain(folder.slice(1));
  return `refused: ${error.replaceAll(name, 'NAME')}`;
}

async function answersOf(table: RottenLanceTable): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const [name, request] of Object.entries(reads)) {
    answers.set(name, textOf(table, await table.ask(request)));
  }
  return answers;
}

/** What became of the requests. */
const counts = { right: 0, refused: 0, other: 0, changed: 0, unchanged: 0 };

/** Reads a table whose file is damaged. @param isExact Whether every answer has to be right. */
async function read(table: RottenLanceTable, isExact: boolean, what: string): Promise<void> {
  for (const [name, answer] of await answersOf(table)) {
    if (answer.startsWith('refused')) counts.refused += 1;
    else if (answer === sound.get(name)) counts.right += 1;
    else if (isExact && name !== 'versions') expect.fail(`${what}: ${name} answers ${answer}`);
    else counts.other += 1;
  }
}

/** Changes a table whose file is damaged. @returns The names of the changes that were acknowledged. */
async function change(table: RottenLanceTable): Promise<ReadonlySet<string>> {
  const done = new Set<string>();
  for (const [name, request] of Object.entries(changes)) {
    const reply = await table.ask(request);
    const { transaction_id: job } = reply.json;
    if (typeof job === 'string') await ended(job);
    if (textOf(table, reply).startsWith('refused')) counts.unchanged += 1;
    else {
      counts.changed += 1;
      done.add(name);
    }
  }
  return done;
}

/** Waits for the end of a job. */
async function ended(job: string): Promise<void> {
  await waitUntil(async () => {
    const { json } = await untouched.askOf(`transaction/${job}/describe`);
    return ['SUCCEEDED', 'FAILED'].includes(String(json['status']));
  });
}

/** Damages a file of a copy, reads and changes the copy, and puts the file back. */
async function damage(file: LanceRotFile, what: string): Promise<void> {
  const table = await copy();
  const back = await table.damage(file.path, damages[what]!);
  await read(table, true, `${what} ${file.path}`);
  const done = await change(table);
  await back();
  expect(await table.ids(), `${what} ${file.path}, then ${[...done].join()}`).toEqual(
    idsAfter(done),
  );
  await isAlone(table);
}

/** No other table was harmed, and the damaged one can be removed. */
async function isAlone(table: RottenLanceTable): Promise<void> {
  expect(await answersOf(untouched)).toEqual(sound);
  await table.remove();
}

it.each(lanceKinds)(
  'of %s that are lost, empty, cut short or overwritten fail the requests that need them',
  async (kind) => {
    const some = files.filter((file) => file.kind === kind);
    expect(some.length).toBeGreaterThan(0);
    const chosen = FILES < some.length ? [some[random(some.length)]!] : some;
    for (const file of chosen) {
      for (const what of Object.keys(damages)) await damage(file, what);
    }
    console.log(`rot of Lance tables, ${kind}: ${JSON.stringify(counts)}`);
  },
);

it(`with flipped bits, ${FLIPPED_FILES} of them, fail for themselves alone`, async () => {
  const some = files.filter(({ kind }) => !kind.startsWith('_t') && !kind.startsWith('_v'));
  for (let flips = 0; flips < FLIPPED_FILES; flips++) {
    const file = some[random(some.length)]!;
    const table = await copy();
    await table.damage(file.path, (bytes) => {
      for (let at = 0; at < BITS; at++) bytes[random(bytes.length)]! ^= 1 << random(8);
      return bytes;
    });
    await read(table, false, `flipped bits of ${file.path}`);
    await isAlone(table);
  }
  console.log(`rot of Lance tables, flipped bits: ${JSON.stringify(counts)}`);
});
