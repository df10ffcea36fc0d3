import { Int64, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { expect, it } from 'vitest';
import { PassedRows } from '../../../src/arrow/ipc/passed-rows.ts';
import { randomOf } from '../../service/random.ts';

const part = (rows: number) =>
  new Table({
    id: vectorFromArray(
      Array.from({ length: rows }, (_, id) => BigInt(id)),
      new Int64(),
    ),
    word: vectorFromArray(
      Array.from({ length: rows }, (_, id) => `w${id % 3}`),
      new Utf8(),
    ),
  });
const table = part(5).concat(part(700), part(1));

function counted(pieces: readonly Uint8Array[]): bigint {
  const rows = new PassedRows();
  for (const piece of pieces) rows.add(piece);
  return rows.rows;
}

it.each(['file', 'stream'] as const)('counts the rows of a %s in pieces of any size', (kind) => {
  const bytes = tableToIPC(table, kind);
  const random = randomOf(7);
  for (const most of [1, 2, 9, 300, 5000, bytes.byteLength]) {
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.byteLength;) {
      const end = at + 1 + random(most);
      pieces.push(bytes.slice(at, end));
      at = end;
    }
    expect(counted(pieces), String(most)).toBe(706n);
  }
});

it('keeps no memory of pieces, which others use again', () => {
  const bytes = tableToIPC(table, 'file');
  const rows = new PassedRows();
  const piece = new Uint8Array(13);
  for (let at = 0; at < bytes.byteLength; at += piece.byteLength) {
    const part = bytes.subarray(at, at + piece.byteLength);
    piece.set(part);
    rows.add(piece.subarray(0, part.byteLength));
    piece.fill(255);
  }
  expect(rows.rows).toBe(706n);
});

it('counts a batch of which only a part was sent, and none behind it', () => {
  const bytes = tableToIPC(table, 'file');
  const half = counted([bytes.subarray(0, bytes.byteLength / 2)]);
  expect([705n, 5n]).toContain(half);
  expect(counted([new Uint8Array(0)])).toBe(0n);
});

it('counts nothing of bytes that are no Arrow', () => {
  expect(counted([Buffer.from('{"error":"nothing here at all, and for long"}')])).toBe(0n);
});
