import { CatalogError } from '../../../protocol/errors.ts';
import { fieldError, integerField, textField, type Fields } from '../../base/fields.ts';
import { distanceField } from '../../index/vectors/vector-kind.ts';
import type { JsonValue } from '../../../protocol/json.ts';
import { textOptions, type TextOptions } from '../../tokens/text-options.ts';
import {
  lanceIndexTypes,
  type LanceIndexSpec,
  type LanceIndexType,
} from '../../versions/managed/lance-library.ts';

/** Spellings of kinds in requests, without underscores, beside those of the kinds themselves. */
const spellings: Readonly<Record<string, LanceIndexType>> = { INVERTED: 'FTS', FMINDEX: 'FM' };

/** Kinds of Lance that the library for Node cannot build. */
const elsewhere: ReadonlySet<string> = new Set([
  'IVFSQ',
  'IVFHNSWFLAT',
  'NGRAM',
  'ZONEMAP',
  'BLOOMFILTER',
  'RTREE',
]);

const KNOWN = `there are ${lanceIndexTypes.join(', ')}`;

/**
 * The index that a request asks for.
 * @throws CatalogError Unsupported for kinds and options that the library for Node lacks,
 * InvalidInput for unknown ones
 */
export function lanceIndexSpec(body: Fields): LanceIndexSpec {
  const type = typeOf(textField(body, 'index_type') ?? '');
  if (type === 'FTS') return { type, options: ftsOptions(body) };
  return { type, options: type.startsWith('IVF') ? vectorOptions(body) : {} };
}

function typeOf(text: string): LanceIndexType {
  const plain = text.toUpperCase().replaceAll('_', '');
  const found = lanceIndexTypes.find((type) => type.replaceAll('_', '') === plain);
  const type = found ?? (Object.hasOwn(spellings, plain) ? spellings[plain] : undefined);
  if (type !== undefined) return type;
  if (elsewhere.has(plain)) {
    throw new CatalogError(
      'Unsupported',
      `the Lance library for Node builds no index of type ${text}: build it with another Lance client, such as pylance; ${KNOWN}`,
    );
  }
  throw new CatalogError('InvalidInput', `${JSON.stringify(text)} is not an index type; ${KNOWN}`);
}

/** Numbers of vector indices: their names in requests and in the library. */
const numbers: readonly (readonly [string, string])[] = [
  ['num_partitions', 'numPartitions'],
  ['num_sub_vectors', 'numSubVectors'],
  ['num_bits', 'numBits'],
  ['sample_rate', 'sampleRate'],
  ['max_iterations', 'maxIterations'],
  ['m', 'm'],
  ['ef_construction', 'efConstruction'],
];

function vectorOptions(body: Fields): LanceIndexSpec['options'] {
  const options: Record<string, string | number> = {};
  const distance = distanceField(body);
  if (distance !== null) options['distanceType'] = distance;
  for (const [name, option] of numbers) {
    const value = integerField(body, name);
    if (value === null) continue;
    if (value < 1n || value >= 2n ** 31n) throw fieldError(name, 'from 1 to 2^31-1', String(value));
    options[option] = Number(value);
  }
  return options;
}

/** The library has a limit of tokens always: this one lets all pass. */
const ANY_LENGTH = 2 ** 31 - 1;

/** Options of a text index: their names in requests and in the library. */
const textNames = [
  ['with_position', 'withPosition'],
  ['base_tokenizer', 'baseTokenizer'],
  ['language', 'language'],
  ['max_token_length', 'maxTokenLength'],
  ['lower_case', 'lowercase'],
  ['stem', 'stem'],
  ['remove_stop_words', 'removeStopWords'],
  ['ascii_folding', 'asciiFolding'],
  ['min_ngram_length', 'ngramMinLength'],
  ['max_ngram_length', 'ngramMaxLength'],
  ['prefix_only', 'prefixOnly'],
] as const satisfies readonly (readonly [keyof TextOptions, string])[];

function ftsOptions(body: Fields): LanceIndexSpec['options'] {
  const options = textOptions(body);
  if (options.custom_stop_words !== null) {
    const why =
      'the Lance library for Node takes no custom_stop_words: leave them out, or build the index with another Lance client';
    throw new CatalogError('Unsupported', why);
  }
  return Object.fromEntries(
    textNames.map(([name, option]) => [option, options[name] ?? ANY_LENGTH]),
  );
}

/** The fields of a request for an index of the engine that is the same one, but for how it is trained. */
export function indexBody({
  type,
  options,
}: LanceIndexSpec): Record<string, JsonValue> & { readonly index_type: string } {
  const { distanceType } = options;
  const text = textNames.map(([name, option]) => [name, options[option]]);
  return {
    ...(type === 'FTS' && withoutLength(Object.fromEntries(text))),
    ...(distanceType !== undefined && { distance_type: distanceType }),
    index_type: type,
  };
}

/** Options of a text index, without the length that lets all tokens pass. */
export function withoutLength(options: Record<string, JsonValue>): Record<string, JsonValue> {
  return options['max_token_length'] === ANY_LENGTH
    ? { ...options, max_token_length: null }
    : options;
}
