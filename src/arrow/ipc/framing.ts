import { ArrowError, corrupt } from '../arrow-error.ts';
import type { ByteSource } from './byte-source.ts';
import { decodeMessage, type Message } from './message.ts';

/** Stands before the length of each message since Arrow 0.15. */
export const continuation = 0xff_ff_ff_ff;
/** The first and last bytes of the file format. */
export const fileMagic = 'ARROW1';

/** The marker and the length 0, which end a stream. */
export const endOfStream: Uint8Array = Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0);

/** Limits of the length of messages. */
interface FramingLimits {
  /** The metadata of one message, in bytes. */
  readonly metadataBytes: number;
  /** The body of one message, in bytes. */
  readonly batchBytes: number;
}

/** The next message, without its body; `undefined` at the end of the stream. */
export async function readMessage(
  source: ByteSource,
  limits: FramingLimits,
): Promise<Message | undefined> {
  const prefix = await readPrefix(source);
  return prefix === undefined ? undefined : await readMessageAfter(prefix, source, limits);
}

/** The 8 bytes before a message, its marker and length; `undefined` if the input ends here. */
export async function readPrefix(source: ByteSource): Promise<Uint8Array | undefined> {
  return await source.read(8, 'the beginning of a message');
}

/** Whether 8 bytes begin a file of the IPC file format. */
export function isFileStart(prefix: Uint8Array): boolean {
  return Buffer.from(prefix.subarray(0, 6)).toString('latin1') === fileMagic;
}

/** The message whose first 8 bytes were read; `undefined` if they mark the end of the stream. */
export async function readMessageAfter(
  prefix: Uint8Array,
  source: ByteSource,
  limits: FramingLimits,
): Promise<Message | undefined> {
  const view = new DataView(prefix.buffer, prefix.byteOffset, 8);
  checkMarker(view.getInt32(0, true));
  const length = view.getInt32(4, true);
  if (length === 0) return undefined;
  if (length < 0) throw corrupt(`A message declares a length of ${length} bytes.`);
  if (length > limits.metadataBytes) {
    const most = limits.metadataBytes;
    throw new ArrowError(
      'limit',
      `A message has ${length} bytes of metadata, ${most} are allowed.`,
    );
  }
  const message = decodeMessage(await source.need(length, 'the metadata of a message'));
  if (message.bodyLength > limits.batchBytes) {
    const sizes = `${message.bodyLength} bytes, ${limits.batchBytes} are allowed`;
    throw new ArrowError('limit', `The body of a message has ${sizes}.`);
  }
  return message;
}

/** The body of the message that was read last, in a buffer of its own. */
export async function readBody(source: ByteSource, message: Message): Promise<Uint8Array> {
  return await source.need(message.bodyLength, 'the body of a message');
}

function checkMarker(value: number): void {
  if (value === -1) return;
  if (value > 0 && value < 1_048_576 && value % 8 === 4) {
    const framing = 'the framing of Arrow before 0.15';
    throw new ArrowError('unsupported', `The stream uses ${framing}, which is not supported.`);
  }
  throw corrupt('The bytes are not an Arrow IPC stream: a message does not begin with its marker.');
}
