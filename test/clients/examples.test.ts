import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Service } from '../support/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let service: Service;
let adminKey: string;
let readerKey: string;

/** As the quick start has it: the first key is the one that the program made itself. */
beforeAll(async () => {
  service = await Service.start({ adminKey: false });
  adminKey = await readFile(join(service.data, 'private', 'initial-admin-key'), 'utf8');
  const made = await service.command('keys', 'create', '--subject', 'rita', '--role', 'reader');
  expect(made.code).toBe(0);
  readerKey = made.out;
});

afterAll(() => service.stop());

interface Ran {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

/** Runs an example with a key; as `$(…)` of a shell does, without the newline behind it. */
async function run(example: string, key: string): Promise<Ran> {
  const env = { ...process.env, ARROWGATE_URL: service.url, ARROWGATE_KEY: key.trimEnd() };
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/${example}.ts`], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, lines: out.split('\n').slice(0, -1), errors };
}

describe('the quick start', () => {
  it('begins with a key that only its owner can read', async () => {
    expect(adminKey).toMatch(/^agk_[a-z0-9]{8,16}_[A-Za-z0-9_-]{43}\n?$/);
    const { mode } = await stat(join(service.data, 'private', 'initial-admin-key'));
    expect(mode & 0o777).toBe(0o600);
  });

  it('prints a key for a reader, and nothing else', () => {
    expect(readerKey).toMatch(/^agk_[a-z0-9]{8,16}_[A-Za-z0-9_-]{43}\n?$/);
  });

  it('loads the data as the administrator', async () => {
    expect(await run('load', adminKey)).toEqual({
      code: 0,
      lines: ['movies', '  3201 rows, version 1', 'flights', '  20000 rows, version 1'],
      errors: '',
    });
  });

  it('loads it again as the next version', async () => {
    const { lines } = await run('load', adminKey);
    expect(lines).toEqual([
      'movies',
      '  3201 rows, version 2',
      'flights',
      '  20000 rows, version 2',
    ]);
  });

  it('answers the questions of a reader, who may not write', async () => {
    const { code, lines, errors } = await run('read', readerKey);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(lines).toEqual(ANSWERS);
  });

  it('searches the films by words', async () => {
    const { code, lines, errors } = await run('search', adminKey);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(lines).toEqual(SEARCHES);
  });

  it('refuses a reader who loads', async () => {
    const { code, lines, errors } = await run('load', readerKey);
    expect({ code, lines }).toEqual({ code: 1, lines: [] });
    expect(errors).toContain('user:rita may not CreateNamespace on /examples');
  });

  it('asks for a key', async () => {
    const { code, errors } = await run('read', '');
    expect(code).toBe(1);
    expect(errors).toContain('set ARROWGATE_KEY to an API key');
  });
});

const ANSWERS = [
  'tables',
  '  flights',
  '  movies',
  'best of those that many have seen',
  '  {"title":"The Godfather","rating":9.2}',
  '  {"title":"The Shawshank Redemption","rating":9.2}',
  '  {"title":"The Godfather: Part II","rating":9}',
  '  {"title":"One Flew Over the Cuckoo\'s Nest","rating":8.9}',
  '  {"title":"Pulp Fiction","rating":8.9}',
  '  {"title":"Schindler\'s List","rating":8.9}',
  '  {"title":"The Dark Knight","rating":8.9}',
  'dear and unloved',
  '  {"lost_millions":94,"title":"Town & Country"}',
  '  {"lost_millions":92,"title":"The Adventures of Pluto Nash"}',
  '  {"lost_millions":70,"title":"Fantasia 2000 (Theatrical Release)"}',
  'films like The Matrix',
  expect.stringMatching(/^ {2}\{"title":"Fight Club","_distance":0\.0026\d*\}$/),
  expect.stringMatching(/^ {2}\{"title":"Saving Private Ryan","_distance":0\.0035\d*\}$/),
  expect.stringMatching(/^ {2}\{"title":"Kill Bill: Volume 1","_distance":0\.0039\d*\}$/),
  'flights that were an hour late',
  '  1089 of 20000',
  'longest waits in San Francisco',
  '  {"destination":"DEN","delay":203}',
  '  {"destination":"PHX","delay":186}',
  '  {"destination":"SAN","delay":184}',
  'adding a film',
  '  user:rita may not InsertIntoTable on /examples/movies',
];

const SEARCHES = [
  'indices',
  '  director_idx',
  '  title_idx',
  'any of two words, in titles and directors',
  '  Empire: 8.49',
  '  Star Wars Ep. V: The Empire Strikes Back: 7.15',
  '  3 Strikes: 7.13',
  'other forms of a word',
  '  The Hunted: 8.23',
  '  Good Will Hunting: 6.65',
  '  Mouse Hunt: 6.65',
  'a misspelt name',
  '  Cape Fear: 4.88',
  '  The Color of Money: 4.88',
  '  Casino: 4.88',
  'a phrase',
  '  The Lord of the Rings: The Fellowship of the Ring: 11.79',
  '  The Lord of the Rings: The Two Towers: 9.50',
  '  The Lord of the Rings: The Return of the King: 9.50',
  'names of people twice as much',
  '  Crooklyn: 8.18',
  '  Do the Right Thing: 8.18',
  '  Girl 6: 8.18',
  'good nights',
  '  In the Heat of the Night: 8.1',
  '  It Happened One Night: 8.3',
  'words and likeness together',
  '  Alien',
  '  Aliens',
  '  2001: A Space Odyssey',
];
