import { hashTail } from '../../audit/chain/hash-chain.ts';
import { recordPrefix, recordText } from '../../audit/record/encoding.ts';
import { endOfRequests, RequestStream } from '../../audit/search/request-stream.ts';
import type { ReviewMark } from '../../audit/search/review-marks.ts';
import type { FoundRequest } from '../../audit/search/search.ts';
import type { PeriodFlags } from '../config/key-details.ts';
import { decisionColour } from '../output/colour.ts';
import type { Output } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { Table, type PrintedColumn, type TableFlags } from '../output/table.ts';
import { zoneOf, type Zone } from '../output/zone.ts';

/** Output format of requests, as pieces of bytes in order. */
interface RequestFormat {
  begin(): Uint8Array;
  requests(found: readonly FoundRequest[]): Uint8Array;
  end(): Uint8Array;
}

const NOTHING = new Uint8Array(0);

type Marks = ReadonlyMap<string, ReviewMark>;

/** The format of a name. @param marks The marks of reviewers, which a table shows if there are any. */
export function formatOf(
  name: string,
  flags: TableFlags & PeriodFlags,
  output: Output,
  marks: Marks,
): RequestFormat {
  return requireFormatNamed(name)(flags, output, marks);
}

/** @throws UsageError for a name that no format has */
export function requireFormatNamed(name: string): typeof tableFormat {
  const format = formats[name];
  if (format !== undefined) return format;
  const names = Object.keys(formats).join(', ');
  throw new UsageError(`--format is ${JSON.stringify(name)}, but must be one of ${names}`);
}

const formats: Readonly<Record<string, typeof tableFormat>> = {
  table: tableFormat,
  json: (_flags, _output, marks) => ({
    begin: () => NOTHING,
    requests: (found) => Buffer.from(found.map((each) => reviewedLine(each, marks)).join('')),
    end: () => NOTHING,
  }),
  arrow: () => {
    const stream = new RequestStream();
    return {
      begin: () => stream.begin(),
      requests: (found) => stream.requests(found),
      end: () => endOfRequests,
    };
  },
};

/** The line of the record as it stands in the log, and when its request came. */
export function jsonLine({ record, began }: FoundRequest): string {
  const { instance, sequence, hash } = record;
  const line = recordPrefix(instance, sequence) + recordText(record) + hashTail(hash);
  return `${line.slice(0, -1)},"began":${JSON.stringify(began)}}\n`;
}

function reviewedLine(found: FoundRequest, marks: Marks): string {
  const mark = marks.get(found.record.decision_id);
  const line = jsonLine(found);
  if (mark === undefined) return line;
  const { mark: state, note, by, time } = mark;
  return `${line.slice(0, -2)},"review":${JSON.stringify({ mark: state, note, by, time })}}\n`;
}

const columns: readonly PrintedColumn[] = [
  { heading: 'TIME', least: 20 },
  { heading: 'SUBJECT', least: 10 },
  { heading: 'OPERATION', least: 10 },
  { heading: 'OBJECT', least: 12 },
  { heading: 'DECISION', colour: decisionColour },
  { heading: 'STATUS' },
  { heading: 'RULE', least: 8 },
  { heading: 'REQUEST', least: 9 },
];

/** Columns that grow to the widest cell printed so far. */
function tableFormat(flags: TableFlags & PeriodFlags, output: Output, marks: Marks): RequestFormat {
  const isReviewed = marks.size > 0;
  const table = new Table(
    isReviewed ? [...columns, { heading: 'REVIEW' }] : columns,
    flags,
    output,
  );
  const zone = zoneOf(flags.tz);
  let isEmpty = true;
  return {
    begin: () => NOTHING,
    requests: (found) => {
      isEmpty = false;
      const reviewOf = ({ record }: FoundRequest): readonly string[] =>
        isReviewed ? [marks.get(record.decision_id)?.mark ?? 'unreviewed'] : [];
      const rows = found.map((request) => [...cells(request, zone), ...reviewOf(request)]);
      const lines = table.lines(rows);
      return Buffer.from(lines.map((line) => `${line}\n`).join(''));
    },
    end: () => (isEmpty ? Buffer.from('no requests\n') : NOTHING),
  };
}

function cells({ record, began }: FoundRequest, zone: Zone): readonly string[] {
  const status = record.phase === 'attempt' ? 'no outcome' : String(record.status ?? '-');
  return [
    zone.shown(began),
    record.subject ?? '-',
    record.operation ?? '-',
    record.object ?? '-',
    record.decision,
    status,
    record.rule ?? '-',
    record.request_id,
  ];
}
