import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policyDigest } from '../../src/policy/policy-folder.ts';
import { shippedModel } from '../policy/support.ts';
import { Service } from '../support/service.ts';
import { send } from './http.ts';
import { noVector } from './table-bodies.ts';

/** A long policy, so that it is written in many pieces: whom it denies stands at its end. */
function policyOf(turn: 'odd' | 'even'): string {
  return [
    'p, role:admin, /**, *, allow',
    'g, user:admin, role:admin',
    'p, user:ann, /ns/**, describe, allow',
    'p, user:bad, /ns/**, describe, allow',
    `p, user:${turn}, /ns/**, describe, allow`,
    ...Array.from({ length: 3000 }, (_, n) => `p, user:n${n}, /ns/t${n}/**, read, allow`),
    'p, user:bad, /ns/t, *, deny',
    '',
  ].join('\n');
}

const texts = { odd: policyOf('odd'), even: policyOf('even') };

let service: Service;
const keys = new Map<string, string>();
/** Whatever was answered otherwise than every good policy says. */
const wrong: string[] = [];
let asked = 0;
const stopping = new AbortController();
let load: Promise<unknown>;

async function statusOf(name: string): Promise<number> {
  const key = keys.get(name)!;
  return (await send(service.url, 'POST /v1/table/ns$t/describe', { key })).status;
}

async function expectAlways(name: string, status: number): Promise<void> {
  while (!stopping.signal.aborted) {
    const found = await statusOf(name);
    asked += 1;
    if (found !== status) wrong.push(`${name}: ${found}`);
  }
}

beforeAll(async () => {
  service = await Service.start({ policy: texts.odd });
  for (const name of ['ann', 'bad', 'odd', 'even', 'nobody']) {
    keys.set(name, await service.key(name));
  }
  for (const [line, body] of [
    ['POST /v1/namespace/ns/create', {}],
    ['POST /v1/table/ns$t/create', noVector],
  ] as const) {
    expect((await send(service.url, line, { body })).status).toBe(200);
  }
  load = Promise.all([
    ...[1, 2].map(() => expectAlways('ann', 200)),
    ...[1, 2].map(() => expectAlways('bad', 403)),
    expectAlways('nobody', 403),
  ]);
});

afterAll(async () => {
  stopping.abort();
  await load;
  await service.stop();
});

/** Waits until the policy of this turn is in force, and the other is not. */
async function inForce(turn: 'odd' | 'even'): Promise<void> {
  const other = turn === 'odd' ? 'even' : 'odd';
  const both = async () => [await statusOf(turn), await statusOf(other)];
  await expect.poll(both).toEqual([200, 403]);
}

/** Waits until the files are refused, which `/readyz` tells the administrator. */
async function refused(finding: string): Promise<void> {
  const told = async () => (await send(service.url, 'GET /readyz')).text;
  await expect.poll(told).toContain(finding);
}

const file = () => join(service.policies, 'policy.csv');

async function fill(folder: string, policy: string): Promise<void> {
  await mkdir(folder);
  await writeFile(join(folder, 'model.conf'), shippedModel);
  await writeFile(join(folder, 'policy.csv'), policy);
}

describe('a policy that changes under load', () => {
  it('is swapped whole when its file is written piece by piece', async () => {
    const pieces = 8;
    const size = Math.ceil(texts.even.length / pieces);
    for (let piece = 1; piece <= pieces; piece++) {
      await writeFile(file(), texts.even.slice(0, piece * size));
      await sleep(120);
    }
    await inForce('even');
  });

  it.each([
    ['is empty', () => '', 'the file is empty'],
    ['lost all its lines', () => '# nothing\n', 'the policy has no p line'],
    ['is cut in a line', () => texts.odd.slice(0, 60_000), 'it may be cut short'],
    ['lacks the newline at its end', () => texts.odd.trimEnd(), 'it may be cut short'],
    ['has an error', () => `${texts.odd}p, user:x, /a, read, alow\n`, 'the effect is \\"alow\\"'],
    ['has a cycle', () => `${texts.odd}g, role:a, role:a\n`, 'the roles form a cycle'],
  ])('stays as it was when the file %s', async (_, text, finding) => {
    await writeFile(file(), text());
    await refused(finding);
    expect([await statusOf('even'), await statusOf('odd')]).toEqual([200, 403]);
  });

  it('stays as it was when a case fails, or its end with a deny is late', async () => {
    const cases = join(service.policies, 'cases.yaml');
    await writeFile(
      cases,
      'cases:\n  - { subject: user:bad, action: DescribeTable, object: /ns/t, expect: deny, because: bad is out }\n',
    );
    await writeFile(file(), texts.odd.replace('p, user:bad, /ns/t, *, deny\n', ''));
    await refused('cases.yaml:2: user:bad DescribeTable /ns/t is allowed');
    expect([await statusOf('even'), await statusOf('odd')]).toEqual([200, 403]);
    await rm(cases);
    for (let time = 1; time <= 3; time++) {
      await writeFile(
        file(),
        `${texts.odd.slice(0, texts.odd.indexOf('p, user:bad, /ns/t,'))}# ${time}\n`,
      );
      await sleep(800);
    }
    await writeFile(file(), texts.even);
    await inForce('even');
  });

  it('stays as it was when the file or the folder is gone', async () => {
    await rm(file());
    await refused('policy.csv: the file cannot be read');
    await rename(service.policies, join(service.folder, 'away'));
    await refused('model.conf: the file cannot be read');
    expect([await statusOf('even'), await statusOf('odd')]).toEqual([200, 403]);
  });

  it('is swapped whole when another folder is renamed into its place', async () => {
    await fill(join(service.folder, 'next'), texts.odd);
    await rename(join(service.folder, 'next'), service.policies);
    await inForce('odd');
  });

  it('is swapped whole when its folder is a link that is pointed elsewhere', async () => {
    await rename(service.policies, join(service.folder, 'one'));
    await symlink('one', service.policies);
    await fill(join(service.folder, 'two'), texts.even);
    await symlink('two', join(service.folder, 'link'));
    await rename(join(service.folder, 'link'), service.policies);
    await inForce('even');
  });

  it('gave no wrong verdict meanwhile, and decided by nothing but the two policies', async () => {
    stopping.abort();
    await load;
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(100);
    const good = Object.values(texts).map((policy) =>
      policyDigest({ model: shippedModel, policy }),
    );
    const used = new Set((await service.audit()).map((record) => record['policy_digest']));
    used.delete(null);
    used.delete(undefined);
    expect(used).toEqual(new Set(good));
  });
});
