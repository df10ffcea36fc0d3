import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandGroups } from '../../src/cli/command-groups.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { inTerminal, steady } from '../support/terminal.ts';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* What the built program prints in a terminal of 80 and of 160 columns: `golden/` has the texts. */

const POLICY = `p, role:admin, /**, *, allow
p, role:analyst, /prod/**, read, allow
p, role:analyst, /prod/hr/**, *, deny
g, user:alice, role:analyst
`;

let service: Service;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  const alice = await service.key('alice');
  for (const path of ['prod', 'prod$hr']) await ask(`POST /v1/namespace/${path}/create`);
  await ask('POST /v1/table/prod$hr$salaries/create', ADMIN_KEY, goodRows);
  await ask('POST /v1/table/prod$orders/create', ADMIN_KEY, goodRows, 'create-orders');
  for (const table of ['prod$orders', 'prod$hr$salaries', 'prod$orders']) {
    await ask(`POST /v1/table/${table}/count_rows`, alice, {}, `count-${table}`);
  }
  await ask('POST /v1/table/prod$old/create', ADMIN_KEY, goodRows);
  await ask('POST /v1/table/prod$old/drop');
  await service.end();
  const proposed = join(service.folder, 'proposed');
  await cp(service.policies, proposed, { recursive: true });
  await writeFile(
    join(proposed, 'policy.csv'),
    POLICY.replace('/prod/hr/**, *', '/prod/hr/**, modify'),
  );
});

afterAll(() => service?.stop());

async function ask(
  line: string,
  key: string = ADMIN_KEY,
  body: Uint8Array | object = {},
  id?: string,
) {
  const headers = { 'user-agent': 'golden', ...(id !== undefined && { 'x-request-id': id }) };
  return send(service.url, line, { key, body, headers });
}

const asked = ['--action', 'QueryTable', '--object', '/prod/hr/salaries'];

const commands: Readonly<Record<string, readonly string[]>> = {
  'audit-search': ['audit', 'search', '--data', 'data'],
  'audit-search-columns': ['audit', 'search', '--data', 'data', '--columns', 'subject,rule'],
  'audit-report': ['audit', 'report', '--by', 'object', '--data', 'data'],
  'audit-report-no-header': ['audit', 'report', '--by', 'reason', '--no-header', '--data', 'data'],
  'policy-log': ['policy', 'log', '--data', 'data', '--policies', 'policies'],
  'policy-diff': ['policy', 'diff', 'proposed', './policies', '--data', 'data'],
  'audit-show': ['audit', 'show', 'count-prod$hr$salaries', '--data', 'data'],
  'audit-show-commit': ['audit', 'show', 'create-orders', '--data', 'data'],
  'audit-verify': ['audit', 'verify', '--data', 'data'],
  'keys-list': ['keys', 'list', '--data', 'data'],
  'policy-who': ['policy', 'who', ...asked, '--policies', 'policies', '--data', 'data'],
  'policy-explain': [
    'policy',
    'explain',
    '--subject',
    'alice',
    ...asked,
    '--policies',
    'policies',
    '--data',
    'data',
  ],
  'policy-check': ['policy', 'check', '--policies', 'proposed', '--data', 'data'],
  'policy-unused': ['policy', 'unused', '--policies', 'policies', '--data', 'data'],
  'policy-replay': ['policy', 'replay', '--policies', 'proposed', '--data', 'data'],
  check: ['check', '--policies', 'policies', '--data', 'data'],
  'config-check': ['config', 'check', '--policies', 'policies', '--data', 'data'],
  'catalog-dropped': ['catalog', 'dropped', '--data', 'data'],
  'catalog-verify': ['catalog', 'verify', '--data', 'data'],
  'catalog-gc': ['catalog', 'gc', '--dry-run', '--data', 'data'],
  help: ['--help'],
  ...Object.fromEntries(
    commandGroups.map(({ name }): [string, readonly string[]] => [
      `${name}-help`,
      [name, '--help'],
    ]),
  ),
};

/** Commands that have findings. */
const withFindings = ['policy-diff', 'policy-explain', 'policy-replay'];

/** Commands whose lines are sentences or values, which the terminal wraps. */
const wrapped = ['audit-verify', 'catalog-verify', 'config-check'];

describe.each([80, 160])('in a terminal of %d columns', (columns) => {
  it.each(Object.entries(commands))('prints %s', async (name, words) => {
    const { code, text } = await inTerminal(words, { columns, cwd: service.folder });
    expect(code).toBe(withFindings.includes(name) ? 1 : 0);
    const lines = text.split('\n');
    if (!wrapped.includes(name)) expect(lines.filter((line) => line.length > columns)).toEqual([]);
    await expect(steady(text)).toMatchFileSnapshot(`golden/${name}-${columns}.txt`);
  });
});

describe('colours', () => {
  const search = ['audit', 'search', '--data', 'data', '--decision', 'deny'];

  it.each([
    ['are printed in a terminal', {}, true],
    ['are not printed with NO_COLOR', { NO_COLOR: '1' }, false],
    ['are not printed in a terminal that has none', { TERM: 'dumb' }, false],
  ])('%s', async (_, variables, isColoured) => {
    const options = { columns: 160, cwd: service.folder };
    const { text } = await inTerminal(search, {
      ...options,
      variables: { NO_COLOR: '', ...variables },
    });
    expect([text.includes('\u001b[31mdeny'), text.includes('\u001b[1m')]).toEqual([
      isColoured,
      isColoured,
    ]);
  });

  it('are not printed into a pipe, nor are cells cut there', async () => {
    const { out } = await service.command('audit', 'search', '--decision', 'deny');
    expect(out.includes('\u001b') || out.includes('…')).toBe(false);
    expect(out).toMatch(/ policy\.csv:3 +count-prod\$hr\$salaries$/m);
  });
});
