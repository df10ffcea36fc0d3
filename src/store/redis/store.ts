import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import {
  decodeWrites,
  type StoreChange,
  type Check,
  type CommitResult,
  type KeyRange,
  type Store,
  type StoreEntry,
  type StoreGuard,
  type Write,
} from '../store.ts';
import { DamageRegister, type OnStoreDamage } from '../damage.ts';
import { KeyDigests, type KeyCheck } from '../key-digest.ts';
import { isSealed, sealValue, unsealValue } from '../value-seal.ts';
import { messageOf, StoreError } from '../store-error.ts';
import { boundBytes, keyBytes, keyText } from '../key.ts';
import { parseRedisAddress } from './address.ts';
import { Gate } from '../gate.ts';
import {
  codeOf,
  connectRedis,
  isAnswered,
  type OnAvailability,
  type RedisLink,
  type RedisClient,
} from './client.ts';
import { commitArguments, lexBounds, NO_KEY, replayArguments, type Argument } from './commit.ts';
import { RedisRuns, GuardRefusal } from './runs.ts';
import {
  CHANGES,
  COMMIT,
  FORGET,
  RANGE,
  redisKeys,
  REPLAY,
  RESTORE_ADD,
  RESTORE_BEGIN,
  RESTORE_END,
  SEAL,
  SEALING,
  STATE,
  TIME,
  VALUES,
  WALK_BEGIN,
  WALK_STEP,
  type RedisScript,
} from './scripts.ts';
import { Cluster, type Redis } from 'ioredis';

/** Settings of Redis, their durable values, and the meaning of other values. */
const settings: readonly {
  readonly name: string;
  readonly good: readonly string[];
  readonly means: (value: string) => string;
}[] = [
  {
    name: 'appendonly',
    good: ['yes'],
    means: () => 'it keeps no append-only file (appendonly no)',
  },
  {
    name: 'appendfsync',
    good: ['always'],
    means: (value) => `it answers before the append-only file is on disk (appendfsync ${value})`,
  },
  {
    name: 'maxmemory-policy',
    good: ['noeviction'],
    means: (value) => `it may throw keys away (maxmemory-policy ${value})`,
  },
];

/**
 * Why Redis may lose acknowledged changes; undefined if it does not. Unreadable settings
 * count as a weakness.
 */
async function weaknessOf(client: RedisClient): Promise<string | undefined> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  if (nodes.length === 0) return 'Redis does not answer';
  const found = await Promise.all(nodes.map(weaknessOfNode));
  const first = found.find((each) => each !== undefined);
  return first === undefined ? undefined : `Redis may lose acknowledged changes: ${first}`;
}

async function weaknessOfNode(node: Redis): Promise<string | undefined> {
  try {
    for (const { name, good, means } of settings) {
      const value = await settingOf(node, name);
      if (value === undefined) return `it does not tell its setting ${name}`;
      if (!good.includes(value)) return means(value);
    }
    return undefined;
  } catch {
    return 'it does not tell its settings';
  }
}

async function settingOf(node: Redis, name: string): Promise<string | undefined> {
  const answer = await node.config('GET', name);
  return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : undefined;
}

/** How long a commit is sent again after a lost answer before its result is unknown, in ms. */
export const REDIS_COMMIT_MILLIS = 8000;
const PAUSE_MILLIS = 50;
/** Timeout of the first connection, in ms. */
export const REDIS_FIRST_MILLIS = 5000;

/** A catalog in Redis. */
interface RedisStoreOptions {
  /** `redis://…`: see `parseRedisAddress`. */
  readonly url: string;
  /** The catalog's name: several may share a Redis. */
  readonly catalog: string;
  /** Called when Redis becomes unavailable, and when it is available again. */
  readonly onAvailability?: OnAvailability;
  /** Called for damage that is found. */
  readonly onDamage?: OnStoreDamage | undefined;
}

/**
 * Opens the store of a catalog in Redis 6.2 or newer. Opens without Redis as well: operations
 * then fail until Redis answers.
 * @throws StoreError address.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const link = await connectRedis(parseRedisAddress(options.url), options.onAvailability);
  await link.untilReady(REDIS_FIRST_MILLIS);
  const gate = new Gate();
  const runs = new RedisRuns(link.client, redisKeys(options.catalog), gate);
  link.client.on('close', () => runs.leave());
  return new RedisStore(link, runs, gate, new DamageRegister(options.onDamage));
}

class RedisStore implements Store {
  readonly #link: RedisLink;
  readonly #runs: RedisRuns;
  readonly #gate: Gate;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #damage: DamageRegister;
  #closed = false;

  constructor(link: RedisLink, runs: RedisRuns, gate: Gate, damage: DamageRegister) {
    this.#link = link;
    this.#runs = runs;
    this.#gate = gate;
    this.#damage = damage;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const [value] = await this.getMany([key]);
    return value;
  }

  async getMany(keys: readonly string[]): Promise<readonly (Uint8Array | undefined)[]> {
    const bytes = keys.map(keyBytes);
    const answer = listOf(await this.#read(VALUES, bytes));
    return bytes.map((key, at) => {
      const value = this.#opened({ key, stored: answer[at] });
      if (value === null) this.#damage.requireAbsence(key);
      return value ?? undefined;
    });
  }

  async range(range: KeyRange): Promise<readonly StoreEntry[]> {
    const [start, end] = [boundBytes(range.start), boundBytes(range.end)];
    if (Buffer.compare(start, end) >= 0 || range.limit <= 0) return this.#nothing();
    const bounds = lexBounds(start, end);
    const reverse = range.reverse === true;
    const inOrder = reverse ? ['-', ...bounds.toReversed()] : ['+', ...bounds];
    const sent = [...inOrder, range.limit, range.keysOnly === true ? 'keys' : 'values'];
    this.#damage.requireRange(start, end);
    if (range.keysOnly === true) return keysOf(await this.#read(RANGE, sent));
    return this.#entries(sent);
  }

  async #entries(sent: readonly Argument[]): Promise<readonly StoreEntry[]> {
    const found = storedOf(await this.#read(RANGE, sent));
    return found.map((one) => ({ key: keyText(one.key), value: this.#opened(one) ?? NO_KEY }));
  }

  /** A stored value; null for an absent key. @throws StoreError damaged */
  #opened({ key, stored }: StoredValue): Buffer | null {
    if (stored === null) return null;
    const opened = Buffer.isBuffer(stored) ? unsealValue(key, stored) : undefined;
    if (opened === undefined) throw this.#damage.value(keyText(key));
    return opened;
  }

  async #sealing(): Promise<string> {
    const answer = await this.#read(SEALING, ['']);
    return answer === null ? 'none' : bytesOf(answer).toString();
  }

  async commit(checks: readonly Check[], writes: readonly Write[]): Promise<CommitResult> {
    const sent = commitArguments(randomUUID(), checks, writes);
    this.#damage.requireKnown(checks);
    return this.#tracked(() => this.#commit(sent));
  }

  async changes(limit: number): Promise<readonly StoreChange[]> {
    if (limit <= 0) return this.#nothing();
    const answer = await this.#read(CHANGES, [limit]);
    return pairsOf(answer).map(([sequence, writes]) => ({
      sequence: BigInt(sequence.toString()),
      writes: decodeWrites(this.#openedChange(sequence, writes)),
    }));
  }

  #openedChange(sequence: Buffer, stored: Buffer): Buffer {
    const opened = unsealValue(NO_KEY, stored);
    if (opened !== undefined) return opened;
    const sentence = `change ${sequence.toString()} does not match its checksum`;
    throw this.#damage.error(new StoreError('damaged', sentence));
  }

  async forget(sequences: readonly bigint[]): Promise<void> {
    const numbers = sequences.map(String);
    await this.#read(FORGET, numbers);
  }

  async sequence(): Promise<bigint> {
    const [sequence] = listOf(await this.#read(STATE, ['']));
    return BigInt(bytesOf(sequence).toString());
  }

  async time(): Promise<number> {
    const [seconds, micros] = listOf(await this.#read(TIME, [''])).map((each) => Number(each));
    return (seconds ?? NaN) * 1000 + (micros ?? NaN) / 1000;
  }

  async restore(entries: AsyncIterable<StoreEntry>, sequence: bigint): Promise<void> {
    const id = randomUUID();
    await this.#read(RESTORE_BEGIN, [id]);
    for await (const page of pagesOf(entries)) {
      const sent = page.flatMap(({ key, value }) => sealedEntry(keyBytes(key), value));
      if ((await this.#read(RESTORE_ADD, [id, ...sent])) !== 1) throw overtaken();
    }
    const ended = await this.#read(RESTORE_END, [id, String(sequence)]);
    if (ended === -1) throw new StoreError('occupied', 'the store is not empty');
    if (ended !== 1) throw overtaken();
  }

  async replay(changes: readonly StoreChange[]): Promise<void> {
    await this.#read(REPLAY, changes.flatMap(replayArguments));
  }

  guard(look: StoreGuard): void {
    this.#gate.shut(() => {
      const open = new Gate();
      return look(new RedisStore(this.#link, this.#runs.pinned(open), open, this.#damage));
    });
  }

  async checkKeys(): Promise<KeyCheck> {
    const [expected, found] = await this.#count();
    const damaged = expected.differences(found);
    this.#damage.checked(damaged);
    return { keys: found.count, damaged };
  }

  async sealOlder(): Promise<number> {
    const sealed = (await this.#sealing()) === 'all' ? 0 : await this.#sealValues();
    // It gives the keys their digests.
    await this.#count();
    return sealed + (await this.#sealChanges());
  }

  async #sealChanges(): Promise<number> {
    const changes = pairsOf(await this.#read(CHANGES, [MOST_CHANGES]));
    const plain = changes.filter(([, stored]) => !isSealed(stored));
    const sent = plain.flatMap(([number, stored]) => [number, stored, sealValue(NO_KEY, stored)]);
    if (sent.length > 0) await this.#read(SEAL, ['changes', ...sent]);
    return plain.length;
  }

  async #sealValues(): Promise<number> {
    let sealed = 0;
    for (let start: Argument = '-', more = true; more;) {
      const page = storedOf(await this.#read(RANGE, ['+', start, '+', PAGE_ENTRIES, 'values']));
      const plain = page.filter(isPlain);
      const sent = plain.flatMap(({ key, stored }) => [key, stored, sealValue(key, stored)]);
      if (sent.length > 0) await this.#read(SEAL, ['values', ...sent]);
      sealed += plain.length;
      more = page.length === PAGE_ENTRIES;
      start = Buffer.concat([Buffer.from('('), page.at(-1)?.key ?? NO_KEY]);
    }
    return sealed;
  }

  /** Counts all keys in steps, between commits. @returns Their stored digests, and those of the keys at the same moment */
  async #count(): Promise<readonly [KeyDigests, KeyDigests]> {
    const id = randomUUID();
    for (let begun = false; ;) {
      begun ||= (await this.#read(WALK_BEGIN, [id])) === 1;
      const step = begun ? await this.#read(WALK_STEP, [id, COUNTED_AT_ONCE]) : undefined;
      if (Array.isArray(step)) return [digestsOf(step[0]), digestsOf(step[1])];
      if (step === undefined || bytesOf(step).toString() === 'lost') begun = false;
      await setTimeout(begun ? COUNT_PAUSE_MILLIS : BUSY_PAUSE_MILLIS);
    }
  }

  async weakness(): Promise<string | undefined> {
    this.#requireOpen();
    return weaknessOf(this.#link.client);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    this.#link.client.disconnect();
  }

  /** Sends a commit until it is answered; the script applies an id once. */
  async #commit(sent: readonly Argument[]): Promise<CommitResult> {
    const until = Date.now() + REDIS_COMMIT_MILLIS;
    this.#requireReady();
    for (let sure = true; ; sure = false) {
      try {
        return resultOf(await this.#runs.call(COMMIT, sent));
      } catch (error) {
        // A commit that is refused now may have been applied by an earlier attempt.
        if (!isLost(error) && !sure) return unknown(failed(error));
        if (!isLost(error)) throw failed(error);
        this.#link.leave();
        const left = until - Date.now();
        if (left <= 0 || !(await this.#link.untilReady(left))) return unknown(error);
        await setTimeout(PAUSE_MILLIS);
      }
    }
  }

  async #read(script: RedisScript, sent: readonly Argument[]): Promise<unknown> {
    return this.#tracked(async () => {
      this.#requireReady();
      try {
        return await this.#runs.call(script, sent);
      } catch (error) {
        if (!isLost(error)) throw failed(error);
        this.#link.leave();
        throw storeUnavailable();
      }
    });
  }

  #tracked<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#requireOpen();
    const done = work();
    this.#underWay.add(done);
    const over = () => this.#underWay.delete(done);
    done.then(over, over);
    return done;
  }

  #nothing(): readonly never[] {
    this.#requireOpen();
    this.#requireReady();
    return [];
  }

  #requireOpen(): void {
    if (this.#closed) throw new StoreError('closed', 'the store is closed');
  }

  #requireReady(): void {
    if (!this.#link.ready) throw storeUnavailable();
  }
}

/** Maximum size and number of entries that are restored at once. */
const PAGE_BYTES = 2 ** 20;
const PAGE_ENTRIES = 1000;
/** Maximum number of changes that wait for the journal, and are sealed by an upgrade. */
const MOST_CHANGES = 10_000;

async function* pagesOf(entries: AsyncIterable<StoreEntry>): AsyncGenerator<readonly StoreEntry[]> {
  let page: StoreEntry[] = [];
  let bytes = 0;
  for await (const entry of entries) {
    page.push(entry);
    bytes += entry.value.byteLength;
    if (bytes < PAGE_BYTES && page.length < PAGE_ENTRIES) continue;
    yield page;
    [page, bytes] = [[], 0];
  }
  if (page.length > 0) yield page;
}

/** Keys that a step counts, in about 3 ms, and the pause after it: commits go on in between. */
const COUNTED_AT_ONCE = 1000;
const COUNT_PAUSE_MILLIS = 1;
/** Pause while another process counts, in ms. */
const BUSY_PAUSE_MILLIS = 500;

/** A key with its stored value: null for an absent key, anything but bytes for a value that is missing. */
interface StoredValue {
  readonly key: Buffer;
  readonly stored: unknown;
}

interface PlainValue extends StoredValue {
  readonly stored: Buffer;
}

/** Whether a value is stored without a seal. */
function isPlain(value: StoredValue): value is PlainValue {
  return Buffer.isBuffer(value.stored) && !isSealed(value.stored);
}

function storedOf(answer: unknown): readonly StoredValue[] {
  const list = listOf(answer);
  return list.flatMap((key, at) =>
    at % 2 === 0 ? [{ key: bytesOf(key), stored: list[at + 1] }] : [],
  );
}

function sealedEntry(key: Buffer, value: Uint8Array): readonly Argument[] {
  return [key, sealValue(key, value)];
}

function keysOf(answer: unknown): readonly StoreEntry[] {
  return storedOf(answer).map(({ key }) => ({ key: keyText(key), value: NO_KEY }));
}

/** Digests of keys in the fields and values of a hash. Other fields have names of several bytes. */
function digestsOf(answer: unknown): KeyDigests {
  const digests = new KeyDigests();
  for (const [group, text] of pairsOf(answer)) {
    if (group.length === 1) digests.addText(group.toString('latin1'), text.toString());
  }
  return digests;
}

function overtaken(): StoreError {
  return new StoreError('failed', 'somebody else has begun to put the store back meanwhile');
}

function resultOf(answer: unknown): CommitResult {
  const [committed, number] = listOf(answer);
  const text = bytesOf(number).toString();
  return committed === 1
    ? { kind: 'committed', sequence: BigInt(text) }
    : { kind: 'conflict', check: Number(text) };
}

function pairsOf(answer: unknown): readonly (readonly [Buffer, Buffer])[] {
  const list = listOf(answer).map(bytesOf);
  return list.flatMap((left, index) => {
    const right = list[index + 1];
    return index % 2 === 0 && right !== undefined ? [[left, right] as const] : [];
  });
}

function listOf(answer: unknown): readonly unknown[] {
  if (Array.isArray(answer)) return answer;
  throw new StoreError('failed', 'Redis answered something else than a list');
}

function bytesOf(answer: unknown): Buffer {
  if (Buffer.isBuffer(answer)) return answer;
  throw new StoreError('failed', 'Redis answered something else than bytes');
}

/** Error replies of a server that is temporarily unavailable. */
const PASSING = new Set([
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'BUSY',
  'UNBLOCKED',
]);

/** Whether the result of a command is unknown. */
function isLost(error: unknown): boolean {
  if (error instanceof StoreError || error instanceof GuardRefusal) return false;
  return !isAnswered(error) || PASSING.has(codeOf(error));
}

function storeUnavailable(): StoreError {
  return new StoreError('unavailable', 'Redis does not answer');
}

function failed(error: unknown): unknown {
  if (error instanceof GuardRefusal) return error.cause;
  if (error instanceof StoreError) return error;
  return new StoreError('failed', `Redis refused: ${messageOf(error)}`);
}

function unknown(error: unknown): CommitResult {
  const reason = `Redis did not say what became of the commit: ${messageOf(error)}`;
  return { kind: 'unknown', reason };
}
