import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  UploadPartCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
} from '@aws-sdk/client-s3';
import { StorageError, StorageRefused } from '../storage-error.ts';
import type { Placed } from '../storage.ts';
import { BucketCalls, bucketLimits, type Outage } from './bucket-calls.ts';
import { CutBody, faultOf } from './bucket-fault.ts';
import type {
  BucketCredentials,
  BucketHead,
  BucketPage,
  BucketPlace,
  BegunUpload,
  Listed,
  UploadedPart,
} from './bucket-place.ts';
import { ObjectRequests } from './object-requests.ts';

/** Metadata of an object: which write made it. */
const MARK = 'arrowgate-write';
const MARK_HEADER = `x-amz-meta-${MARK}`;

/** Most keys of one page of a listing, and of one removal. */
const PAGE_KEYS = 1000;

/**
 * The requests that the gateway sends to one bucket. Keys are those of the bucket, with the prefix.
 * Every method throws StorageUnavailable and StorageRefused.
 */
export class BucketClient {
  readonly #client: S3Client;
  readonly #objects: ObjectRequests;
  readonly #calls: BucketCalls;
  readonly #bucket: string;
  readonly #name: string;
  readonly #page: number;

  constructor(place: BucketPlace) {
    const { name, bucket, endpoint, region, pathStyle, credentials } = place;
    const { limits = bucketLimits, page = PAGE_KEYS } = place;
    const agent = { keepAlive: true, maxSockets: limits.connections };
    this.#client = new S3Client({
      region,
      forcePathStyle: pathStyle,
      ...(endpoint === null ? {} : { endpoint }),
      ...(credentials === null
        ? {}
        : { credentials: { accessKeyId: credentials.id, secretAccessKey: credentials.secret } }),
      // A repeated conditional request needs to know that an earlier one may have taken effect.
      maxAttempts: 1,
      // Stores that are not of AWS refuse the trailing checksums; a signature covers the body.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      expectContinueHeader: false,
      requestHandler: {
        connectionTimeout: limits.connect,
        httpAgent: agent,
        httpsAgent: agent,
      },
    });
    this.#objects = new ObjectRequests(this.#client, bucket, name);
    const check = 'its url, endpoint, region, certificate and credentials';
    this.#calls = new BucketCalls({ what: `the object store ${name}`, check }, limits);
    this.#bucket = bucket;
    this.#name = name;
    this.#page = page;
  }

  /** Why the last request failed; undefined if it did not. */
  get outage(): Outage | undefined {
    return this.#calls.outage;
  }

  /** The credentials that requests are signed with now. @throws StorageRefused if there are none */
  async credentials(): Promise<BucketCredentials> {
    return this.#calls.run(async () => {
      const { accessKeyId, secretAccessKey, sessionToken } =
        await this.#client.config.credentials();
      return { id: accessKeyId, secret: secretAccessKey, token: sessionToken ?? null };
    });
  }

  /**
   * Describes an object; undefined if there is none. It reads the first byte: the answer to a HEAD does not tell a
   * missing object from a missing bucket.
   */
  async head(key: string): Promise<BucketHead | undefined> {
    const found = await this.first(key, 1);
    if (found === undefined) return undefined;
    const { size: bytes, tag, writtenMillis, mark } = found;
    return { bytes, tag, writtenMillis, mark };
  }

  #head(key: string): Promise<BucketHead> {
    return this.#calls.run(async (abortSignal) => {
      const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: key });
      const answer = await this.#client.send(command, { abortSignal });
      return {
        bytes: answer.ContentLength ?? 0,
        tag: answer.ETag ?? '',
        writtenMillis: answer.LastModified?.getTime() ?? 0,
        mark: answer.Metadata?.[MARK],
      };
    });
  }

  /**
   * Reads a range of an object into memory.
   * @param tag Entity tag that the object must have.
   * @returns How many bytes there are, and the object's size and entity tag; undefined if there is no object.
   * @throws StorageError ESTALE if the object has another tag.
   */
  async range(
    key: string,
    position: number,
    into: Uint8Array,
    tag?: string,
  ): Promise<BucketRange | undefined> {
    try {
      return await this.#found(() => this.#range(key, position, into.byteLength, { tag, into }));
    } catch (error) {
      if (faultOf(error) !== 'precondition') throw error;
      throw new StorageError('ESTALE', `the object ${key} was replaced while it was read`);
    }
  }

  /** The first bytes of an object, as many as there are; undefined if there is no object. */
  async first(key: string, most: number): Promise<BucketRange | undefined> {
    try {
      return await this.#found(() => this.#range(key, 0, most));
    } catch (error) {
      // An empty object has no range.
      if (faultOf(error) !== 'range') throw error;
      const found = await this.#found(() => this.#head(key));
      return found && { ...found, read: 0, size: 0, bytes: new Uint8Array() };
    }
  }

  #range(
    key: string,
    position: number,
    most: number,
    { tag, into }: { readonly tag?: string | undefined; readonly into?: Uint8Array } = {},
  ): Promise<BucketRange> {
    const range = `bytes=${position}-${position + most - 1}`;
    const headers = tag === undefined ? { range } : { range, 'if-match': tag };
    return this.#calls.run(async (abortSignal) => {
      const { headers: said, body } = await this.#objects.send(
        { method: 'GET', key, headers },
        abortSignal,
      );
      const size = sizeOf(said['content-range']) ?? Number(said['content-length'] ?? 0);
      const read = Math.min(most, Math.max(0, size - position));
      if (!(said['content-range']?.startsWith(`bytes ${position}-`) ?? position === 0)) {
        body.destroy();
        throw this.#refused('it answers other bytes than the range that was requested');
      }
      const bytes = into?.subarray(0, read) ?? new Uint8Array(read);
      await fill(body, bytes, abortSignal);
      const writtenMillis = Date.parse(said['last-modified'] ?? '') || 0;
      const { etag = '' } = said;
      return { read, bytes, size, tag: etag, writtenMillis, mark: said[MARK_HEADER] };
    }, most);
  }

  /** Writes an object in place of any other. */
  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#calls.run((signal) => this.#put(key, bytes, {}, signal), bytes.byteLength);
  }

  async #put(
    key: string,
    body: Uint8Array,
    more: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const headers = { 'content-type': 'application/octet-stream', ...more };
    const answer = await this.#objects.send({ method: 'PUT', key, headers, body }, signal);
    await fill(answer.body, new Uint8Array(), signal);
  }

  /**
   * Writes an object unless there is one: of many writers one creates it. If an answer was lost, the
   * mark of the object tells whether this write made it.
   */
  async putNew(key: string, bytes: Uint8Array): Promise<Placed> {
    const mark = randomUUID();
    let isUncertain = false;
    const headers = { 'if-none-match': '*', [MARK_HEADER]: mark };
    const attempt = async (signal: AbortSignal): Promise<Placed> => {
      try {
        await this.#put(key, bytes, headers, signal);
        return 'created';
      } catch (error) {
        if (faultOf(error) === 'precondition') return 'exists';
        isUncertain = true;
        throw error;
      }
    };
    const placed = await this.#certainly(key, mark, () =>
      this.#calls.run(attempt, bytes.byteLength),
    );
    if (placed === 'created' || !isUncertain) return placed;
    return (await this.head(key))?.mark === mark ? 'created' : 'exists';
  }

  /** The result of a write. If it failed, the object is looked at once more: it may be there. */
  async #certainly(key: string, mark: string, write: () => Promise<Placed>): Promise<Placed> {
    try {
      return await write();
    } catch (error) {
      if (error instanceof StorageRefused) throw error;
      const found = await this.head(key).catch(() => undefined);
      if (found?.mark === mark) return 'created';
      throw error;
    }
  }

  /** Removes an object, if there is one. */
  async remove(key: string): Promise<void> {
    await this.#calls.run(async (signal) => {
      const { body } = await this.#objects.send({ method: 'DELETE', key }, signal);
      await fill(body, new Uint8Array(), signal);
    });
  }

  /** Removes up to a thousand objects. */
  async removeAll(keys: readonly string[]): Promise<void> {
    const Delete = { Quiet: true, Objects: keys.map((Key) => ({ Key })) };
    await this.#calls.run(async (abortSignal) => {
      const command = new DeleteObjectsCommand({ Bucket: this.#bucket, Delete });
      const { Errors: [fault] = [] } = await this.#client.send(command, { abortSignal });
      if (fault === undefined) return;
      const error = new Error(fault.Message);
      throw Object.assign(error, { name: fault.Code ?? 'Error', $metadata: {} });
    });
  }

  /** Lists keys that begin with a prefix, page by page. @param delimiter After which keys are joined to one prefix. */
  async *pages(prefix: string, delimiter?: string, most = this.#page): AsyncGenerator<BucketPage> {
    let token: string | undefined;
    do {
      const input = {
        Bucket: this.#bucket,
        Prefix: prefix,
        MaxKeys: most,
        ...(delimiter === undefined ? {} : { Delimiter: delimiter }),
        ...(token === undefined ? {} : { ContinuationToken: token }),
      };
      const page = await this.#calls.run((abortSignal) =>
        this.#client.send(new ListObjectsV2Command(input), { abortSignal }),
      );
      yield {
        objects: (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }): Listed => ({
          key: Key,
          bytes: Size,
          writtenMillis: LastModified?.getTime() ?? 0,
        })),
        prefixes: (page.CommonPrefixes ?? []).map(({ Prefix = '' }) => Prefix),
      };
      const next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      if (page.IsTruncated === true && (next === undefined || next === token)) {
        throw this.#refused('a page of a listing does not lead to the next one');
      }
      token = next;
    } while (token !== undefined);
  }

  /** Begins a multipart upload. @param mark Of the object, once it is complete. */
  async begin(key: string, mark: string): Promise<string> {
    const input = { Bucket: this.#bucket, Key: key, Metadata: { [MARK]: mark } };
    const { UploadId } = await this.#calls.run((abortSignal) =>
      this.#client.send(new CreateMultipartUploadCommand(input), { abortSignal }),
    );
    if (UploadId === undefined) throw this.#refused('a multipart upload has no id');
    return UploadId;
  }

  /** Uploads a part. @param number From 1 on. */
  async part(
    key: string,
    upload: string,
    number: number,
    bytes: Uint8Array,
  ): Promise<UploadedPart> {
    const input = {
      Bucket: this.#bucket,
      Key: key,
      UploadId: upload,
      PartNumber: number,
      Body: bytes,
      ContentLength: bytes.byteLength,
    };
    const { ETag = '' } = await this.#calls.run(
      (abortSignal) => this.#client.send(new UploadPartCommand(input), { abortSignal }),
      bytes.byteLength,
    );
    return { number, tag: ETag };
  }

  /** Makes an object of the parts of an upload. */
  async complete(
    key: string,
    upload: string,
    mark: string,
    parts: readonly UploadedPart[],
  ): Promise<void> {
    const Parts = parts.map(({ number, tag }) => ({ PartNumber: number, ETag: tag }));
    const input = {
      Bucket: this.#bucket,
      Key: key,
      UploadId: upload,
      MultipartUpload: { Parts },
    };
    await this.#certainly(key, mark, async () => {
      await this.#calls.run((abortSignal) =>
        this.#client.send(new CompleteMultipartUploadCommand(input), { abortSignal }),
      );
      return 'created';
    });
  }

  /** Removes the parts of an unneeded upload. */
  async abandon(key: string, upload: string): Promise<void> {
    const input = { Bucket: this.#bucket, Key: key, UploadId: upload };
    try {
      await this.#calls.run((abortSignal) =>
        this.#client.send(new AbortMultipartUploadCommand(input), { abortSignal }),
      );
    } catch (error) {
      // It was completed or abandoned meanwhile.
      if (faultOf(error) !== 'upload') throw error;
    }
  }

  /** Lists the uploads that were begun and not completed, of keys that begin with a prefix. */
  async *uploads(prefix: string): AsyncGenerator<BegunUpload> {
    let after: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> = {};
    for (;;) {
      const range = { Bucket: this.#bucket, Prefix: prefix, MaxUploads: this.#page };
      const page: ListMultipartUploadsCommandOutput = await this.#calls.run((abortSignal) =>
        this.#client.send(new ListMultipartUploadsCommand({ ...range, ...after }), { abortSignal }),
      );
      for (const { Key: key = '', UploadId: upload = '', Initiated } of page.Uploads ?? [])
        yield { key, upload, begunMillis: Initiated?.getTime() ?? Infinity };
      if (page.IsTruncated !== true || page.NextKeyMarker === undefined) return;
      after = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
    }
  }

  /** Closes the connections. */
  close(): void {
    this.#client.destroy();
  }

  /** The result of a request; undefined if there is no object. */
  async #found<Found>(request: () => Promise<Found>): Promise<Found | undefined> {
    try {
      return await request();
    } catch (error) {
      if (faultOf(error) === 'missing') return undefined;
      throw error;
    }
  }

  #refused(why: string): StorageRefused {
    return new StorageRefused(`the object store ${this.#name} cannot be used: ${why}`);
  }
}

/** A range that was read. */
export interface BucketRange {
  readonly read: number;
  /** Of the whole object. */
  readonly size: number;
  readonly tag: string;
  readonly writtenMillis: number;
  /** As `BucketHead`. */
  readonly mark: string | undefined;
  readonly bytes: Uint8Array;
}

/** Size of an object by the header `content-range`. */
function sizeOf(range: string | undefined): number | undefined {
  const text = /\/(\d+)$/.exec(range ?? '')?.[1];
  return text === undefined ? undefined : Number(text);
}

/** Reads a body into memory. @throws CutBody if it is shorter */
async function fill(body: Readable, into: Uint8Array, signal: AbortSignal): Promise<void> {
  const stop = (): void => void body.destroy(new CutBody('the body took too long'));
  signal.addEventListener('abort', stop, { once: true });
  let at = 0;
  try {
    // Up to its end, so that the connection can be used again.
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      const piece = chunk.subarray(0, into.byteLength - at);
      into.set(piece, at);
      at += piece.byteLength;
      if (piece.byteLength < chunk.byteLength) break;
    }
  } finally {
    signal.removeEventListener('abort', stop);
  }
  if (at < into.byteLength) throw new CutBody('the body ended early');
}
