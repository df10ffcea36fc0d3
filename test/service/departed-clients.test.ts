import type { Readable } from 'node:stream';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { connect, constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Int64, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, Service } from '../support/service.ts';
import { ARROW_STREAM, open, sendGranted } from './http.ts';

/** Clients that leave in the middle of a large answer: the audit record has the bytes and rows that were sent. */

const CONFIG = 'workers: 1\ntables: { formats: [{ tables: ["/lance"], format: lance }] }\n';
/** Sorts of more rows than 50,000 are work of a thread. */
const ROWS = 60_000;
/** More in all than the buffers of a connection hold. */
const TEXT = 'x'.repeat(600);
const TOTAL_BYTES = ROWS * TEXT.length;

const sorted = { order_by: [{ column_name: 'id', ascending: false }] };

const answers: readonly (readonly [string, string, object])[] = [
  ['a table of the engine', 'arrow', {}],
  ['a query on a thread', 'arrow', sorted],
  ['a Lance table', 'lance', {}],
];

let service: Service;
let folder: string;
let certificate: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'arrowgate-departed-'));
  service = await Service.start({ config: CONFIG });
  const ids = Array.from({ length: ROWS }, (_, id) => BigInt(id));
  const texts = ids.map((id) => `${TEXT}${id}`);
  const body = tableToIPC(
    new Table({ id: vectorFromArray(ids, new Int64()), text: vectorFromArray(texts, new Utf8()) }),
    'stream',
  );
  for (const table of ['arrow', 'lance']) {
    const sent = { body, headers: ARROW_STREAM };
    await sendGranted(service.url, `POST /v1/table/${table}/create`, sent);
  }
});

afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true });
});

interface Read {
  readonly status: number;
  readonly bytes_out: number;
  readonly read: { readonly columns: readonly string[]; readonly rows: number };
}

/** Reads until rows have come, and answers the bytes: the first ones are those of the schema. */
function someOf(answer: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    answer.on('data', (piece: Buffer) => {
      bytes += piece.byteLength;
      if (bytes >= 2 ** 20) {
        answer.pause();
        resolve(bytes);
      }
    });
    answer.once('error', reject);
  });
}

/** The record of the outcome of a request, by its id. */
function recorded(requestId: string): Promise<Read> {
  return eventually(async () => {
    const lines = await service.audit();
    const found = lines.find(
      ({ request_id, phase }) => request_id === requestId && phase === 'outcome',
    );
    if (found === undefined) throw new Error(`there is no outcome of ${requestId}`);
    return found as unknown as Read;
  });
}

function expectPart({ status, bytes_out, read }: Read, received: number): void {
  expect(status).toBe(499);
  expect(bytes_out).toBeGreaterThanOrEqual(received);
  expect(bytes_out).toBeLessThan(TOTAL_BYTES);
  expect(read.columns).toEqual(['id', 'text']);
  expect(read.rows).toBeGreaterThan(0);
  expect(read.rows).toBeLessThan(ROWS);
  // The rows are those of the bytes.
  expect(read.rows * TEXT.length).toBeLessThan(2 * bytes_out + 2 ** 24);
}

describe('a client of HTTP/1 that leaves in the middle', () => {
  it.each(answers)('is recorded with what was sent of %s', async (_, table, more) => {
    const id = `one-${table}-${Object.keys(more).length}`;
    const answer = await open(service.url, `POST /v1/table/${table}/query`, {
      body: { vector: [], ...more },
      headers: { 'x-request-id': id },
      agent: new Agent(),
    });
    expect(answer.statusCode).toBe(200);
    const received = await someOf(answer);
    answer.destroy();
    expectPart(await recorded(id), received);
  });
});

describe('a client of HTTP/2 that leaves in the middle', () => {
  beforeAll(async () => {
    const made = await makeCertificate(folder, 'own', { commonName: 'own' });
    certificate = await readFile(made.cert, 'utf8');
    await service.end();
    await service.configure(`${CONFIG}listen: { tls: { cert: ${made.cert}, key: ${made.key} } }\n`);
    await service.restart();
  });

  it.each(answers)('is recorded with what was sent of %s', async (_, table, more) => {
    const id = `two-${table}-${Object.keys(more).length}`;
    const session = connect(service.url, { ca: certificate, checkServerIdentity: () => undefined });
    const stream = session.request({
      ':method': 'POST',
      ':path': `/v1/table/${table}/query`,
      'x-api-key': ADMIN_KEY,
      'x-request-id': id,
      'content-type': 'application/json',
    });
    stream.end(JSON.stringify({ vector: [], ...more }));
    const received = await someOf(stream);
    stream.close(constants.NGHTTP2_CANCEL);
    const record = await recorded(id);
    session.destroy();
    expectPart(record, received);
  });
});
