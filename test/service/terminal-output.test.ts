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

describe.each([80, 160])('in a terminal of %d columns', (columns) => {
  it.each(Object.entries(commands))('prints %s', async (name, words) => {
    const { code, text } = await inTerminal(words, { columns, cwd: service.folder });
    expect(code).toBe(withFindings.includes(name) ? 1 : 0);
    const lines = text.split('\n');
    expect(lines.filter((line) => line.length > columns)).toEqual([]);
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

describe('a long answer', () => {
  const search = ['audit', 'search', '--data', 'data'];
  const marks = `awk '{print "page: " $0} END {print "the end"}'`;

  /** What the terminal of few lines receives. */
  const answer = async (
    variables: Readonly<Record<string, string>>,
    words: readonly string[] = search,
    rows = 5,
  ) => {
    const options = { columns: 160, rows, cwd: service.folder, variables };
    const { code, text } = await inTerminal(words, options);
    return { code, lines: text.trimEnd().split('\n') };
  };

  it('goes to the pager, which gets all of it, and the command waits for its end', async () => {
    const { code, lines } = await answer({ PAGER: 'cat -n', ARROWGATE_PAGER: marks });
    expect(code).toBe(0);
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.slice(0, -1).every((line) => line.startsWith('page: '))).toBe(true);
    expect([lines[0], lines.at(-1)]).toEqual([expect.stringContaining('TIME'), 'the end']);
  });

  it('goes to the pager of PAGER, with words after its name', async () => {
    const { lines } = await answer({ PAGER: 'sed -e s/^/x/' });
    expect(lines.every((line) => line.startsWith('x'))).toBe(true);
  });

  it('goes to less where no variable names another, which shows a screen until it is left', async () => {
    const variables = { PAGER: undefined, LESS: undefined };
    const options = { columns: 160, rows: 5, cwd: service.folder, variables, typed: 'q' };
    const { code, text } = await inTerminal(search, options);
    expect(code).toBe(0);
    expect(text).toContain('TIME');
    expect(text).not.toContain('DropTable');
  });

  it.each([
    ['a longer screen', {}, search, 50],
    ['--no-pager', {}, [...search, '--no-pager'], 5],
    ['--no-pager before the command', {}, ['--no-pager', ...search], 5],
    ['--json', {}, [...search, '--json'], 5],
    ['--format json', {}, [...search, '--format', 'json'], 5],
    ['an empty pager', { ARROWGATE_PAGER: '' }, search, 5],
    ['the pager cat', { ARROWGATE_PAGER: 'cat' }, search, 5],
    ['a terminal that cannot move', { TERM: 'dumb' }, search, 5],
    ['help', {}, ['--help'], 5],
  ])('goes to none with %s', async (_, variables, words, rows) => {
    const { lines } = await answer({ ARROWGATE_PAGER: marks, ...variables }, words, rows);
    expect(lines.length).toBeGreaterThan(8);
    expect(lines.filter((line) => line.startsWith('page: '))).toEqual([]);
  });

  it('is printed where there is no such pager, with what to do', async () => {
    const { code, lines } = await answer({ ARROWGATE_PAGER: 'no-such-pager -x' });
    expect(code).toBe(0);
    expect(lines[0]).toBe(
      'arrowgate: the pager no-such-pager -x cannot be started: set ARROWGATE_PAGER or PAGER to another, or use --no-pager',
    );
    expect(lines[1]).toContain('TIME');
  });

  it('ends with the pager, when its reader has seen enough', async () => {
    const { code, lines } = await answer({ ARROWGATE_PAGER: 'head -n 2' });
    expect([code, lines.length]).toEqual([0, 2]);
  });
});
