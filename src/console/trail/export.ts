import type { Answer } from '../../protocol/backend.ts';
import { CatalogError } from '../../protocol/errors.ts';
import type { Recorded } from '../../gateway/decision/steps.ts';
import { filterTextOf } from './filter-text.ts';
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

interface Page {
  readonly requests: readonly Readonly<Record<string, unknown>>[];
  readonly next: string | null;
}

/** An export: what is needed of a call of the API. */
interface ExportCall {
  readonly trail: Trail;
  readonly recorded: Recorded;
  readonly query: URLSearchParams;
}

/** The requests of a filter as a file, newest first: `format=csv`, or `json` with one object a line. */
export function exported({ trail, recorded, query }: ExportCall): Answer {
  const format = query.get('format') ?? 'csv';
  if (format !== 'csv' && format !== 'json') {
    throw new CatalogError('InvalidInput', 'format must be csv or json');
  }
  const filter = filterTextOf(query, Date.now());
  const pageAfter = async (after: string | null): Promise<Page> => {
    const [began = '', decisionId = ''] = (after ?? '').split('.');
    const place = after === null ? undefined : { began, decisionId };
    const except = recorded.decisionId;
    const task = { kind: 'page', filter, limit: STEP, after: place, except } as const;
    return JSON.parse(await trail.run(task)) as Page;
  };
  const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson';
  return {
    status: 200,
    contentType: type,
    headers: {
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="requests.${format === 'csv' ? 'csv' : 'jsonl'}"`,
      'x-content-type-options': 'nosniff',
    },
    body: pieces(pageAfter, format),
  };
}

async function* pieces(
  pageAfter: (after: string | null) => Promise<Page>,
  format: 'csv' | 'json',
): AsyncGenerator<Uint8Array> {
  if (format === 'csv') yield Buffer.from(`${COLUMNS.join(',')}\r\n`);
  let [after, left] = [null as string | null, MOST_EXPORTED];
  do {
    const page = await pageAfter(after);
    const line = format === 'csv' ? csvLine : jsonLine;
    yield Buffer.from(page.requests.map(line).join(''));
    left -= page.requests.length;
    after = page.next;
  } while (after !== null && left > 0);
}

function jsonLine(record: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(record)}\n`;
}

function csvLine(record: Readonly<Record<string, unknown>>): string {
  return `${COLUMNS.map((name) => csvCell(record[name])).join(',')}\r\n`;
}

/** A cell that no spreadsheet takes for a formula. */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
