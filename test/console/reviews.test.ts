import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open, send, type Reply } from '../service/http.ts';
import { Service } from '../support/service.ts';
import { eventually } from '../support/eventually.ts';
import { testFolders } from '../support/folder.ts';

/** Marks of reviewers, verifications, evidence, and what needs attention, over http. */

const POLICY = `p, role:admin, /**, *, allow
p, user:eve, /**, audit, allow
p, user:bob, /prod/**, read, allow
`;

const newFolder = testFolders();
let service: Service;
let eve: string;
let bob: string;
let read: Row;

interface Row {
  readonly decision_id: string;
  readonly began: string;
  readonly review: object | null;
}

beforeAll(async () => {
  service = await Service.start({ policy: POLICY });
  eve = await service.keyByCommand('eve');
  bob = await service.keyByCommand('bob');
  await send(service.url, 'POST /v1/table/prod$t/count_rows', { body: {}, key: bob });
  await send(service.url, 'POST /v1/table/hr$t/count_rows', { body: {}, key: bob });
  await eventually(async () => expect(await rows('subject=bob&object=/hr/t')).toHaveLength(1));
  [read] = (await rows('subject=bob&object=/hr/t')) as [Row];
});

afterAll(() => service?.stop());

function api(path: string, key: string | null = eve): Promise<Reply> {
  return send(service.url, `GET /console/api/${path}`, { key });
}

function post(path: string, body: object | undefined, key: string | null = eve): Promise<Reply> {
  const headers = { 'content-type': 'application/json' };
  return send(service.url, `POST /console/api/${path}`, { key, body, headers });
}

/** The cookie of a session of the auditor. */
async function cookie(): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const sent = { key: null, body: { key: eve }, headers };
  const { headers: answered } = await send(service.url, 'POST /console/session', sent);
  return String(answered['set-cookie']).split(';')[0]!;
}

async function rows(query: string): Promise<readonly Row[]> {
  const { json } = await api(`requests?${query}`);
  return json['requests'] as readonly Row[];
}

function mark(fields: object): Promise<Reply> {
  const { decision_id: decision, began } = read;
  return post('review', { decision, began, mark: 'seen', ...fields });
}

describe('a mark', () => {
  it('is a record of the log, and shown and found with its request', async () => {
    const { status, json } = await mark({ mark: 'flagged', note: 'why "hr"?' });
    expect([status, json]).toEqual([
      200,
      { decision: read.decision_id, mark: 'flagged', note: 'why "hr"?', by: 'user:eve' },
    ]);
    const [flagged, ...others] = await rows('review=flagged');
    expect(others).toEqual([]);
    expect(flagged).toMatchObject({
      decision_id: read.decision_id,
      review: { mark: 'flagged', note: 'why "hr"?', by: 'user:eve' },
    });
    const marks = (await service.audit()).filter(({ operation }) => operation === 'AuditReview');
    expect(marks).toMatchObject([
      { phase: 'attempt', subject: 'user:eve' },
      {
        phase: 'outcome',
        decision: 'allow',
        context: { reviewed: read.decision_id, began: read.began, mark: 'flagged' },
      },
    ]);
    const page = await api(`request?decision=${read.decision_id}&began=${read.began}`);
    expect(page.json).toMatchObject({ review: { mark: 'flagged', by: 'user:eve' } });
  });

  it('is followed by a later one', async () => {
    expect((await mark({ mark: 'flagged' })).status).toBe(200);
    expect((await mark({ mark: 'seen' })).status).toBe(200);
    expect(await rows('review=flagged')).toEqual([]);
    expect(await rows('review=seen')).toMatchObject([{ review: { mark: 'seen', note: '' } }]);
    const unreviewed = await rows('review=unreviewed&subject=bob');
    expect(unreviewed.map(({ decision_id }) => decision_id)).not.toContain(read.decision_id);
    expect(unreviewed.length).toBeGreaterThan(0);
  });

  it('is shown by the command line', async () => {
    await mark({ mark: 'flagged', note: 'ask bob' });
    const found = await service.command('audit', 'search', '--review', 'flagged', '--json');
    expect(JSON.parse(found.out)).toMatchObject({
      decision_id: read.decision_id,
      review: { mark: 'flagged', note: 'ask bob', by: 'user:eve' },
    });
    const table = await service.command('audit', 'search', '--subject', 'bob');
    expect(table.out).toMatch(/REVIEW\n[^]*unreviewed[^]*flagged/);
    const shown = await service.command('audit', 'show', read.decision_id);
    expect(shown.out).toMatch(/review +flagged by user:eve at .*, ask bob/);
  });

  it.each([
    ['no mark', { mark: 'liked' }, 'the body must be {"decision"'],
    ['a number as a note', { note: 7 }, 'the body must be {"decision"'],
    ['a long note', { note: 'x'.repeat(1001) }, 'the note has 1001 characters, but may have 1000'],
    ['a further field', { by: 'user:bob' }, 'the body must be {"decision"'],
    ['no time', { began: 'yesterday' }, 'the body must be {"decision"'],
    ['an unknown request', { decision: 'nobody-asked' }, 'the audit log has no decision nobody-'],
  ])('with %s is refused', async (_name, fields, sentence) => {
    const { status, json } = await mark(fields);
    expect([status, json['code'], json['error']]).toEqual([
      400,
      13,
      expect.stringContaining(sentence),
    ]);
  });

  it('is refused to callers without the right, from other sites, and as a reading call', async () => {
    expect((await post('review', {}, bob)).status).toBe(403);
    expect((await post('review', {}, null)).status).toBe(401);
    expect((await api('review')).status).toBe(405);
    const headers = {
      'content-type': 'application/json',
      origin: 'https://elsewhere.example',
      cookie: await cookie(),
    };
    const call = 'POST /console/api/review';
    const other = await send(service.url, call, { key: null, body: {}, headers });
    expect([other.status, other.json['code']]).toEqual([403, 15]);
    const { status, json } = await api('requests?review=liked');
    expect([status, json['error']]).toEqual([
      400,
      'review is "liked", but must be one of seen, flagged, unreviewed',
    ]);
    expect((await api('traffic?review=seen')).status).toBe(400);
  });
});

describe('a verification', () => {
  it('tells its progress and its result, and leaves a record', async () => {
    const { status, text } = await post('integrity/verify', undefined);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect([status, lines[0]]).toEqual([200, { progress: 'reading the checkpoints' }]);
    expect(lines.at(-1)).toMatchObject({ result: { findings: [], to: expect.any(String) } });
    const { json } = await api('integrity');
    expect(json).toMatchObject({
      chains: expect.arrayContaining([expect.objectContaining({ lines: 1, segments: 0 })]),
      verifications: [{ subject: 'user:eve', findings: 0 }],
    });
  });

  it('ends with its caller', async () => {
    const ending = new AbortController();
    const answer = await open(service.url, 'POST /console/api/integrity/verify', {
      key: eve,
      signal: ending.signal,
    });
    answer.on('error', () => undefined);
    ending.abort();
    // Another is refused while one goes on.
    await eventually(async () => {
      expect((await post('integrity/verify', undefined)).text).toContain('"result"');
    });
  });

  it('is refused to callers without the right', async () => {
    expect((await post('integrity/verify', undefined, bob)).status).toBe(403);
    expect((await api('integrity', bob)).status).toBe(403);
    expect((await api('integrity/verify')).status).toBe(405);
  });
});

describe('evidence', () => {
  it('is an archive that the command verifies', async () => {
    const { status, headers, bytes } = await api('evidence?since=24h');
    expect([status, headers['content-type']]).toEqual([200, 'application/gzip']);
    expect(headers['content-disposition']).toMatch(/filename="evidence-[\d-]+\.tar\.gz"/);
    const folder = await newFolder();
    await writeFile(join(folder, 'evidence.tar.gz'), bytes);
    execFileSync('tar', ['xzf', join(folder, 'evidence.tar.gz'), '-C', folder]);
    const evidence = join(folder, 'evidence');
    const checked = await service.command('audit', 'verify', '--evidence', evidence);
    expect(checked.out).toContain('files of');
    expect(checked.out).toContain('nothing is wrong');
  });

  it('is refused without a right, and for a filter', async () => {
    expect((await api('evidence', bob)).status).toBe(403);
    const { status, json } = await api('evidence?subject=bob');
    expect([status, json['error']]).toEqual([
      400,
      'evidence is of a period: it has since and until alone',
    ]);
    expect((await api('evidence?since=soon')).status).toBe(400);
  });
});

it('says what needs attention', async () => {
  await service.command('keys', 'create', '--subject', 'zoe', '--expires', '2d');
  await mark({ mark: 'flagged' });
  const { json } = await api('attention');
  expect(json).toMatchObject({
    gateways: [{ own: true, digest: expect.stringMatching(/^[0-9a-f]{64}$/) }],
    keys_ending: [{ subject: 'user:zoe' }],
    keys_frozen: [],
    certificate_ends: null,
    verification: { findings: 0 },
    canaries: [],
    flagged: 1,
    more_flagged: false,
  });
  expect((await api('attention', bob)).status).toBe(403);
});
