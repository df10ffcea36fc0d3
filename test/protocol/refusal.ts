import { CatalogError } from '../../src/protocol/errors.ts';

/** The refusal that a function throws, as `name: sentence`; anything else it throws continues. */
export function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CatalogError) return `${error.row.name}: ${error.message}`;
    throw error;
  }
  return 'no refusal';
}
