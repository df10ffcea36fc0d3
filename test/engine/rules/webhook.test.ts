import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Int64, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openNotesFolder } from '../../../src/store/embedded/notes.ts';
import { EngineTable, refusalOf, streamOf } from '../../support/engine-table.ts';
import { openOther } from '../../support/engine.ts';
import { ask } from '../../support/request.ts';
import { Rulebook } from '../../support/ruled-engine.ts';
import { says as json, WebhookServer, type Asked } from '../../support/webhook-server.ts';

/** Commits that another program has the last word on. */

const rules = new Rulebook();
let table: EngineTable;
let server: WebhookServer;

beforeAll(async () => {
  server = await WebhookServer.start();
  table = await EngineTable.open({ rules });
  rules.secrets.set('JUDGE', 'a key of signatures');
  await table.create({ id: vectorFromArray([1n], new Int64()) });
});

afterAll(async () => {
  server.stop();
  await table.close();
});

beforeEach(() => {
  server.reset();
});

const insert = (id?: string) =>
  table.send('insert', {
    body: streamOf({ id: vectorFromArray([7n], new Int64()) }),
    ...(id !== undefined && { id }),
  });

function judgeBy(more = '', timeout = '30s'): void {
  rules.set(
    `rules:\n  - { name: outside, tables: ["/t"], webhook: { url: "${server.url}", secret_env: JUDGE, timeout: ${timeout}${more} } }\n`,
  );
}

const says = (fault: string) => `20 the commit rule outside refuses this of /t: ${fault}`;

describe('a webhook', () => {
  it('is told what a commit does, signed, and lets it in', async () => {
    judgeBy();
    expect((await insert()).commit?.rules).toEqual(['outside']);
    const [{ headers, body }] = server.asked as [Asked];
    const timestamp = String(headers['x-arrowgate-timestamp']);
    const digest = createHmac('sha256', 'a key of signatures').update(`${timestamp}.${body}`);
    expect(headers['x-arrowgate-signature']).toBe(`sha256=${digest.digest('hex')}`);
    expect(JSON.parse(body)).toMatchObject({
      rule: 'outside',
      table: '/t',
      operation: 'InsertIntoTable',
      action: 'append',
      branch: 'main',
      subject: 'user:tester',
      change: { rows_before: '1', rows_added: '1', rows_removed: '0', schema_changed: false },
    });
  });

  it('says no, with its reason, and nothing is changed', async () => {
    judgeBy();
    server.reply = json({ allow: false, reason: 'not\ntoday' });
    const before = await table.state();
    expect(await refusalOf(insert())).toBe(says('its webhook says no: not today'));
    expect(await table.state()).toEqual(before);
  });

  it('is asked once for a commit that its client tries again', async () => {
    judgeBy();
    server.reply = json({ allow: false });
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await refusalOf(insert('one-commit'))).toBe(says('its webhook says no'));
    }
    expect(server.asked).toHaveLength(1);
    expect(await refusalOf(insert('another'))).toBe(says('its webhook says no'));
    expect(server.asked).toHaveLength(2);
  });

  it('is asked once for a commit that its client tries again at another gateway', async () => {
    judgeBy();
    const notes = await openNotesFolder(join(table.engine.data, 'verdicts'));
    const bound = { source: rules.source, secret: rules.secret, verdicts: notes };
    const others = [
      await openOther(table.engine, { rules: bound }),
      await openOther(table.engine, { rules: bound }),
    ];
    server.reply = json({ allow: false });
    const sent = { body: streamOf({ id: vectorFromArray([7n], new Int64()) }), id: 'wandering' };
    const tries = others.map(({ backend }) => ask(backend, 'POST /v1/table/t/insert', sent));
    const told = await Promise.all(tries.map(refusalOf));
    expect(told).toEqual([says('its webhook says no'), says('its webhook says no')]);
    expect(server.asked).toHaveLength(1);
    for (const other of others) await other.close();
  });

  it('is asked for each request that nothing tells to be one that came before', async () => {
    judgeBy();
    server.reply = json({ allow: false });
    for (let attempt = 0; attempt < 2; attempt++) {
      expect(await refusalOf(insert())).toBe(says('its webhook says no'));
    }
    expect(server.asked).toHaveLength(2);
  });

  it('is not asked where another rule refuses', async () => {
    rules.set(
      `rules:\n  - { name: outside, tables: ["/t"], webhook: { url: "${server.url}", secret_env: JUDGE } }\n  - { name: few, tables: ["/t"], require: { max_rows: 0 } }\n`,
    );
    expect(await refusalOf(insert())).toMatch(/^20 the commit rule few /);
    expect(server.asked).toEqual([]);
  });

  it.each<readonly [string, (response: ServerResponse) => void, string]>([
    ['a status', (response) => response.writeHead(500).end(), 'it answered with status 500'],
    [
      'a redirect',
      (response) => response.writeHead(302, { location: server.url }).end(),
      'it answered with status 302',
    ],
    ['no JSON', (response) => response.end('yes'), 'its answer is no JSON'],
    ['no verdict', json({}), 'its answer has no allow'],
    ['half a verdict', json({ allow: 'yes' }), 'its allow is neither true nor false'],
    ['too much', json({ allow: true, reason: 'x'.repeat(20_000) }), 'its answer is too long'],
    ['nothing', (response) => response.destroy(), 'it could not be reached'],
  ])('that answers with %s fails closed, or open', async (_, answer, why) => {
    server.reply = answer;
    judgeBy();
    expect(await refusalOf(insert())).toBe(says(`its webhook gives no verdict: ${why}`));
    judgeBy(', on_failure: open');
    expect((await insert()).commit?.rules).toEqual(['outside']);
    expect(server.asked).toHaveLength(2);
  });

  it('that answers nothing in time fails closed, or open', async () => {
    server.reply = () => undefined;
    judgeBy('', '300ms');
    expect(await refusalOf(insert())).toBe(
      says('its webhook gives no verdict: it gave no verdict within 300 ms'),
    );
    judgeBy(', on_failure: open', '300ms');
    expect((await insert()).commit?.rules).toEqual(['outside']);
  });

  it('without a key is not asked', async () => {
    rules.secrets.delete('JUDGE');
    judgeBy();
    expect(await refusalOf(insert())).toBe(
      says('its webhook gives no verdict: its key is not set'),
    );
    expect(server.asked).toEqual([]);
    rules.secrets.set('JUDGE', 'a key of signatures');
  });
});
