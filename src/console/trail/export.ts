import { endOfRequests } from '../../audit/search/request-stream.ts';
import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Recorded } from '../../gateway/decision/steps.ts';
import { filterTextOf, type FilterText } from './filter-text.ts';
import type { TrailTask } from './trail-task.ts';
import type { Trail } from './trail.ts';

/** Requests of an export, the newest of the filter, and of each of its steps. */
const MOST_EXPORTED = 100_000;
const STEP = 1000;

/** Columns of the CSV, which are fields of the records. */
const COLUMNS = [
  'began',
  'subject',
  'credential',
  'source_ip',
  'operation',
  'object',
  'branch',
  'decision',
  'rule',
  'policy_digest',
  'status',
  'duration_us',
  'bytes_in',
  'bytes_out',
  'request_id',
  'decision_id',
] as const;

/** Some requests in a format, and the place of the next. */
interface Part {
  readonly requests: number;
  readonly next: string | null;
  readonly bytes: Uint8Array;
}

type PageTask = Omit<Extract<TrailTask, { readonly kind: 'page' }>, 'kind'>;

/** A format of exports. */
interface Format {
  readonly type: string;
  readonly ending: string;
  /** Bytes before the first part, and behind the last. */
  readonly begin: Uint8Array;
  readonly end: Uint8Array;
  readonly part: (call: ExportCall, page: PageTask) => Promise<Part>;
}

/** An export: what is needed of a call of the API. */
interface ExportCall {
  readonly trail: Trail;
  readonly recorded: Recorded;
  readonly query: URLSearchParams;
}

const NOTHING = new Uint8Array(0);

const formats: ReadonlyMap<string, Format> = new Map([
  [
    'csv',
    {
      type: 'text/csv; charset=utf-8',
      ending: 'csv',
      begin: Buffer.from(`${COLUMNS.join(',')}\r\n`),
      end: NOTHING,
      part: linesPart(csvLine),
    },
  ],
  [
    'json',
    {
      type: 'application/x-ndjson',
      ending: 'jsonl',
      begin: NOTHING,
      end: NOTHING,
      part: linesPart(jsonLine),
    },
  ],
  [
    'arrow',
    {
      type: 'application/vnd.apache.arrow.stream',
      ending: 'arrows',
      begin: NOTHING,
      end: endOfRequests,
      part: arrowPart,
    },
  ],
]);

/** The requests of a filter as a file, newest first: `format=csv`, `json` with one object a line, or `arrow`. */
export function exported(call: ExportCall): Answer {
  const format = formats.get(call.query.get('format') ?? 'csv');
  if (format === undefined) {
    throw new CatalogError(
      'InvalidInput',
      `format must be one of ${[...formats.keys()].join(', ')}`,
    );
  }
  const filter = filterTextOf(call.query, Date.now());
  return {
    status: 200,
    contentType: format.type,
    headers: {
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="requests.${format.ending}"`,
      'x-content-type-options': 'nosniff',
    },
    body: pieces(call, format, filter),
  };
}

async function* pieces(
  call: ExportCall,
  format: Format,
  filter: FilterText,
): AsyncGenerator<Uint8Array> {
  const except = call.recorded.decisionId;
  yield format.begin;
  let [next, left] = [null as string | null, MOST_EXPORTED];
  do {
    const [began = '', decisionId = ''] = (next ?? '').split('.');
    const after = next === null ? undefined : { began, decisionId };
    const part = await format.part(call, { filter, limit: STEP, after, except });
    yield part.bytes;
    left -= part.requests;
    next = part.next;
  } while (next !== null && left > 0);
  yield format.end;
}

type RecordFields = Readonly<Record<string, unknown>>;

function linesPart(line: (record: RecordFields) => string): Format['part'] {
  return async ({ trail }, page) => {
    const { requests, next } = JSON.parse(await trail.run({ kind: 'page', ...page })) as {
      readonly requests: readonly RecordFields[];
      readonly next: string | null;
    };
    return { requests: requests.length, next, bytes: Buffer.from(requests.map(line).join('')) };
  };
}

async function arrowPart({ trail, recorded }: ExportCall, page: PageTask): Promise<Part> {
  const task = { kind: 'arrow', stream: recorded.decisionId, page } as const;
  const { requests, next, bytes } = JSON.parse(await trail.run(task)) as {
    readonly requests: number;
    readonly next: string | null;
    readonly bytes: string;
  };
  return { requests, next, bytes: Buffer.from(bytes, 'base64') };
}

function jsonLine(record: RecordFields): string {
  return `${JSON.stringify(record)}\n`;
}

function csvLine(record: RecordFields): string {
  return `${COLUMNS.map((name) => csvCell(record[name])).join(',')}\r\n`;
}

/** A cell that no spreadsheet takes for a formula. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
