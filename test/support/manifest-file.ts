import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownSeal } from '../../src/arrow/sealed/sealed-file.ts';
import { VersionReader } from '../../src/engine/catalog/records/version-reader.ts';
import type { Manifest } from '../../src/engine/format/manifest.ts';
import { bytesAccess } from '../../src/engine/format/memory/random-access.ts';
import { disk } from './disk.ts';

/** The manifest of a file in a table's folder, which must match the seal that it holds itself. */
export async function readManifestFile(
  folder: string,
  manifest: string,
  reader = new VersionReader(disk),
): Promise<Manifest> {
  const bytes = await readFile(join(folder, manifest));
  const seal = await ownSeal(bytesAccess(bytes), manifest);
  const named = { manifest, staging: manifest, ...(seal !== undefined && { seal }) };
  return reader.decode(folder, bytes, named);
}
