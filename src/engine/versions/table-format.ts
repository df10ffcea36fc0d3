import { CatalogError } from '../../protocol/errors.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { inheritedProperty } from '../catalog/inherited-property.ts';

/** Formats of tables that CreateTable makes: Arrow files of the engine, or Lance. */
export const tableFormats = ['arrow', 'lance'] as const;

export type TableFormat = (typeof tableFormats)[number];

/** The configured format of a new table, by its path. */
export type FormatOf = (path: ObjectPath) => TableFormat;

const PROPERTY = 'table.format';

/** Checks the property that overrides the configured format. @throws CatalogError InvalidInput. */
export function checkFormatProperty(given: Readonly<Record<string, string>>): void {
  const text = given[PROPERTY];
  if (text === undefined || isFormat(text)) return;
  throw new CatalogError(
    'InvalidInput',
    `the property ${PROPERTY} is ${JSON.stringify(text)}, but must be ${tableFormats.join(' or ')}`,
  );
}

/**
 * The format of a new table: the property `table.format` of the nearest namespace that has it, or
 * the configured one.
 */
export async function formatOfNew(
  catalog: Pick<Catalog, 'namespace'>,
  path: ObjectPath,
  configured: FormatOf,
): Promise<TableFormat> {
  const text = await inheritedProperty(catalog, path, PROPERTY);
  return isFormat(text) ? text : configured(path);
}

function isFormat(text: string | undefined): text is TableFormat {
  return tableFormats.some((format) => format === text);
}
