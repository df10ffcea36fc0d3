import { createHash } from 'node:crypto';
import { Binary } from 'apache-arrow';
import { kernelOf, type Bound, type Kernel, type KernelCall } from '../evaluate/bound.ts';
import { validOf, type BytesColumn } from '../values/column.ts';
import { excerpt, SqlError } from '../values/sql-error.ts';
import { maxTextBytes, maxTextLengthen } from '../values/limits.ts';
import { textType } from '../cast/literals.ts';
import { hold, room, spend } from '../values/meter.ts';
import { call, nullLiteral } from '../evaluate/node.ts';
import { buildTexts, textColumnOf, textTooLong } from '../values/text.ts';
import { familyOf } from '../values/types.ts';
import { bigintsOf } from '../values/widen.ts';
import {
  checkCount,
  fitArgument,
  wrongArgument,
  type FunctionCall,
  type FunctionRow,
} from './function-row.ts';
import { checkTextLength } from './text.ts';

const binaryType = new Binary();

function bufferAt({ bytes, starts, ends }: BytesColumn, row: number): Buffer {
  const start = starts[row]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, ends[row]! - start);
}

/** A string or a binary. */
function bytesArgument(usage: string, argument: Bound): Bound {
  const family = familyOf(argument.type);
  if (family === 'null') return nullLiteral(binaryType, argument.position);
  if (family !== 'text' && family !== 'binary') {
    throw wrongArgument(usage, 'a string or a binary', 1, argument);
  }
  return argument;
}

/** Binaries made of binaries, row by row. Throws SqlError `limit` when all of them pass 384 MiB. */
function toBytes(convert: (bytes: Buffer, call: KernelCall) => Uint8Array): Kernel {
  return kernelOf(1, ([column], made) => {
    const from = textColumnOf(column);
    const { length, position } = made;
    const [starts, ends] = [new Uint32Array(length), new Uint32Array(length)];
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (let row = 0; row < length; row++) {
      starts[row] = size;
      if (from.valid === null || from.valid[row] === 1) {
        const bytes = bufferAt(from, row);
        spend(bytes.length + 64);
        room(bytes.length * 3);
        const piece = convert(bytes, made);
        hold(piece.length + 64);
        pieces.push(piece);
        size += piece.length;
      }
      if (size > maxTextBytes) throw textTooLong(position);
      ends[row] = size;
    }
    hold(size);
    return { kind: 'bytes', length, bytes: Buffer.concat(pieces), starts, ends, valid: from.valid };
  });
}

function toTexts(convert: (bytes: Buffer) => string): Kernel {
  return kernelOf(1, ([column], made) => {
    const from = textColumnOf(column);
    return buildTexts(made.length, from.valid, made.position, (row) => {
      const bytes = bufferAt(from, row);
      spend(bytes.length + 64);
      // Two digits a byte are the most that are written.
      if (bytes.length > maxTextLengthen / 2) checkTextLength(bytes.length * 2, made);
      return convert(bytes);
    });
  });
}

const hashes = ['md5', 'sha224', 'sha256', 'sha384', 'sha512'] as const;

function digestKernel(algorithm: string): Kernel {
  return toBytes((bytes) => createHash(algorithm).update(bytes).digest());
}

function bytesCall(made: FunctionCall, type: Bound['type'], kernel: Kernel, usage: string): Bound {
  const args = [bytesArgument(usage, made.arguments[0]!)];
  const { name, position } = made;
  return call({ name, type, arguments: args, kernel, position, fallible: true });
}

function hashRow(algorithm: (typeof hashes)[number]): FunctionRow {
  const usage = `${algorithm}(value)`;
  // As in PostgreSQL and DataFusion, md5 alone gives its digits.
  const isText = algorithm === 'md5';
  const digits = toTexts((bytes) => createHash('md5').update(bytes).digest('hex'));
  return {
    usage,
    bind(made) {
      checkCount(usage, made, 1, 1);
      return isText
        ? bytesCall(made, textType, digits, usage)
        : bytesCall(made, binaryType, digestKernel(algorithm), usage);
    },
  };
}

/** A literal argument that must be one of the given words, ignoring case. */
function wordArgument(argument: Bound, words: readonly string[], what: string): string {
  const text =
    argument.kind === 'literal' && typeof argument.value === 'string' ? argument.value : undefined;
  const word = words.find((each) => each === text?.toLowerCase());
  if (word === undefined) {
    const found = text === undefined ? 'no literal' : `'${excerpt(text)}'`;
    const message = `expected one of ${words.join(', ')} as ${what}, found ${found}`;
    throw new SqlError('value', message, argument.position);
  }
  return word;
}

const digestUsage = "digest(value, 'algorithm')";

const digestRow: FunctionRow = {
  usage: digestUsage,
  bind(made) {
    checkCount(digestUsage, made, 2, 2);
    const algorithm = wordArgument(made.arguments[1], hashes, 'the algorithm of digest');
    return bytesCall(made, binaryType, digestKernel(algorithm), digestUsage);
  },
};

const encodings = ['base64', 'base64pad', 'hex'] as const;

/** base64 is written without padding and base64pad with it (RFC 4648, section 3.2); both are read with and without. */
const encoders: Readonly<Record<string, (bytes: Buffer) => string>> = {
  base64: (bytes) => bytes.toString('base64').replace(/=+$/, ''),
  base64pad: (bytes) => bytes.toString('base64'),
  hex: (bytes) => bytes.toString('hex'),
};

const forms: Readonly<Record<string, RegExp>> = {
  base64: /^[A-Za-z0-9+/]*={0,2}$/,
  base64pad: /^[A-Za-z0-9+/]*={0,2}$/,
  hex: /^(?:[0-9a-fA-F]{2})*$/,
};

function decodeKernel(encoding: string): Kernel {
  return toBytes((bytes, { position }) => {
    const text = bytes.toString('latin1');
    const digits = text.replace(/=+$/, '').length % 4;
    if (!forms[encoding]!.test(text) || (encoding !== 'hex' && digits === 1)) {
      const message = `expected text in ${encoding} in decode, found '${excerpt(text)}'`;
      throw new SqlError('value', message, position);
    }
    return Buffer.from(text, encoding === 'hex' ? 'hex' : 'base64');
  });
}

const encodeUsage = "encode(value, 'encoding')";
const decodeUsage = "decode(value, 'encoding')";

const encodeRow: FunctionRow = {
  usage: encodeUsage,
  bind(made) {
    checkCount(encodeUsage, made, 2, 2);
    const encoding = wordArgument(made.arguments[1], encodings, 'the encoding of encode');
    return bytesCall(made, textType, toTexts(encoders[encoding]!), encodeUsage);
  },
};

const decodeRow: FunctionRow = {
  usage: decodeUsage,
  bind(made) {
    checkCount(decodeUsage, made, 2, 2);
    const encoding = wordArgument(made.arguments[1], encodings, 'the encoding of decode');
    return bytesCall(made, binaryType, decodeKernel(encoding), decodeUsage);
  },
};

const hexUsage = 'hex(value)';

const hexIntegers: Kernel = kernelOf(1, ([column], { length, position }) => {
  const values = bigintsOf(column);
  return buildTexts(length, validOf(column), position, (row) =>
    BigInt.asUintN(64, values[row]!).toString(16).toUpperCase(),
  );
});

/** The digits of an integer in two's complement of 64 bits, or of a value's bytes. */
const hexRow: FunctionRow = {
  usage: hexUsage,
  bind(made) {
    checkCount(hexUsage, made, 1, 1);
    const argument = made.arguments[0];
    if (familyOf(argument.type) !== 'integer') {
      const kernel = toTexts((bytes) => bytes.toString('hex').toUpperCase());
      return bytesCall(made, textType, kernel, hexUsage);
    }
    const args = [fitArgument(hexUsage, 'integer', argument, 1)];
    const { name, position } = made;
    const parts = { type: textType, arguments: args, kernel: hexIntegers };
    return call({ name, ...parts, position, fallible: false });
  },
};

/** Functions of how bytes are written, and of their hashes. */
export const encodingFunctions: Readonly<Record<string, FunctionRow>> = {
  ...Object.fromEntries(hashes.map((algorithm) => [algorithm, hashRow(algorithm)])),
  digest: digestRow,
  encode: encodeRow,
  decode: decodeRow,
  hex: hexRow,
};
