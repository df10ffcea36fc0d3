import { readdir } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Issuer } from './issuer.ts';
import { nearestName } from './nearest.ts';
import { readFileNames } from './policy-folder.ts';
import type { Finding } from './policy-error.ts';
import { SHADOW_FOLDER } from './shadow-policy.ts';

/** Files that look as if they were read: those of the kinds that policy files are of. */
const POLICY_LIKE = /\.(ya?ml|csv|conf|toml|json)$/i;

/** Files of a policy folder that look like policy files, and that nothing reads. @param folder An absolute path. */
export async function unreadFiles(
  folder: string,
  issuers: readonly Issuer[],
): Promise<readonly Finding[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const known = new Set([...readFileNames, ...keySetsIn(folder, issuers)]);
  return entries.flatMap((entry) => {
    const { name } = entry;
    if (entry.isDirectory()) return folderFinding(name);
    if (known.has(name)) return [];
    const meant = meantFile(name);
    if (meant === undefined && !POLICY_LIKE.test(name)) return [];
    const hint = meant === undefined ? '' : `: did you mean ${meant}?`;
    return [{ file: name, text: `nothing reads this file${hint}` }];
  });
}

function keySetsIn(folder: string, issuers: readonly Issuer[]): readonly string[] {
  return issuers.flatMap(({ keys }) =>
    keys.kind === 'file' && dirname(resolve(keys.path)) === folder ? [basename(keys.path)] : [],
  );
}

function folderFinding(name: string): readonly Finding[] {
  if (name === SHADOW_FOLDER || nearestName(name, [SHADOW_FOLDER]) === undefined) return [];
  return [{ file: name, text: `nothing reads this folder: did you mean ${SHADOW_FOLDER}?` }];
}

/** The file that is read whose name comes nearest, with or without its ending. */
function meantFile(name: string): string | undefined {
  const stem = stemOf(name);
  const stems = new Map(readFileNames.toReversed().map((file) => [stemOf(file), file]));
  const near = stems.has(stem) ? stem : nearestName(stem, stems.keys());
  return near === undefined ? undefined : stems.get(near);
}

/** `policy.csv` and `policy.sha256` share their stem: the first of them is meant. */
function stemOf(file: string): string {
  const at = file.indexOf('.', 1);
  return at === -1 ? file.toLowerCase() : file.slice(0, at).toLowerCase();
}
