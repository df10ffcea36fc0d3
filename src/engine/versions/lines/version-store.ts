import type { Store, Check, Write } from '../../../store/store.ts';
import { DecodedRecords } from '../../catalog/records/decoded-records.ts';
import {
  allVersionsOf,
  headKey,
  prefixRange,
  versionKey,
  versionsOf,
} from '../../catalog/records/keys.ts';
import type { Stored, VersionRecord } from '../../format/records.ts';
import {
  MAIN_CHAIN,
  ownerOf,
  chainSpans,
  MAIN,
  type Chain,
  type Span,
} from '../../format/chain.ts';
import { decodeVersion, encodeVersion } from '../../format/version-codec.ts';

/** The selection of a version listing. */
export interface VersionPage {
  /** Only versions beyond this one, in the requested order. */
  readonly after?: bigint;
  readonly limit: number;
  readonly descending: boolean;
}

/** How many version records are read at once. */
const CHUNK = 1000;

/** The versions of tables as the store has them. */
export class VersionStore {
  readonly #store: Store;
  readonly #decoded = new DecodedRecords(decodeVersion);

  constructor(store: Store) {
    this.#store = store;
  }

  /** The newest version of a table or of one of its branches, read now. */
  async head(
    tableId: string,
    chain: Chain = MAIN_CHAIN,
  ): Promise<Stored<VersionRecord> | undefined> {
    return this.#read(headKey(tableId, chain.key));
  }

  /** A version, made on the line itself or on one that it came from. */
  async at(
    tableId: string,
    version: bigint,
    chain: Chain = MAIN_CHAIN,
  ): Promise<Stored<VersionRecord> | undefined> {
    return this.#read(versionKey(tableId, ownerOf(chain, version), version));
  }

  /** Versions in ascending or descending order, with those that a branch inherits. */
  async list(
    tableId: string,
    page: VersionPage,
    chain: Chain = MAIN_CHAIN,
  ): Promise<readonly VersionRecord[]> {
    const spans = chainSpans(chain);
    const found: VersionRecord[] = [];
    for (const span of page.descending ? spans : spans.toReversed()) {
      const range = rangeOf(tableId, span, page);
      const limit = page.limit - found.length;
      if (limit <= 0 || range === undefined) continue;
      const entries = await this.#store.range({ ...range, limit, reverse: page.descending });
      found.push(...entries.map((entry) => decodeVersion(entry.value)));
    }
    return found;
  }

  /** Those of some versions of a line that exist. */
  async some(
    tableId: string,
    chain: string,
    versions: readonly bigint[],
  ): Promise<readonly VersionRecord[]> {
    const keys = versions.map((version) => versionKey(tableId, chain, version));
    const values = await this.#store.getMany(keys);
    return values.flatMap((value) => (value === undefined ? [] : [decodeVersion(value)]));
  }

  /** Every version that was made on a line: `main`, or a branch's id. */
  async madeOn(tableId: string, chain: string): Promise<readonly VersionRecord[]> {
    return this.#all(versionsOf(tableId, chain));
  }

  /** Every version of a table on any branch. */
  async everywhere(tableId: string): Promise<readonly VersionRecord[]> {
    return this.#all(allVersionsOf(tableId));
  }

  async #all(prefix: string): Promise<readonly VersionRecord[]> {
    const all: VersionRecord[] = [];
    let { start, end } = prefixRange(prefix);
    for (;;) {
      const entries = await this.#store.range({ start, end, limit: CHUNK });
      all.push(...entries.map((entry) => decodeVersion(entry.value)));
      const last = entries.at(-1);
      if (last === undefined || entries.length < CHUNK) return all;
      start = `${last.key}\u0000`;
    }
  }

  async #read(key: string): Promise<Stored<VersionRecord> | undefined> {
    const value = await this.#store.get(key);
    return value && this.#decoded.of(key, value);
  }
}

/** The keys of a page's versions in a span; undefined if there can be none. */
function rangeOf(tableId: string, { key, after, upTo }: Span, page: VersionPage) {
  const all = prefixRange(versionsOf(tableId, key));
  let first = after + 1n;
  let end = upTo === null ? null : upTo + 1n;
  if (page.after !== undefined) {
    if (!page.descending && page.after >= first) first = page.after + 1n;
    if (page.descending && (end === null || page.after < end)) end = page.after;
  }
  if (end !== null && end <= first) return undefined;
  return {
    start: versionKey(tableId, key, first),
    end: end === null ? all.end : versionKey(tableId, key, end),
  };
}

/**
 * The check that a head is still what a commit was built on.
 * @param chain The line that it is the head of: `main`, or a branch's id.
 */
export function headCheck(
  tableId: string,
  head: Stored<VersionRecord> | undefined,
  chain: string = MAIN,
): Check {
  return { kind: 'value', key: headKey(tableId, chain), value: head?.value ?? null };
}

/** The writes that make a version the head of its line. */
export function versionWrites(
  tableId: string,
  record: VersionRecord,
  chain: string = MAIN,
): readonly Write[] {
  const value = encodeVersion(record);
  return [
    { key: headKey(tableId, chain), value },
    { key: versionKey(tableId, chain, record.version), value },
  ];
}
