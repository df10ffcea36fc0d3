import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Answer } from '../protocol/backend.ts';
import { acceptsGzip } from '../gateway/http/content-coding.ts';
import type { IncomingRequest } from '../gateway/http/message.ts';
import { NoSuchPage } from '../gateway/plain.ts';

/** The built pages. */
const FOLDER = new URL('../../dist/console-page/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Headers of every answer below `/console/`. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Paths of the page's views; all are the same file. */
const VIEW =
  /^(trail|catalog(\/dropped)?|access(\/(explain|unused))?|policy(\/(cases|history|propose))?|rules|keys|integrity|request\/[\w-]{1,64})?$/;

interface StaticFile {
  readonly type: string;
  readonly etag: string;
  readonly plain: Uint8Array;
  readonly gzip: Uint8Array;
  /** Whether its name changes with its content. */
  readonly isHashed: boolean;
}

/** The files of the page. They are read once: a new build needs a new start. */
export class StaticFiles {
  #files: ReadonlyMap<string, StaticFile> | undefined;

  /**
   * The file of a path.
   * @param path Below `/console/`, without its query.
   * @throws NoSuchPage
   */
  answer(path: string, { headers }: IncomingRequest): Answer {
    this.#files ??= readFiles();
    const file = this.#files.get(VIEW.test(path) ? 'index.html' : path);
    if (file === undefined) throw new NoSuchPage(`/console/${path}`);
    const caching = file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache';
    const own = { ...safeHeaders, etag: file.etag, 'cache-control': caching };
    const shared = { ...own, vary: 'accept-encoding' };
    if (isKnown(headers['if-none-match'], file.etag)) {
      return { status: 304, headers: shared, body: null };
    }
    const isGzip = acceptsGzip(headers['accept-encoding']);
    const coding = isGzip ? { 'content-encoding': 'gzip' } : {};
    const body = wholeBody(isGzip ? file.gzip : file.plain);
    return { status: 200, contentType: file.type, headers: { ...shared, ...coding }, body };
  }
}

function isKnown(field: string | undefined, etag: string): boolean {
  return (field ?? '').split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

function readFiles(): ReadonlyMap<string, StaticFile> {
  const names = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
  const files = names.flatMap((name) => {
    const type = TYPES[extname(name)];
    return type === undefined ? [] : [[name, readStatic(name, type)] as const];
  });
  return new Map(files);
}

function readStatic(name: string, type: string): StaticFile {
  const plain = readFileSync(new URL(name, FOLDER));
  const digest = createHash('sha256').update(plain).digest('base64url');
  const isHashed = name.startsWith('assets/');
  return { type, etag: `"${digest}"`, plain, gzip: gzipSync(plain), isHashed };
}

function wholeBody(whole: Uint8Array): Answer['body'] {
  return {
    whole,
    length: whole.byteLength,
    async *[Symbol.asyncIterator]() {
      yield whole;
    },
  };
}
