import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestOutcome } from '../../src/gateway/outcome.ts';
import { Shadow } from '../../src/gateway/shadow.ts';
import { CatalogError } from '../../src/protocol/errors.ts';
import type { PolicySnapshot } from '../../src/policy/decide/snapshot.ts';
import { buildPolicy } from '../../src/policy/load.ts';
import { principal, shippedModel, snapshotOf } from '../policy/support.ts';
import { admin, ask, json, start, type Harness, type Setup } from './harness.ts';

let harness: Harness | undefined;

afterEach(async () => {
  await harness?.close();
  harness = undefined;
});

async function served(shadow: PolicySnapshot, setup: Setup = {}): Promise<Harness> {
  harness = await start({ shadow, ...setup });
  return harness;
}

const shadowsOf = ({ audit }: Harness) => audit.records.map(({ phase, shadow }) => [phase, shadow]);

describe('a shadow policy', () => {
  it('changes no answer, and stands in the records where it differs', async () => {
    const shadow = await snapshotOf('p, role:admin, /a, *, allow', 'p, role:admin, /b, *, deny');
    const served1 = await served(shadow);
    expect((await ask(served1, '/v1/table/a/describe', { headers: admin })).status).toBe(200);
    expect((await ask(served1, '/v1/table/b/describe', { headers: admin })).status).toBe(200);
    const differs = { decision: 'deny', rule: 'policy.csv:2', policy_digest: shadow.digest };
    expect(shadowsOf(served1)).toEqual([
      ['attempt', null],
      ['outcome', null],
      ['attempt', differs],
      ['outcome', differs],
    ]);
  });

  it('is told of what it would allow, of the body as well', async () => {
    const shadow = await snapshotOf('p, *, /**, *, allow', 'p, role:admin, /c, *, deny');
    const policy = 'p, role:admin, /a, *, allow\np, role:admin, /c, *, allow\n';
    const handle: Setup['handle'] = (request, permit) => {
      permit.require('QueryTable', ['b', ...request.object]);
      return { status: 200, body: null };
    };
    const one = await served(shadow, { policy, handle });
    expect((await ask(one, '/v1/table/a/describe', { headers: admin })).status).toBe(403);
    expect((await ask(one, '/v1/table/d/describe', { headers: admin })).status).toBe(403);
    expect((await ask(one, '/v1/table/c/describe', { headers: admin })).status).toBe(403);
    const allows = { decision: 'allow', rule: 'policy.csv:1', policy_digest: shadow.digest };
    const outcomes = one.audit.outcomes().map(({ decision, shadow: found }) => [decision, found]);
    expect(outcomes).toEqual([
      ['deny', allows],
      ['deny', allows],
      ['deny', null],
    ]);
  });

  it('is told of fewer, more and other rows and columns of requests that both allow', async () => {
    const restrictions = (...entries: readonly string[]) =>
      `restrictions:\n${entries.map((entry, at) => `  - { name: r${at}, ${entry} }\n`).join('')}`;
    const { snapshot: shadow } = await buildPolicy({
      model: shippedModel,
      policy: 'p, *, /**, *, allow\n',
      restrictions: restrictions(
        "tables: ['/a'], rows: x > 1",
        "tables: ['/c'], columns: { x: hidden }",
      ),
    });
    const one = await served(shadow, {
      policy: 'p, role:admin, /**, *, allow\n',
      restrictions: restrictions("tables: ['/b'], rows: x > 1", "tables: ['/c'], rows: x > 2"),
    });
    for (const name of ['a', 'b', 'c', 'd']) {
      expect((await ask(one, `/v1/table/${name}/describe`, { headers: admin })).status).toBe(200);
    }
    const found = (decision: string, rule: string | null) => ({
      decision,
      rule,
      policy_digest: shadow.digest,
    });
    expect(one.audit.outcomes().map(({ shadow: each }) => each)).toEqual([
      found('fewer', 'restrictions.yaml:2'),
      found('more', null),
      found('other', 'restrictions.yaml:3'),
      null,
    ]);
  });

  it('is not compared with what no policy decided', async () => {
    const shadow = await snapshotOf('p, *, /**, *, allow');
    const handle: Setup['handle'] = () => {
      throw new CatalogError('PermissionDenied', 'the backend does not like it');
    };
    const one = await served(shadow, { handle });
    expect((await ask(one, '/v1/table/a/describe', { headers: admin })).status).toBe(403);
    expect((await ask(one, '/v1/table/a/describe')).status).toBe(401);
    expect((await ask(one, '/v1/table/a/create?mode=what', { headers: admin })).status).toBe(400);
    expect(new Set(one.audit.records.map(({ shadow: found }) => found))).toEqual(new Set([null]));
  });

  it('that cannot be asked disturbs nothing, and makes the gateway degraded', async () => {
    const good = await snapshotOf('p, *, /**, *, allow');
    const broken: PolicySnapshot = Object.create(good, {
      decide: {
        value: () => {
          throw new Error('the matcher gave up');
        },
      },
    });
    const one = await served(broken);
    expect((await ask(one, '/v1/table/a/describe', { headers: admin })).status).toBe(200);
    expect((await ask(one, '/v1/table/a/describe', { headers: admin })).status).toBe(200);
    expect(new Set(one.audit.records.map(({ shadow: found }) => found))).toEqual(new Set([null]));
    const why = 'the shadow policy failed: Error: the matcher gave up';
    const ready = await ask(one, '/readyz', { method: 'GET', headers: admin });
    expect(ready.status).toBe(200);
    expect(json(ready)).toMatchObject({
      status: 'degraded',
      parts: expect.arrayContaining([{ part: 'shadow', status: 'degraded', why }]),
    });
    expect(one.logged.filter((line) => line.includes('the shadow policy failed'))).toHaveLength(1);
  });

  it('is counted each time, and logged once a minute of each kind', async () => {
    const logged: string[] = [];
    const log = pino({}, { write: (line: string) => void logged.push(line) });
    const shadow = new Shadow({ current: () => undefined, refused: () => 'bad files' }, log);
    expect(shadow.fault()).toBe('bad files');
    expect(
      shadow.trial(
        principal('user:ann'),
        'd',
        { context: new Map() },
        { route: { operation: 'QueryTable', object: ['t'] }, context: () => new Map() },
      ),
    ).toBeUndefined();
    const request = { decisionId: 'd1', principal: principal('user:ann') };
    const note = (decision: 'allow' | 'deny' | null, seconds: number): void => {
      const found = decision && { decision, rule: 'policy.csv:7', policy_digest: 'abc' };
      shadow.note({ request, shadow: found } as RequestOutcome, seconds * 1000);
    };
    note('deny', 0);
    note('deny', 1);
    note('allow', 2);
    note(null, 3);
    note('deny', 59);
    note('deny', 60);
    note('allow', 61);
    expect(shadow.counts).toEqual({ allow: 2, deny: 4, fewer: 0, more: 0, other: 0 });
    const shown = logged
      .map((line) => JSON.parse(line))
      .map(({ shadow: kind, requests, rule, subject }) => [kind, requests, rule, subject]);
    expect(shown).toEqual([
      ['deny', 1, 'policy.csv:7', 'user:ann'],
      ['allow', 1, 'policy.csv:7', 'user:ann'],
      ['deny', 3, 'policy.csv:7', 'user:ann'],
    ]);
  });
});
