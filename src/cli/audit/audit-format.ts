import { StreamWriter } from '../../arrow/ipc/stream-writer.ts';
import { hashTail } from '../../audit/chain/hash-chain.ts';
import { recordPrefix, recordText } from '../../audit/record/encoding.ts';
import { batchOfRequests, requestSchema } from '../../audit/search/search.ts';
import type { FoundRequest } from '../../audit/search/search.ts';
import { UsageError } from '../output/service-error.ts';

/** Output format of requests, as pieces of bytes in order. */
interface RequestFormat {
  begin(): Uint8Array;
  requests(found: readonly FoundRequest[]): Uint8Array;
  end(): Uint8Array;
}

const NOTHING = new Uint8Array(0);

/** The format of a name. @throws UsageError when there is none */
export function formatOf(name: string): RequestFormat {
  const format = formats[name];
  if (format !== undefined) return format();
  const names = Object.keys(formats).join(', ');
  throw new UsageError(`--format is ${JSON.stringify(name)}, but must be one of ${names}`);
}

const formats: Readonly<Record<string, () => RequestFormat>> = {
  table: () => new TableFormat(),
  json: () => ({
    begin: () => NOTHING,
    requests: (found) => Buffer.from(found.map(jsonLine).join('')),
    end: () => NOTHING,
  }),
  arrow: () => {
    const writer = new StreamWriter(requestSchema);
    return {
      begin: () => writer.begin(),
      requests: (found) => Buffer.concat(writer.batch(batchOfRequests(found))),
      end: () => writer.end(),
    };
  },
};

/** The line of the record as it stands in the log, and when its request came. */
function jsonLine({ record, began }: FoundRequest): string {
  const { instance, sequence, hash } = record;
  const line = recordPrefix(instance, sequence) + recordText(record) + hashTail(hash);
  return `${line.slice(0, -1)},"began":${JSON.stringify(began)}}\n`;
}

const HEADING = ['TIME', 'SUBJECT', 'OPERATION', 'OBJECT', 'DECISION', 'STATUS', 'RULE', 'REQUEST'];

/** Columns that grow to the widest cell printed so far. */
class TableFormat implements RequestFormat {
  #widths: readonly number[] = HEADING.map(() => 0);
  #begun = false;

  begin(): Uint8Array {
    return NOTHING;
  }

  requests(found: readonly FoundRequest[]): Uint8Array {
    const rows = found.map(cells);
    if (!this.#begun) rows.unshift(HEADING);
    this.#begun = true;
    this.#widths = this.#widths.map((width, column) =>
      rows.reduce((most, row) => Math.max(most, row[column]!.length), width),
    );
    return Buffer.from(rows.map((row) => this.#line(row)).join(''));
  }

  end(): Uint8Array {
    return this.#begun ? NOTHING : Buffer.from('no requests\n');
  }

  #line(row: readonly string[]): string {
    const padded = row.map((cell, column) => cell.padEnd(this.#widths[column]!));
    return `${padded.join('  ').trimEnd()}\n`;
  }
}

function cells({ record, began }: FoundRequest): readonly string[] {
  const status = record.phase === 'attempt' ? 'no outcome' : String(record.status ?? '-');
  return [
    began,
    record.subject ?? '-',
    record.operation ?? '-',
    record.object ?? '-',
    record.decision,
    status,
    record.rule ?? '-',
    record.request_id,
  ];
}
