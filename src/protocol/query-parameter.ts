import { CatalogError } from './errors.ts';
import { isJsonObject, parseJson, type JsonValue } from './json.ts';

/** A longer delimiter would only serve to blow listings up, in which it stands between all names. */
export const MAX_DELIMITER_BYTES = 64;

/** Type of the value of a query parameter. */
export type ParameterKind = 'text' | 'choice' | 'flag' | 'count' | 'version' | 'map';

/** A query parameter of the protocol. */
interface QueryParameter {
  readonly kind: ParameterKind;
  readonly description: string;
  /**
   * Value of the body's field that means absence, since generated clients write it into each body. A
   * branch and a mode have none: a body that names one means it.
   */
  readonly default?: boolean;
  /** Description of its length in documents of the protocol. */
  readonly bounds?: { readonly minLength: number; readonly maxLength: number };
}

const flag = (description: string, otherwise?: boolean): QueryParameter => ({
  kind: 'flag',
  description,
  ...(otherwise === undefined ? {} : { default: otherwise }),
});
const text = (description: string): QueryParameter => ({ kind: 'text', description });
const map = (description: string): QueryParameter => ({ kind: 'map', description });

/** Every query parameter of any operation. */
export const queryParameters: Readonly<Record<string, QueryParameter>> = {
  delimiter: {
    ...text('What separates the parts of an identifier; "$" when absent.'),
    bounds: { minLength: 1, maxLength: MAX_DELIMITER_BYTES },
  },
  page_token: text('Where the page before ended.'),
  limit: {
    kind: 'count',
    description: 'How many entries a page holds at most; below zero as many as without it.',
  },
  include_declared: flag('Whether tables without data are listed too.', true),
  branch: text('The branch of the table; its main branch when absent.'),
  mode: { kind: 'choice', description: 'How the operation treats what is there already.' },
  properties: map('Properties of the new table, as a JSON object of strings.'),
  storage_options: map('Storage options of the new table, as a JSON object of strings.'),
  with_table_uri: flag('Whether the answer has the full URI of the table.', false),
  load_detailed_metadata: flag('Whether the answer has what only the table itself knows.', false),
  check_declared: flag('Whether the answer says if the table is only declared.', false),
  descending: flag('Whether the newest version comes first.', false),
  version: { kind: 'version', description: 'The version of the table.' },
  on: text('The column that rows are matched on.'),
  when_matched_update_all: flag('Whether matched rows are updated.'),
  when_matched_update_all_filt: text('SQL that a matched row must fulfil to be updated.'),
  when_not_matched_insert_all: flag('Whether rows without a match are inserted.'),
  when_not_matched_by_source_delete: flag('Whether rows that no input row matches are deleted.'),
  when_not_matched_by_source_delete_filt: text('SQL that such a row must fulfil to be deleted.'),
  timeout: text('How long the operation may take, such as "30s".'),
  use_index: flag('Whether an index may be used to find matches.', true),
  use_lsm: flag('Whether the write may go through the write-ahead log.', false),
  upload_id: text('The multipart write that this is part of.'),
  upload_part_id: text('The part of the multipart write.'),
  distributed_metrics: text('How much of each worker the analysis shows.'),
};

/** The kind of a query parameter; one that is not known is text. */
export function parameterKind(name: string): ParameterKind {
  return queryParameters[name]?.kind ?? 'text';
}

type Reader = (text: string) => JsonValue | undefined;

const readers: Readonly<Record<ParameterKind, readonly [expected: string, read: Reader]>> = {
  text: ['text', (text) => text],
  choice: ['text', (text) => text],
  flag: ['true or false', readFlag],
  count: ['a whole number', (text) => readInteger(text, -(2n ** 63n))],
  version: ['a whole number', (text) => readInteger(text, -(2n ** 63n))],
  map: ['a JSON object of strings', readMap],
};

/**
 * What the text of a query parameter stands for, as a JSON body would have it.
 * @throws CatalogError InvalidInput when it is not of the parameter's kind.
 */
export function readParameter(name: string, text: string): JsonValue {
  const [expected, read] = readers[parameterKind(name)];
  const value = read(text);
  if (value !== undefined) return value;
  throw new CatalogError('InvalidInput', `the query parameter ${name} must be ${expected}`);
}

function readFlag(text: string): boolean | undefined {
  const plain = text.toLowerCase();
  return plain === 'true' || plain === 'false' ? plain === 'true' : undefined;
}

function readInteger(text: string, minimum: bigint): number | bigint | undefined {
  if (!/^-?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text);
  if (value < minimum || value >= 2n ** 63n) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function readMap(text: string): JsonValue | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value)) return undefined;
  return Object.values(value).every((member) => typeof member === 'string') ? value : undefined;
}
