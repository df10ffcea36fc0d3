import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { ARROW_STREAM, send, type Sent } from '../service/http.ts';
import { floods, Http2Frames, type FrameSource } from '../support/http2-frames.ts';
import type { Service } from '../support/service.ts';
import type { Attack, Ending } from './attack.ts';
import { nulls, zeros } from './arrow-bombs.ts';

const MIB = 2 ** 20;

/** The ending of a request. */
async function ending(service: Service, line: string, sent: Sent): Promise<Ending> {
  const reply = await send(service.url, line, sent);
  return reply.status === 200 ? '200' : `${reply.status} ${String(reply.json['error'])}`;
}

const CREATE = 'POST /v1/table/bomb/create';
const INSERT = 'POST /v1/table/attacked/insert?mode=overwrite';
const QUERY = 'POST /v1/table/attacked/query';

/** One request whose body is made when the attack begins. */
function request(
  name: string,
  endedBy: RegExp,
  line: string,
  body: () => Promise<Uint8Array> | Uint8Array | string,
  headers: Sent['headers'] = ARROW_STREAM,
): Attack {
  return {
    name,
    endedBy,
    run: async (service) => [await ending(service, line, { body: await body(), headers })],
  };
}

/** Many requests at once. */
function crowd(
  name: string,
  endedBy: RegExp,
  count: number,
  line: (index: number) => string,
  body: () => Promise<Uint8Array> | string,
  headers: Sent['headers'] = ARROW_STREAM,
): Attack {
  return {
    name,
    endedBy,
    run: async (service) => {
      const made = await body();
      const asked = Array.from({ length: count }, (_, index) =>
        ending(service, line(index), { body: made, headers }),
      );
      return Promise.all(asked);
    },
  };
}

function flood(name: keyof typeof floods): Attack {
  const next: FrameSource = floods[name];
  return {
    name: `a flood of ${name} frames`,
    endedBy: /^connection ended/,
    tls: true,
    run: async (service) => {
      const frames = new Http2Frames(await socketTo(service));
      await frames.sendUntilEnd(next);
      return [frames.ended ? `connection ended, GOAWAY ${frames.goaway ?? 'none'}` : 'still open'];
    },
  };
}

async function socketTo({ url }: Service): Promise<TLSSocket> {
  const { hostname: host, port } = new URL(url);
  const options = { host, port: Number(port), ALPNProtocols: ['h2'], rejectUnauthorized: false };
  const socket = connect(options);
  await once(socket, 'secureConnect');
  return socket;
}

/** A JSON body of just less than 8 MiB. */
function filled(begin: string, piece: string, end: string): string {
  return begin + piece.repeat(Math.floor((8 * MIB - 100) / piece.length)) + end;
}

/** Attacks through what is sent, each larger than the budgets of `attackedBudget`. */
export const inputAttacks: readonly Attack[] = [
  request('a ZSTD body', /^400 .*\(budget\.decompressed\)/, CREATE, () =>
    zeros('zstd', 40, 2 * MIB),
  ),
  request('an LZ4 body', /^400 .*\(budget\.decompressed\)/, INSERT, () =>
    zeros('lz4', 40, 2 * MIB),
  ),
  request('a large LZ4 batch', /^400 .*\(budget\.memory\)/, CREATE, () =>
    zeros('lz4', 1, 40 * MIB),
  ),
  {
    ...request(
      'a gzip body of rows',
      /^400 .*\(budget\.decompressed\)/,
      CREATE,
      async () => gzipSync(await zeros('lz4', 6, 16 * MIB), { level: 1 }),
      { ...ARROW_STREAM, 'content-encoding': 'gzip' },
    ),
    sample: true,
  },
  request(
    'a gzip body of JSON',
    /^400 .*at most 8388608 bytes/,
    QUERY,
    () => gzipSync(Buffer.alloc(256 * MIB, ' '), { level: 1 }),
    { 'content-encoding': 'gzip' },
  ),
  {
    ...request(
      'null rows',
      /^400 A batch declares \d+ rows, \d+ are allowed for its bytes/,
      CREATE,
      () => nulls(2000, MIB),
    ),
    sample: true,
  },
  request(
    'JSON of numbers',
    /^400 /,
    QUERY,
    () => filled('{"vector":[', '0.123456789,', '1]}'),
    {},
  ),
  request('JSON of small integers', /^400 /, QUERY, () => filled('{"vector":[', '1,', '1]}'), {}),
  request(
    'JSON of long integers',
    /^400 /,
    QUERY,
    () => filled('{"vector":[', '9007199254740993,', '1]}'),
    {},
  ),
  request(
    'JSON of texts',
    /^400 .*values beside numbers/,
    QUERY,
    () => filled('{"columns":[', '"a",', '"b"]}'),
    {},
  ),
  crowd(
    'forty bodies of rows at once',
    /^(200|503 .*\(budget\.memory\))/,
    40,
    (index) => `POST /v1/table/crowd${index}/create?mode=overwrite`,
    () => zeros('zstd', 2, 4 * MIB),
  ),
  crowd(
    'forty bodies of JSON at once',
    /^(400 |429 .*limits\.scans|503 .*\(budget\.memory\))/,
    40,
    () => QUERY,
    () => filled('{"vector":[', '0.123456789,', '1]}'),
    {},
  ),
  crowd(
    'sixty scans at once',
    /^(200|429 the limit limits\.scans )/,
    60,
    () => QUERY,
    () => '{"k":10,"order_by":[{"column_name":"name","ascending":true}]}',
    {},
  ),
  { ...flood('PRIORITY'), sample: true },
  flood('WINDOW_UPDATE'),
  flood('SETTINGS'),
  flood('PING'),
  flood('empty DATA'),
  flood('CONTINUATION'),
  flood('RST_STREAM'),
];
