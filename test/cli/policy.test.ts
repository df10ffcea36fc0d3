import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MODEL, POLICY } from '../gateway/harness.ts';
import { run } from './captured.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-policy-'));
  await writeFile(join(folder, 'model.conf'), MODEL);
  await writeFile(join(folder, 'policy.csv'), POLICY);
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('policy check', () => {
  it('says yes to a policy whose cases come out', async () => {
    await writeFile(
      join(folder, 'cases.yaml'),
      'cases:\n  - { subject: user:a, roles: [role:analyst], action: QueryTable, object: /prod/x, expect: allow }\n',
    );
    expect(await run('policy', 'check', '--policies', folder)).toEqual({
      code: 0,
      lines: ['the policy can be used; 1 cases come out as expected'],
      notes: [],
    });
  });

  it('finds a case that does not', async () => {
    await writeFile(
      join(folder, 'cases.yaml'),
      'cases:\n  - { subject: user:a, action: QueryTable, object: /prod/x, expect: allow, because: all read }\n',
    );
    const { code, lines } = await run('policy', 'check', '--policies', folder, '--json');
    expect(code).toBe(1);
    expect(JSON.parse(lines[0]!)).toEqual({
      cases: 1,
      findings: [
        'cases.yaml:2: user:a QueryTable /prod/x is denied (no line decides), expected allow: all read',
      ],
      warnings: [],
    });
  });

  it('finds what is wrong with the files', async () => {
    await writeFile(join(folder, 'policy.csv'), 'p, role:admin, /**, *, alow\n');
    const { code, lines } = await run('policy', 'check', '--policies', folder);
    expect(code).toBe(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^policy\.csv:1: /);
  });
});

describe('policy explain', () => {
  const question = ['--action', 'QueryTable', '--object', '/prod/x'];

  it('names the line that allows', async () => {
    const words = ['--subject', 'alice', '--role', 'analyst', ...question];
    expect(await run('policy', 'explain', '--policies', folder, ...words)).toMatchObject({
      code: 0,
      lines: ['allow: the policy allows QueryTable (policy.csv:2)'],
    });
  });

  it('names the nearest line to a denial', async () => {
    const words = ['--subject', 'alice', '--role', 'loader', ...question];
    const { code, lines } = await run('policy', 'explain', '--policies', folder, ...words);
    expect(code).toBe(1);
    expect(lines[0]).toMatch(
      /^deny: the policy does not allow QueryTable\nnearest: policy\.csv:\d: /,
    );
  });

  it.each([
    [
      ['--action', 'Fly', '--object', '/'],
      'arrowgate: "Fly" is neither an operation nor an access group',
    ],
    [
      ['--action', 'read', '--object', 'prod'],
      'arrowgate: "prod" is not a canonical path such as /prod/sales',
    ],
  ])('refuses %j', async (words, sentence) => {
    const all = ['policy', 'explain', '--policies', folder, '--subject', 'a', ...words];
    expect(await run(...all)).toEqual({ code: 2, lines: [], notes: [sentence] });
  });
});

describe('policy who', () => {
  it('lists those who may', async () => {
    const words = ['--action', 'QueryTable', '--object', '/prod/x'];
    expect(await run('policy', 'who', '--policies', folder, ...words)).toMatchObject({
      code: 0,
      lines: ['role:admin    policy.csv:1\nrole:analyst  policy.csv:2'],
    });
  });
});

describe('the command line', () => {
  it('shows its help and its version', async () => {
    expect(await run('--help')).toMatchObject({ code: 0, notes: [] });
    expect((await run('serve', '--help')).lines.join('\n')).toContain('--admin-key');
    expect((await run('--version')).lines).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
  });

  it('refuses a command that it does not know', async () => {
    expect(await run('frob')).toEqual({
      code: 2,
      lines: [],
      notes: ["error: unknown command 'frob'"],
    });
  });

  it('checks a configuration, and hides what is secret', async () => {
    const hidden = ['--admin-key', 'hush', '--redis', 'redis://:hush@h'];
    const good = await run('config', 'check', '--json', '--port', '7', ...hidden);
    expect(good.code).toBe(0);
    expect(JSON.parse(good.lines[0]!)).toMatchObject({
      'listen.port': 7,
      'cache.bytes': 268_435_456,
      'coordination.redis': '(hidden)',
    });
    expect(good.lines.join('')).not.toContain('hush');
    expect(await run('config', 'check', '--port', 'x')).toEqual({
      code: 2,
      lines: [],
      notes: ['arrowgate: --port is "x", but must be a whole number from 0 to 65535'],
    });
  });

  it('describes every key of the configuration', async () => {
    const { lines } = await run('config', 'keys', '--json');
    const rows = JSON.parse(lines[0]!) as readonly Record<string, string>[];
    expect(rows).toContainEqual({
      key: 'listen.port',
      flag: '--port',
      variable: 'ARROWGATE_PORT',
      kind: 'number',
      default: '2333',
      meaning: 'port to listen on; 0 takes any free one',
    });
  });
});
