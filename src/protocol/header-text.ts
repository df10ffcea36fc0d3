/** What is the same in both. */
const ASCII = /^[\x20-\x7e]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The text of a header's value. Node reads its bytes as Latin-1; clients that
 * send more than ASCII send UTF-8. Bytes that are not UTF-8 stay Latin-1.
 */
export function headerText(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}
