import { ArrowError } from '../../../arrow/arrow-error.ts';
import { DamagedFile } from '../../../arrow/sealed/file-seal.ts';
import type { BatchSource } from '../scan/batch-source.ts';
import { indexFileOf } from '../../index/keys/index-upkeep.ts';
import type { Fragment, FragmentIndex, Snapshot } from '../../format/snapshot.ts';
import { DamagedText } from '../../index/text/text-reader.ts';
import { indexedTexts, scannedTexts, type FragmentTexts, type TextScan } from './fragment-texts.ts';
import type { Postings } from '../../index/text/postings.ts';
import type { FuzzyWord, SearchWords } from './search-words.ts';
import { defaultTextOptions } from '../../tokens/text-options.ts';
import type { SearchedText } from '../../index/text/text-plan.ts';
import { tokenizerOf } from '../../tokens/tokenizer.ts';

/** The searched texts of a table. */
export interface TextPlace {
  readonly source: BatchSource;
  readonly snapshot: Snapshot;
  /** Whether fragments without an index are left out. */
  readonly fastSearch: boolean;
  /** Yields to other requests now and then. */
  readonly turn: () => Promise<void>;
  /** Called before memory is allocated, in bytes; absent if nothing is counted. */
  readonly charge?: (bytes: number) => void;
}

/** Statistics of the searched words in all fragments. */
export interface WordsFound {
  /** Number of texts of the column in all fragments. */
  readonly texts: number;
  /** Average number of tokens of a text. */
  readonly averageLength: number;
  readonly expansions: ReadonlyMap<FuzzyWord, readonly string[]>;
  /** Number of rows with a token in all fragments. */
  rowsWith(token: string): number;
  /** The words in a fragment; undefined if it is not searched. */
  in(fragment: Fragment): FragmentWords | undefined;
}

/** The searched words in one fragment. */
export interface FragmentWords {
  readonly lengths: FragmentTexts['header']['lengths'];
  /** Postings of each word that some row has, part by part. */
  readonly postings: ReadonlyMap<string, readonly Postings[]>;
}

/** Finds the words of some queries in one column, with statistics over all fragments. */
export async function findWords(
  place: TextPlace,
  text: SearchedText,
  queries: readonly SearchWords[],
): Promise<WordsFound> {
  const opened = await openAll(place, text, queries);
  const expansions = await expandAll(opened, queries, place.turn);
  const tokens = new Set([
    ...queries.flatMap(({ exact }) => exact.map(({ token }) => token)),
    ...[...expansions.values()].flat(),
  ]);
  const words = new Map<Fragment, FragmentWords>();
  const rows = new Map<string, number>();
  let [texts, sum] = [0, 0];
  for (const [fragment, index] of opened) {
    const { header } = index;
    const found = new Map<string, readonly Postings[]>();
    for (const token of tokens) {
      const parts = await index.postings(token);
      await place.turn();
      if (parts.length === 0) continue;
      found.set(token, parts);
      const count = parts.reduce((sum, part) => sum + part.rows.length, 0);
      rows.set(token, (rows.get(token) ?? 0) + count);
    }
    words.set(fragment, { lengths: header.lengths, postings: found });
    texts += header.texts;
    sum += header.tokens;
  }
  return {
    texts,
    averageLength: sum / Math.max(1, texts),
    expansions,
    rowsWith: (token) => rows.get(token) ?? 0,
    in: (fragment) => words.get(fragment),
  };
}

type Opened = ReadonlyMap<Fragment, FragmentTexts>;

async function openAll(
  place: TextPlace,
  text: SearchedText,
  queries: readonly SearchWords[],
): Promise<Opened> {
  const opened = new Map<Fragment, FragmentTexts>();
  const scan = scanOf(text, queries);
  for (const fragment of place.snapshot.fragments) {
    const file = indexFileOf(fragment, text.index);
    const texts = file === undefined ? undefined : await openIndexed(place, file, scan, fragment);
    if (texts !== undefined) opened.set(fragment, texts);
    else if (!place.fastSearch || file !== undefined) {
      opened.set(fragment, await scannedTexts(place.source, place.snapshot, fragment, scan));
    }
  }
  return opened;
}

/** A damaged file is ignored and the rows are read. */
async function openIndexed(
  { source, snapshot }: TextPlace,
  file: FragmentIndex,
  scan: TextScan,
  fragment: Fragment,
): Promise<FragmentTexts | undefined> {
  if (source.texts === undefined) return undefined;
  let texts: FragmentTexts;
  try {
    texts = await indexedTexts(source.texts, snapshot, file);
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
  let scanned: Promise<FragmentTexts> | undefined;
  const instead = async <Result>(
    work: (texts: FragmentTexts) => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await work(scanned === undefined ? texts : await scanned);
    } catch (error) {
      if (!isDamage(error) || scanned !== undefined) throw error;
      scanned = scannedTexts(source, snapshot, fragment, scan);
      return work(await scanned);
    }
  };
  return {
    header: texts.header,
    postings: (token) => instead((each) => each.postings(token)),
    visitTokens: (from, visitor) => instead((each) => each.visitTokens(from, visitor)),
  };
}

function isDamage(error: unknown): boolean {
  if (error instanceof DamagedText || error instanceof DamagedFile) return true;
  return error instanceof ArrowError && error.kind === 'corrupt';
}

function scanOf({ column, index }: SearchedText, queries: readonly SearchWords[]): TextScan {
  const options = index.text ?? defaultTextOptions;
  const exact = new Set(queries.flatMap((query) => query.exact.map(({ token }) => token)));
  const fuzzy = queries.flatMap((query) => query.fuzzy);
  return {
    column,
    tokenizer: tokenizerOf(options),
    withPositions: queries.some(({ leaf }) => leaf.kind === 'phrase'),
    test: (token) => exact.has(token) || fuzzy.some((word) => isNear(word, token)),
  };
}

/** Expands fuzzy words: for each query the first tokens in order, up to its limit. */
async function expandAll(
  opened: Opened,
  queries: readonly SearchWords[],
  turn: TextPlace['turn'],
): Promise<ReadonlyMap<FuzzyWord, readonly string[]>> {
  const expansions = new Map<FuzzyWord, readonly string[]>();
  for (const { leaf, fuzzy } of queries) {
    let left = leaf.kind === 'match' ? leaf.maxExpansions : 0;
    for (const word of fuzzy) {
      // Its expansions would exceed the limit.
      const near = left === 0 ? [] : await tokensNear(opened, word, turn);
      const retained = [...near].sort().slice(0, left);
      expansions.set(word, retained);
      left -= retained.length;
    }
  }
  return expansions;
}

async function tokensNear(
  opened: Opened,
  word: FuzzyWord,
  turn: TextPlace['turn'],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const visit = (token: string): string | null => {
    if (!token.startsWith(word.prefix)) return null;
    const { isNear: isFound, next } = word.near.look(token);
    if (isFound) found.add(token);
    return next;
  };
  for (const texts of opened.values()) await texts.visitTokens(word.prefix, { visit, turn });
  return found;
}

function isNear({ prefix, near }: FuzzyWord, token: string): boolean {
  return token.startsWith(prefix) && near.look(token).isNear;
}
