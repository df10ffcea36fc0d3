import { CatalogError } from './errors.ts';

/**
 * A part of a request target, percent-decoded once (RFC 3986).
 * @throws CatalogError InvalidInput for a broken escape, or bytes that are not UTF-8.
 */
export function decodePercent(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw new CatalogError('InvalidInput', `${JSON.stringify(text)} is not valid percent-encoding`);
  }
}

/** The same where `+` stands for a space, as in a form (`application/x-www-form-urlencoded`). */
export function decodeForm(text: string): string {
  return decodePercent(text.replaceAll('+', ' '));
}
