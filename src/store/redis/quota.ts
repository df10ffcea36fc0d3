import { createHash, randomUUID } from 'node:crypto';
import { StoreError } from '../store-error.ts';
import type { Quota, QuotaAnswer, QuotaCharge, QuotaReading, QuotaUse } from '../quota.ts';
import { parseRedisAddress } from './address.ts';
import { codeOf, connectRedis, isAnswered, type RedisLink } from './client.ts';
import type { Argument } from './commit.ts';
import { QUOTA_SCRIPT } from './quota-script.ts';

/** Timeout of an answer, in ms; requests then continue without limits. */
export const QUOTA_ANSWER_MILLIS = 1_000;
/** Time until the slot of a dead gateway expires, in ms. */
export const SLOT_LEASE_MILLIS = 6_000;
/** Interval at which leases of running requests are renewed, in ms. */
const KEEP_MILLIS = 2_000;
/** Maximum number of leases that one command renews. */
const KEPT_AT_ONCE = 500;
/** Parts of the keys of a counter. */
const RATE = ':rate:';
const SLOTS = ':slots:';
/** Length from which on names of counters are replaced by digests. */
const LONGEST_KEY = 200;

const DIGEST = createHash('sha1').update(QUOTA_SCRIPT).digest('hex');
const VALUES_OF_READING = 5;

interface RedisQuotaOptions {
  /** `redis://…`: see `parseRedisAddress`. */
  readonly url: string;
  /** The catalog's name: several may share a Redis. */
  readonly catalog: string;
  /** Lifetime and renewal interval of a lease, in ms. */
  readonly lease?: { readonly lifeMillis: number; readonly keepMillis: number };
}

/** A slot in use: the lease, and the names of its counters. */
interface Held {
  readonly lease: string;
  readonly keys: readonly string[];
}

/**
 * Counters that all gateways of a catalog share. It opens without Redis as well.
 * @throws StoreError address.
 */
export async function openRedisQuota(options: RedisQuotaOptions): Promise<Quota> {
  const link = await connectRedis(parseRedisAddress(options.url));
  await link.untilReady(QUOTA_ANSWER_MILLIS);
  return new RedisQuota(link, options);
}

class RedisQuota implements Quota {
  readonly #link: RedisLink;
  readonly #prefix: string;
  readonly #lifeMicros: number;
  readonly #process = randomUUID();
  readonly #held = new Map<string, Held>();
  readonly #keeping: NodeJS.Timeout;
  #leases = 0;

  constructor(link: RedisLink, { catalog, lease }: RedisQuotaOptions) {
    this.#link = link;
    // The braces put all counters into one slot of a cluster: a request may charge several.
    this.#prefix = `{arrowgate:${catalog}}:limit`;
    this.#lifeMicros = (lease?.lifeMillis ?? SLOT_LEASE_MILLIS) * 1000;
    this.#keeping = setInterval(() => void this.#keep(), lease?.keepMillis ?? KEEP_MILLIS);
    this.#keeping.unref();
  }

  async take(charges: readonly QuotaCharge[]): Promise<QuotaAnswer> {
    const lease = `${this.#process}:${this.#leases++}`;
    const keys = charges.map(({ key }) => key);
    const sent = ['take', lease, this.#lifeMicros, ...charges.flatMap(argumentsOf)];
    const [granted, ...values] = numbersOf(await this.#run(keys, sent));
    return {
      granted: granted === 1,
      readings: charges.map((charge, index) => readingOf(charge, values, index)),
      release: granted === 1 ? this.#hold(lease, charges) : () => undefined,
    };
  }

  async used(most: number): Promise<readonly QuotaUse[]> {
    const listed = await this.#script([this.#list], ['used', most]);
    if (!Array.isArray(listed)) throw unreadable();
    const keys = listed.map(String);
    const uses: QuotaUse[] = [];
    for (let at = 0; at < keys.length; at += KEPT_AT_ONCE) {
      uses.push(...(await this.#usesOf(keys.slice(at, at + KEPT_AT_ONCE))));
    }
    return uses
      .filter(({ fullMicros, slots }) => fullMicros > 0 || slots > 0)
      .toSorted((one, other) => other.fullMicros - one.fullMicros);
  }

  /** @param rates Keys of rates. */
  async #usesOf(rates: readonly string[]): Promise<readonly QuotaUse[]> {
    const names = rates.map((key) => key.slice(this.#prefix.length + RATE.length));
    const values = numbersOf(
      await this.#script(
        names.flatMap((name) => this.#keysOf(name)),
        ['read'],
      ),
    );
    return names.map((key, at) => ({
      key,
      fullMicros: values[2 * at] ?? 0,
      slots: values[2 * at + 1] ?? 0,
    }));
  }

  fault(): string | undefined {
    return this.#link.ready ? undefined : 'Redis does not answer, so limits are not counted';
  }

  async close(): Promise<void> {
    clearInterval(this.#keeping);
    const held = [...this.#held.values()];
    this.#held.clear();
    await this.#each('give', held, []);
    this.#link.client.disconnect();
  }

  #hold(lease: string, charges: readonly QuotaCharge[]): () => void {
    const keys = charges.filter(({ concurrency }) => concurrency !== null).map(({ key }) => key);
    if (keys.length === 0) return () => undefined;
    const held = { lease, keys };
    this.#held.set(lease, held);
    return () => {
      // A lease that cannot be released now is not renewed, so it expires.
      if (this.#held.delete(lease)) void this.#each('give', [held], []);
    };
  }

  /** Renews the leases of all running requests. */
  async #keep(): Promise<void> {
    const held = [...this.#held.values()];
    for (let at = 0; at < held.length; at += KEPT_AT_ONCE) {
      const some = held.slice(at, at + KEPT_AT_ONCE).filter(({ lease }) => this.#held.has(lease));
      await this.#each('keep', some, [this.#lifeMicros]);
    }
  }

  async #each(verb: string, held: readonly Held[], first: readonly Argument[]): Promise<void> {
    const keys = held.flatMap((each) => each.keys);
    if (keys.length === 0) return;
    const leases = held.flatMap((each) => each.keys.map(() => each.lease));
    await this.#run(keys, [verb, ...first, ...leases]).catch(() => undefined);
  }

  /** Runs the script on counters; the list of those in use is its last key. */
  async #run(names: readonly string[], sent: readonly Argument[]): Promise<unknown> {
    return this.#script([...names.flatMap((name) => this.#keysOf(name)), this.#list], sent);
  }

  async #script(keys: readonly string[], sent: readonly Argument[]): Promise<unknown> {
    if (!this.#link.ready) throw storeUnavailable();
    try {
      return await withTimeout(this.#call([keys.length, ...keys, ...sent]));
    } catch (error) {
      if (isAnswered(error)) {
        throw new StoreError('unavailable', `Redis refused to count: ${codeOf(error)}`);
      }
      this.#link.leave();
      throw storeUnavailable();
    }
  }

  async #call(parameters: readonly Argument[]): Promise<unknown> {
    try {
      return await this.#link.client.callBuffer('EVALSHA', [DIGEST, ...parameters]);
    } catch (error) {
      if (codeOf(error) !== 'NOSCRIPT') throw error;
      return this.#link.client.callBuffer('EVAL', [QUOTA_SCRIPT, ...parameters]);
    }
  }

  #keysOf(name: string): readonly string[] {
    const short =
      name.length <= LONGEST_KEY ? name : createHash('sha256').update(name).digest('base64url');
    return [`${this.#prefix}${RATE}${short}`, `${this.#prefix}${SLOTS}${short}`];
  }

  /** The key of the list of counters in use. */
  get #list(): string {
    return `${this.#prefix}:used`;
  }
}

/** Rejects if Redis does not answer in time. */
async function withTimeout(work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(storeUnavailable()), QUOTA_ANSWER_MILLIS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // A later failure has no caller.
    work.catch(() => undefined);
  }
}

function argumentsOf({ rate, cost, concurrency }: QuotaCharge): readonly Argument[] {
  return [rate?.intervalMicros ?? 0, rate?.burst ?? 0, cost, concurrency ?? 0];
}

function numbersOf(answer: unknown): readonly number[] {
  if (Array.isArray(answer)) return answer.map(Number);
  throw unreadable();
}

function unreadable(): StoreError {
  return new StoreError('unavailable', 'Redis answered something else than a list');
}

function readingOf(charge: QuotaCharge, values: readonly number[], index: number): QuotaReading {
  const at = index * VALUES_OF_READING;
  const [wait = 0, left = 0, full = 0, slots = 0, busy = 0] = values.slice(
    at,
    at + VALUES_OF_READING,
  );
  return {
    waitMicros: wait,
    left: charge.rate === null ? null : left,
    fullMicros: full,
    slotsLeft: charge.concurrency === null ? null : slots,
    busy: busy === 1,
  };
}

function storeUnavailable(): StoreError {
  return new StoreError('unavailable', 'Redis does not answer');
}
