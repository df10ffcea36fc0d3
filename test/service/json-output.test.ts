import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandGroups } from '../../src/cli/command-groups.ts';
import { run } from '../cli/captured.ts';
import { waitUntil } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';
import { Service } from '../support/service.ts';
import { ARROW_STREAM, send, sendGranted } from './http.ts';
import { goodRows } from './table-bodies.ts';

/**
 * What every command prints with `--json`, on the data folder of a service that was used. `golden/json-keys.txt` has the
 * keys: programs read them.
 */

const POLICY = `p, role:admin, /**, *, allow
p, role:analyst, /prod/**, read, allow
g, user:alice, role:analyst
`;
const RESTRICTIONS = `restrictions:
  - name: trap
    tables: ['/prod/orders']
    except: ['role:admin']
    canary: id = 999999
    freeze: true
`;

const newFolder = testFolders();
let service: Service;
let places: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await Service.prepare({ policy: POLICY });
  await writeFile(join(service.policies, 'restrictions.yaml'), RESTRICTIONS);
  await service.restart();
  const alice = await service.key('alice');
  const spare = await service.key('bob');
  await sendGranted(service.url, 'POST /v1/namespace/prod/create', { body: {} });
  for (const path of ['prod$orders/create', 'prod$gone/create', 'prod$orders/insert']) {
    const line = `POST /v1/table/${path}`;
    await sendGranted(service.url, line, { body: goodRows, headers: ARROW_STREAM });
  }
  await sendGranted(service.url, 'POST /v1/table/prod$gone/drop', { body: {} });
  const count = (predicate: string) =>
    send(service.url, 'POST /v1/table/prod$orders/count_rows', {
      key: alice,
      body: { predicate },
      headers: { 'x-request-id': 'a-count' },
    });
  expect((await count('id > 1')).status).toBe(200);
  await send(service.url, 'POST /v1/table/prod$orders/drop', { key: alice, body: {} });
  await count('id = 999999');
  await waitUntil(async () => (await count('id > 1')).status === 401);
  await service.end();
  const proposed = join(service.folder, 'proposed');
  await cp(service.policies, proposed, { recursive: true });
  await writeFile(join(proposed, 'policy.csv'), POLICY.replace('read', 'append'));
  const idOf = (key: string) => key.split('_')[1]!;
  places = {
    POLICIES: service.policies,
    PROPOSED: proposed,
    ALICE: idOf(alice),
    SPARE: idOf(spare),
  };
});

afterAll(() => service?.stop());

/** Words of each command, in an order in which none takes away what a later one needs. Words in capitals are places. */
const commands: Readonly<Record<string, string>> = {
  check: '--policies POLICIES',
  init: 'NEW',
  'config check': '--policies POLICIES',
  'config keys': '',
  'keys create': '--subject loader --role analyst --expires 90d',
  'keys list': '',
  'keys thaw': 'ALICE',
  'keys rotate': 'SPARE --overlap 1d',
  'keys revoke': 'ALICE',
  'policy check': '--policies POLICIES',
  'policy explain': '--subject alice --action QueryTable --object /prod/orders --policies POLICIES',
  'policy who': '--action QueryTable --object /prod/orders --policies POLICIES',
  'policy replay': '--policies PROPOSED',
  'policy unused': '--policies POLICIES',
  'policy log': '--policies POLICIES',
  'policy diff': 'POLICIES PROPOSED',
  'policy seal': '--policies PROPOSED',
  'audit search': '',
  'audit report': '--by subject',
  'audit show': 'a-count',
  'audit verify': '',
  'audit unused': '--policies POLICIES',
  'audit evidence': 'NEW --policies POLICIES',
  'audit rotate-key': '',
  'commits check': '--policies POLICIES',
  'catalog dropped': '',
  'catalog undrop': '/prod/gone',
  'catalog verify': '--deep',
  'catalog compact': '',
  'catalog gc': '--dry-run',
  'catalog rebuild': '--dry-run',
  'catalog upgrade': '--dry-run',
  'catalog convert': '/prod/orders --to lance',
  'catalog backup': 'NEW',
};

/** Commands that need more than a data folder; their tests read their JSON. */
const elsewhere = ['keys move', 'catalog adopt'];
/** Commands that print no JSON. */
const plain = ['serve', 'completion'];

/** Commands that need no data folder. */
const withoutData = ['init', 'config keys', 'policy seal'];

/** Commands that exit with 1, since they have findings. */
const withFindings = ['policy diff', 'policy replay', 'policy unused', 'audit unused'];

async function commandsWithJson(): Promise<Readonly<Record<string, boolean>>> {
  const program = new Command();
  const output = { line: () => undefined, note: () => undefined, bytes: async () => true };
  for (const { load } of commandGroups) {
    (await load())(program, { output: { ...output, watched: false }, code: 0 });
  }
  const all = program.commands.flatMap((one): readonly (readonly [string, Command])[] =>
    one.commands.length === 0
      ? [[one.name(), one]]
      : one.commands.map((inner) => [`${one.name()} ${inner.name()}`, inner]),
  );
  return Object.fromEntries(
    all.map(([name, { options }]) => [name, options.some(({ long }) => long === '--json')]),
  );
}

/** Keys of a value, with those of its members: `[].id`. */
function keysOf(value: unknown, at = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => keysOf(each, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const path = at === '' ? key : `${at}.${key}`;
    return [path, ...keysOf(member, path)];
  });
}

const found = new Map<string, string>();

describe('--json', () => {
  it('is a flag of every command but those that print none', async () => {
    const flags = await commandsWithJson();
    const names = [...Object.keys(commands), ...elsewhere];
    expect(flags).toEqual(
      Object.fromEntries([
        ...names.map((name) => [name, true]),
        ...plain.map((name) => [name, false]),
      ]),
    );
  });

  it.each(Object.entries(commands))('%s prints nothing else', async (name, words) => {
    const made = join(await newFolder(), 'made');
    const typed = words.split(' ').filter((word) => word !== '');
    const given = typed.map((word) => (word === 'NEW' ? made : (places[word] ?? word)));
    const data = withoutData.includes(name) ? [] : ['--data', service.data];
    const { code, lines, notes } = await run(...name.split(' '), ...given, ...data, '--json');
    expect(code, notes.join('\n')).toBe(withFindings.includes(name) ? 1 : 0);
    const isStream = name === 'audit search';
    const values = isStream
      ? lines.map((line) => JSON.parse(line))
      : [JSON.parse(lines.join('\n'))];
    const keys = [...new Set(values.flatMap((value) => keysOf(value)))].toSorted();
    expect(keys.length).toBeGreaterThan(0);
    found.set(name, keys.join(' '));
  });

  it('has the same keys as before', async () => {
    const text = [...found].map(([name, keys]) => `${name}\n  ${keys}\n`).join('');
    await expect(text).toMatchFileSnapshot('golden/json-keys.txt');
  });
});
