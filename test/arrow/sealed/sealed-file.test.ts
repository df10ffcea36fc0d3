import { Field, Int64, Schema, tableFromIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { openFile } from '../../../src/arrow/ipc/file-reader.ts';
import { FileWriter } from '../../../src/arrow/ipc/file-writer.ts';
import type { RandomAccess } from '../../../src/arrow/ipc/random-access.ts';
import {
  DamagedFile,
  detachedSeal,
  encodeSealBlock,
  placeOfSeal,
  SEALED_PORTION,
} from '../../../src/arrow/sealed/file-seal.ts';
import { openSealed, ownSeal } from '../../../src/arrow/sealed/sealed-file.ts';
import { checkedAccess, PortionSums } from '../../../src/arrow/sealed/portion-checks.ts';
import { SealingWriter, type SealedEnd } from '../../../src/arrow/sealed/sealing-writer.ts';
import { batchOf } from '../../../src/arrow/select.ts';

const schema = new Schema([new Field('id', new Int64(), false), new Field('text', new Utf8())]);

function batch(rows: number, text: string) {
  const ids = vectorFromArray(
    Array.from({ length: rows }, (_, at) => BigInt(at)),
    new Int64(),
  );
  const texts = vectorFromArray(
    Array.from({ length: rows }, (_, at) => `${text}${at}`),
    new Utf8(),
  );
  return batchOf(schema, [ids, texts], rows);
}

/** A file with some batches of some rows. */
function sealed(batches: number, rows: number, text = 'row '): SealedEnd {
  const writer = new SealingWriter(schema);
  const pieces = [writer.begin()];
  for (let at = 0; at < batches; at++) pieces.push(...writer.batch(batch(rows, text)));
  const { bytes, seal } = writer.end();
  const file = Buffer.concat([...pieces, bytes]);
  expect(file.length).toBe(writer.bytes);
  return { bytes: file, seal };
}

/** Bytes that can be read, with the ranges that were. */
function counted(bytes: Uint8Array): RandomAccess & { readonly reads: number[] } {
  const reads: number[] = [];
  const readNow = (offset: number, length: number) => {
    reads.push(length);
    return Uint8Array.from(bytes.subarray(offset, offset + length));
  };
  return { size: bytes.length, reads, readNow, read: async (...range) => readNow(...range) };
}

async function readAll({ bytes, seal }: SealedEnd): Promise<readonly unknown[]> {
  const { file } = await openSealed(counted(bytes), { path: 'f.arrow', seal });
  const rows: unknown[] = [];
  for (let at = 0; at < file.batchRows.length; at++) {
    const read = await file.readBatch(at);
    for (const row of read) rows.push(row.toJSON());
  }
  return rows;
}

function flipped({ bytes, seal }: SealedEnd, byte: number, bit: number): SealedEnd {
  const copy = Buffer.from(bytes);
  copy[byte]! ^= 1 << bit;
  return { bytes: copy, seal };
}

describe('a sealed file', () => {
  it('is read as it was written, by other readers of the format as well', async () => {
    for (const [batches, rows] of [
      [0, 0],
      [1, 0],
      [1, 5],
      [3, 5000],
      [40, 3000],
    ] as const) {
      const file = sealed(batches, rows);
      expect(await readAll(file)).toHaveLength(batches * rows);
      expect(tableFromIPC(file.bytes).numRows).toBe(batches * rows);
      const plain = await openFile(counted(file.bytes));
      expect(plain.rows).toBe(batches * rows);
    }
  });

  it('of few bytes is refused after any flipped bit', async () => {
    const file = sealed(2, 3);
    for (let byte = 0; byte < file.bytes.length; byte++) {
      await expect(readAll(flipped(file, byte, byte % 8))).rejects.toThrow(DamagedFile);
    }
  });

  it('of many portions names the damaged one', async () => {
    const file = sealed(6, 2500);
    const portions = Math.floor(file.bytes.length / SEALED_PORTION);
    expect(portions).toBeGreaterThan(10);
    for (let portion = 0; portion < portions; portion++) {
      const start = portion * SEALED_PORTION;
      for (const inside of [0, 1, SEALED_PORTION / 2, SEALED_PORTION - 1]) {
        const damaged = flipped(file, start + inside, inside % 8);
        await expect(readAll(damaged)).rejects.toThrow(
          `f.arrow: portion ${portion} (bytes ${start} to ${start + SEALED_PORTION - 1}) does not match the seal of the file`,
        );
      }
    }
  });

  it('is refused when it is cut, extended, or lacks bytes inside', async () => {
    const { bytes, seal } = sealed(3, 5000);
    const cuts = [0, 5, 8, 17, 100, SEALED_PORTION, bytes.length - 1].map((length) =>
      bytes.subarray(0, length),
    );
    const others = [
      Buffer.concat([bytes, Buffer.alloc(8)]),
      Buffer.concat([bytes.subarray(0, 1000), bytes.subarray(1008)]),
      Buffer.concat([bytes.subarray(0, 1000), Buffer.alloc(8), bytes.subarray(1000)]),
    ];
    for (const wrong of [...cuts, ...others]) {
      await expect(readAll({ bytes: wrong, seal })).rejects.toThrow(DamagedFile);
    }
  });

  it('is not believed in place of another one of the same size, nor is a file without a seal', async () => {
    const [ours, theirs] = [sealed(1, 5, 'one '), sealed(1, 5, 'two ')];
    expect(ours.bytes.length).toBe(theirs.bytes.length);
    await expect(readAll({ ...theirs, seal: ours.seal })).rejects.toThrow('the identity');
    const writer = new FileWriter(schema);
    const plain = Buffer.concat([writer.begin(), ...writer.batch(batch(5, 'one ')), writer.end()]);
    await expect(readAll({ bytes: plain, seal: ours.seal })).rejects.toThrow('the seal block');
    await expect(openSealed(counted(plain), { path: 'f.arrow', seal: undefined })).rejects.toThrow(
      'f.arrow: the seal is missing, and the file is not listed as one from before seals',
    );
  });

  it('without a block of its own is compared with a detached one', async () => {
    const writer = new FileWriter(schema);
    const pieces = [writer.begin(), ...writer.batch(batch(5000, 'one ')), writer.end()];
    const plain = Buffer.concat(pieces);
    const sums = new PortionSums();
    sums.add(plain);
    const facts = { contentBytes: plain.length, tailSum: 0, sums: sums.finish() };
    const { bytes: block } = encodeSealBlock(facts);
    const seal = detachedSeal(block, 4096);
    expect(placeOfSeal(seal)).toEqual({ offset: 4096, length: block.length });
    const read = async (bytes: Buffer, beside: Uint8Array = block) => {
      const { file } = await openSealed(counted(bytes), { path: 'f.arrow', seal }, beside);
      await Promise.all(file.batchRows.map((_, at) => file.readBatch(at)));
    };
    await read(plain);
    for (let at = 3; at < plain.length; at += 997) {
      const other = Buffer.from(plain);
      other[at]! ^= 32;
      await expect(read(other)).rejects.toThrow(DamagedFile);
    }
    await expect(read(plain.subarray(8))).rejects.toThrow('the number of bytes');
    const others = Buffer.from(block);
    others[40]! ^= 1;
    await expect(read(plain, others)).rejects.toThrow('the seal block');
  });

  it('says its own seal', async () => {
    const { bytes, seal } = sealed(1, 5);
    expect(await ownSeal(counted(bytes), 'f.arrow')).toBe(seal);
    expect(await ownSeal(counted(bytes.subarray(0, 50)), 'f.arrow')).toBeUndefined();
    const writer = new FileWriter(schema);
    const plain = Buffer.concat([writer.begin(), writer.end()]);
    expect(await ownSeal(counted(plain), 'f.arrow')).toBeUndefined();
  });

  it('is compared once: later reads read what is requested alone', async () => {
    const { bytes, seal } = sealed(1, 60_000);
    const { checks } = await openSealed(counted(bytes), { path: 'f.arrow', seal });
    const access = counted(bytes);
    const checked = checkedAccess(access, checks);
    const [from, length] = [3 * SEALED_PORTION + 16, 2 * SEALED_PORTION];
    for (const cold of [true, false]) {
      expect(await checked.read(from, length)).toEqual(
        Uint8Array.from(bytes.subarray(from, from + length)),
      );
      expect(access.reads.splice(0)).toEqual(cold ? [length + SEALED_PORTION] : [length]);
    }
    expect(checked.readNow!(6 * SEALED_PORTION + 8, 8)).toHaveLength(8);
    expect(access.reads.splice(0)).toEqual([SEALED_PORTION]);
    checked.readNow!(5 * SEALED_PORTION + 8, SEALED_PORTION);
    expect(access.reads.splice(0)).toEqual([SEALED_PORTION]);
  });
});
