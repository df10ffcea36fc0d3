import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Notes } from '../store/notes.ts';

/** How often the digest is published, and those of other gateways are read, in ms. */
const INTERVAL_MILLIS = 2000;
/** Time after which a note that does not change is one of a gateway that ended, in ms. */
const SILENT_MILLIS = 8000;
/** Time after which such a note is removed, in ms. */
const REMOVED_MILLIS = 60_000;
/** How long policies may differ without a report: each gateway loads a changed folder by itself, in ms. */
const GRACE_MILLIS = 10_000;
/** Maximum number of gateways that the sentence names. */
const NAMED = 5;

/** A note of a gateway: its policy, its place, and a number that grows with each note. */
interface PublishedDigest {
  readonly digest: string;
  readonly gateway: string;
  readonly count: number;
}

/** What was seen of another gateway. */
interface Seen {
  readonly text: string;
  /** When the note was first seen with this text, by the monotonic clock of this process, in ms. */
  readonly sinceMillis: number;
  readonly published: PublishedDigest | undefined;
}

export interface PolicyAgreementOptions {
  /** Opens the notes that all gateways of the catalog share. */
  readonly open: () => Promise<Notes>;
  /** Digest of the policy in force. */
  readonly digest: () => string;
  /** Called with a sentence when policies have differed for ten seconds, and with undefined when they agree again. */
  readonly onChange: (fault: string | undefined) => void;
  /** Monotonic clock, in ms; that of the process when absent. */
  readonly now?: () => number;
}

/**
 * Compares the policies of all gateways of a catalog. Each publishes the digest of its policy in a
 * note beside the store and reads those of the others. Clocks are not compared: a gateway is
 * running if its note changes. While the notes cannot be read, the last result stays.
 */
export class PolicyAgreement {
  readonly #options: PolicyAgreementOptions;
  readonly #name = randomUUID();
  readonly #gateway = `${hostname()}:${process.pid}`;
  readonly #now: () => number;
  #notes: Notes | undefined;
  #seen: ReadonlyMap<string, Seen> = new Map();
  #count = 0;
  #differsSince: number | undefined;
  #digests = 1;
  #fault: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: PolicyAgreementOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** How the policies differ; undefined while they agree, and for the first ten seconds of a difference. */
  fault(): string | undefined {
    return this.#fault;
  }

  /** Number of different policies in force. */
  get digests(): number {
    return this.#digests;
  }

  /** The policy of each running gateway, this one first. */
  get policies(): readonly { gateway: string; digest: string; own: boolean }[] {
    const own = { gateway: this.#gateway, digest: this.#options.digest(), own: true };
    const others = this.#running().map(({ gateway, digest }) => ({ gateway, digest, own: false }));
    return [own, ...others];
  }

  /** Publishes and compares in the background until it is closed. */
  begin(): void {
    this.#round = this.step().then(() => {
      if (this.#closed) return;
      this.#timer = setTimeout(() => this.begin(), INTERVAL_MILLIS).unref();
    });
  }

  /** Publishes and compares once. Never rejects: notes that cannot be reached change nothing. */
  async step(): Promise<void> {
    try {
      const notes = (this.#notes ??= await this.#options.open());
      await notes.keepOwn(this.#name, JSON.stringify(this.#own())).catch(() => undefined);
      this.#seen = await this.#look(notes);
      this.#judge();
    } catch {
      // The part of the store reports it.
    }
  }

  /** Removes the own note. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#round;
    await this.#notes?.remove(this.#name).catch(() => undefined);
    await this.#notes?.close();
  }

  #own(): PublishedDigest {
    this.#count += 1;
    return { digest: this.#options.digest(), gateway: this.#gateway, count: this.#count };
  }

  async #look(notes: Notes): Promise<ReadonlyMap<string, Seen>> {
    const now = this.#now();
    const seen = new Map<string, Seen>();
    for (const { name, text } of await notes.all()) {
      if (name === this.#name) continue;
      const last = this.#seen.get(name);
      const isSame = last?.text === text;
      const entry = isSame ? last : { text, sinceMillis: now, published: publishedIn(text) };
      if (now - entry.sinceMillis < REMOVED_MILLIS) seen.set(name, entry);
      else await notes.remove(name).catch(() => undefined);
    }
    return seen;
  }

  #judge(): void {
    const now = this.#now();
    const own = this.#options.digest();
    const others = this.#running().filter(({ digest }) => digest !== own);
    this.#digests = new Set([own, ...others.map(({ digest }) => digest)]).size;
    this.#differsSince = others.length === 0 ? undefined : (this.#differsSince ?? now);
    const hasLasted = this.#differsSince !== undefined && now - this.#differsSince >= GRACE_MILLIS;
    this.#report(hasLasted ? sentenceOf(own, others) : undefined);
  }

  /** Notes of other gateways that run. */
  #running(): readonly PublishedDigest[] {
    const now = this.#now();
    return [...this.#seen.values()].flatMap(({ published, sinceMillis }) =>
      published !== undefined && now - sinceMillis < SILENT_MILLIS ? [published] : [],
    );
  }

  #report(fault: string | undefined): void {
    const isNew = (fault === undefined) !== (this.#fault === undefined);
    this.#fault = fault;
    if (isNew) this.#options.onChange(fault);
  }
}

function sentenceOf(own: string, others: readonly PublishedDigest[]): string {
  const named = others.slice(0, NAMED).map(({ gateway, digest }) => `${gateway} has ${digest}`);
  const more = others.length > NAMED ? `, and ${others.length - NAMED} more differ` : '';
  return (
    `the gateways of this catalog have different policies: this one has ${own}, ` +
    `${named.join(', ')}${more}; give all of them the same policy folder`
  );
}

/** What a note says; undefined for a text that is none. */
function publishedIn(text: string): PublishedDigest | undefined {
  try {
    const { digest, gateway, count } = JSON.parse(text) as Partial<PublishedDigest>;
    const isWhole = typeof digest === 'string' && typeof gateway === 'string';
    return isWhole ? { digest, gateway, count: Number(count) } : undefined;
  } catch {
    return undefined;
  }
}
