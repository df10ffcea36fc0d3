import type { RecordBatch } from 'apache-arrow';

/** The longest text of a value in a refusal, in characters. */
const LONGEST = 60;

/** The values of a row for a refusal, as `id = 1 and name = "a"`. */
export function shownRow(batch: RecordBatch, row: number): string {
  const values = batch.schema.fields.map(({ name }) => {
    const value: unknown = batch.getChild(name)?.get(row);
    return `${name} = ${shownValue(value)}`;
  });
  return values.length === 0 ? 'any values' : values.join(' and ');
}

function shownValue(value: unknown): string {
  if (value instanceof Uint8Array) {
    return `X'${Buffer.from(value).toString('hex', 0, LONGEST / 2)}'`;
  }
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
