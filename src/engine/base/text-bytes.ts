/** Bytes of texts, and a view of them. */
export interface TextBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** Adds the view to bytes. */
export function textBytes(bytes: Uint8Array): TextBytes {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}
