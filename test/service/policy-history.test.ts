import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../cli/captured.ts';
import { waitUntil } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { send } from './http.ts';
import { goodRows } from './table-bodies.ts';

/* The policies that were in force, and what two of them differ in. */

const POLICY = `p, role:admin, /**, *, allow
p, role:analyst, /prod/**, read, allow
p, role:analyst, /prod/hr/**, *, deny
p, user:eve, /prod/t, QueryTable, allow
g, user:alice, role:analyst
`;
const NEXT = POLICY.replace('/prod/hr/**, *, deny', '/prod/hr/**, modify, deny').replace(
  'QueryTable, allow\n',
  'QueryTable, allow\ng, user:eve, role:analyst\n',
);

interface Event {
  readonly digest: string | null;
  readonly state: string;
  readonly requests: number;
  readonly lines_added: number | null;
  readonly lines_removed: number | null;
  readonly findings: string | null;
}

let service: Service;

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  const create = { body: goodRows, key: ADMIN_KEY };
  await send(service.url, 'POST /v1/namespace/prod/create', { body: {}, key: ADMIN_KEY });
  await send(service.url, 'POST /v1/table/prod$t/create', create);
  await writeFile(join(service.policies, 'policy.csv'), `${NEXT}p, nonsense\n`);
  await waitUntil(async () => (await log()).some(({ state }) => state === 'refused'));
  await writeFile(join(service.policies, 'policy.csv'), NEXT);
  await waitUntil(async () => (await log()).some((event) => event.lines_added !== null));
  await send(service.url, 'POST /v1/table/prod$t/count_rows', { body: {}, key: ADMIN_KEY });
  await service.end();
});

afterAll(() => service?.stop());

async function log(...flags: readonly string[]): Promise<readonly Event[]> {
  const places = ['--data', service.data, '--policies', service.policies];
  const { lines } = await run('policy', 'log', '--json', ...flags, ...places);
  return JSON.parse(lines[0]!) as readonly Event[];
}

describe('policy log', () => {
  it('has each policy with its requests, and each refused reload, in their order', async () => {
    const events = await log();
    expect(events).toMatchObject([
      { state: 'archived', requests: 2, lines_added: null },
      { state: 'refused', digest: null, findings: expect.stringContaining('policy.csv:7') },
      { state: 'current', requests: 1, lines_added: 2, lines_removed: 1 },
    ]);
  });

  it('has a period', async () => {
    expect(await log('--until', '1h')).toEqual([]);
  });
});

interface Diff {
  readonly access: readonly Readonly<Record<string, unknown>>[];
  readonly sight: readonly Readonly<Record<string, unknown>>[];
  readonly files: readonly Readonly<Record<string, unknown>>[];
}

async function diff(from: string, to: string): Promise<Diff & { readonly code: number }> {
  const { code, lines } = await run('policy', 'diff', from, to, '--json', '--data', service.data);
  return { ...(JSON.parse(lines[0]!) as Diff), code };
}

describe('policy diff', () => {
  it('says whose access an archived policy changed, from the beginning of its digest', async () => {
    const [first, , last] = await log();
    const found = await diff(first!.digest!.slice(0, 12), last!.digest!);
    expect(found.code).toBe(1);
    expect(found.files).toEqual([
      {
        file: 'policy.csv',
        removed: ['p, role:analyst, /prod/hr/**, *, deny'],
        added: ['p, role:analyst, /prod/hr/**, modify, deny', 'g, user:eve, role:analyst'],
      },
    ]);
    const shown = found.access.map(({ kind, caller, object, before, after }) =>
      [kind, caller, object, before, after].join(' '),
    );
    expect(shown).toEqual([
      'gains role:analyst /prod/hr/** policy.csv:3 policy.csv:2',
      'gains user:alice /prod/hr/** policy.csv:3 policy.csv:2',
      expect.stringMatching(/^gains user:eve \/prod\/\*\*  policy.csv:2$/),
    ]);
    expect(found.access[0]).toMatchObject({ actions: ['describe', 'read'] });
  });

  it('has the opposite in the other direction', async () => {
    const [first, , last] = await log();
    const back = await diff(last!.digest!, first!.digest!);
    expect(new Set(back.access.map(({ kind }) => kind))).toEqual(new Set(['loses']));
    expect(back.access).toHaveLength(3);
  });

  it('compares folders, and knows the roles of keys', async () => {
    const proposed = join(service.folder, 'proposed');
    await cp(service.policies, proposed, { recursive: true });
    expect(await diff(service.policies, proposed)).toMatchObject({
      code: 0,
      access: [],
      files: [],
    });
    await service.key('carl', 'analyst');
    await writeFile(
      join(proposed, 'policy.csv'),
      `${NEXT}p, role:analyst, /lake/**, read, allow\n`,
    );
    const { access } = await diff(service.policies, proposed);
    const callers = access.map(({ caller }) => String(caller).replace(/ \(key .*/, ' (key)'));
    expect(callers).toEqual(['role:analyst', 'user:alice', 'user:eve', 'user:carl (key)']);
  });

  it('says who would see other rows and columns', async () => {
    const masked = join(service.folder, 'masked');
    await cp(service.policies, masked, { recursive: true });
    await writeFile(
      join(masked, 'restrictions.yaml'),
      `restrictions:
  - name: own
    tables: ['/prod/sales/**']
    subjects: ['role:analyst']
    rows: region = 'eu'
    columns: { email: { mask: sha256 } }
`,
    );
    const { code, access, sight } = await diff(service.policies, masked);
    expect([code, access]).toEqual([1, []]);
    const analyst = sight.filter(({ caller }) => caller === 'role:analyst');
    expect(analyst.map(({ direction, column, was, now }) => [direction, column, was, now])).toEqual(
      [
        ['fewer', null, 'all', "region = 'eu'"],
        ['fewer', 'email', 'shown', 'sha256'],
      ],
    );
    expect(new Set(sight.map(({ object }) => object))).toEqual(new Set(['/prod/sales/**']));
    expect(sight.map(({ caller }) => caller)).not.toContain('role:admin');
    const { lines } = await run('policy', 'diff', masked, service.policies);
    expect(lines.join('\n')).toMatch(
      /more of email +role:analyst +\/prod\/sales\/\*\* +sha256 +shown/,
    );
  });

  it('shows a change of comments without a change of access', async () => {
    const same = join(service.folder, 'same');
    await cp(service.policies, same, { recursive: true });
    await writeFile(join(same, 'policy.csv'), `# a remark\n${NEXT}`);
    const { code, lines } = await run('policy', 'diff', service.policies, same);
    expect([code, lines.join('\n')]).toEqual([
      0,
      "policy.csv: 0 lines removed, 1 added\n  + # a remark\nnobody's access changes",
    ]);
  });

  it.each([
    ['nowhere', 'is neither a policy folder nor the digest of an archived policy'],
    ['abcdef', 'is neither a policy folder nor the digest of an archived policy'],
  ])('refuses %s', async (from, sentence) => {
    const { code, notes } = await run('policy', 'diff', from, '.', '--data', service.data);
    expect([code, notes.join()]).toEqual([2, expect.stringContaining(`${from} ${sentence}`)]);
  });

  it('refuses a folder whose policy is broken, with its line', async () => {
    const broken = join(service.folder, 'broken');
    await mkdir(broken);
    await cp(service.policies, broken, { recursive: true });
    await writeFile(join(broken, 'policy.csv'), 'p, role:a, /**, reed, allow\n');
    const { code, notes } = await run('policy', 'diff', service.policies, broken);
    expect([code, notes[0]]).toEqual([2, expect.stringMatching(/^policy\.csv:1: /)]);
  });
});
