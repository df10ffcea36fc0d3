import { CatalogError } from '../../protocol/errors.ts';

/** The longest name in UTF-8 bytes. */
const MAX_BYTES = 255;

/** Letters, digits, `.`, `-` and `_`; the rules of Lance, whose clients use tags as names of files. */
const ALLOWED = /^[\p{L}\p{N}._-]+$/u;

/**
 * Refuses a name that no tag may have.
 * @throws CatalogError InvalidInput.
 */
export function checkTagName(name: string): void {
  const fault = faultOf(name);
  if (fault !== undefined) {
    throw new CatalogError('InvalidInput', `the tag name ${JSON.stringify(name)} ${fault}`);
  }
}

function faultOf(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (Buffer.byteLength(name) > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes`;
  if (!ALLOWED.test(name)) return 'may hold only letters, digits, ".", "-" and "_"';
  if (name.startsWith('.') || name.endsWith('.')) return 'may not begin or end with "."';
  if (name.includes('..')) return 'may not hold ".."';
  return name.endsWith('.lock') ? 'may not end with ".lock"' : undefined;
}
