import { partsOf } from '../policy/rights.ts';
import { parsePattern } from '../policy/pattern.ts';

/** What a backend's address must be, if this is none. */
export function urlFault(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    return 'an address that begins with http:// or https://';
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return 'an address without user and password: the credential is named by credential_env';
  }
  return parsed.search === '' && parsed.hash === '' && !/[?#]/.test(url)
    ? undefined
    : 'an address without query and fragment';
}

/** What a backend's patterns must be, if they are not. */
export function patternsFault(patterns: readonly string[], strip: boolean): string | undefined {
  if (patterns.length === 0) return 'a list of at least one pattern';
  for (const text of patterns) {
    const result = parsePattern(text);
    if ('fault' in result) return `patterns as in a policy: ${result.fault}`;
  }
  if (!strip || isFixed(patterns)) return undefined;
  return 'one pattern of fixed names that ends in /**, since strip_prefix is true';
}

/** Two prefixes, or one that is not fixed, would give one object of the backend several names. */
function isFixed(patterns: readonly string[]): boolean {
  const [pattern = '', ...others] = patterns;
  return others.length === 0 && /^(\/[^*/]+)+\/\*\*$/.test(pattern);
}

/** What an entry of `trust` must be, if it is not. */
export function trustFault(action: string): string | undefined {
  return partsOf(action) === undefined || action === 'audit'
    ? 'the name of an operation or of an access group, or *'
    : undefined;
}
