import { CatalogError } from '../../protocol/errors.ts';
import { MAIN } from './chain.ts';

/** The longest name in UTF-8 bytes. */
const MAX_BYTES = 255;

/** Segments of letters, digits, `.`, `-` and `_`, as Lance has them: its clients use branches as names of folders. */
const ALLOWED = /^[\p{L}\p{N}._/-]+$/u;

/** Refuses a name that is not allowed for a branch. @throws CatalogError InvalidInput. */
export function checkBranchName(name: string): void {
  const fault = branchNameFault(name);
  if (fault === undefined) return;
  throw new CatalogError('InvalidInput', `the branch name ${JSON.stringify(name)} ${fault}`);
}

/** Why a name is not allowed for a branch; undefined if it is allowed. */
export function branchNameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name === MAIN) return 'is that of the branch that every table begins with';
  if (Buffer.byteLength(name) > MAX_BYTES) return `is longer than ${MAX_BYTES} bytes`;
  if (!ALLOWED.test(name)) return 'may hold only letters, digits, ".", "-", "_" and "/"';
  const segments = name.split('/');
  if (segments.includes('')) return 'may not begin or end with "/" nor hold "//"';
  if (name.includes('..') || segments.includes('.')) return 'may not hold ".." nor be "." anywhere';
  return name.endsWith('.lock') ? 'may not end with ".lock"' : undefined;
}
