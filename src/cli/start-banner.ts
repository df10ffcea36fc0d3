import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readKeys } from '../gateway/identity/key-file.ts';
import { loadPolicyLines } from '../policy/load.ts';
import type { Config } from './config/config-table.ts';
import type { Output } from './output/output.ts';
import { programVersion } from './output/version.ts';
import { dataFolderOf } from './service/data-folder.ts';
import { activeKeys } from './service/known-keys.ts';

/** Says on a terminal where a gateway listens, what it serves, and where its first key is. Elsewhere nothing is printed. */
export async function printBanner(url: string, config: Config, output: Output): Promise<void> {
  if (output.width === undefined) return;
  const folder = dataFolderOf(config);
  const policies = resolve(config.policies);
  const { policies: lines, roles, cases } = await loadPolicyLines(policies);
  const keys = activeKeys(await readKeys(folder.keys), new Date());
  const rows: readonly (readonly [string, string])[] = [
    ['address', url],
    ['console', `${url}/console/`],
    [
      'policies',
      `${policies}: ${lines.length} lines, ${roles.length} memberships, ${cases.length} cases`,
    ],
    ['data', `${folder.root}: ${keys.length} ${keys.length === 1 ? 'key' : 'keys'}`],
    ...(existsSync(folder.initialKey) ? ([['first key', folder.initialKey]] as const) : []),
  ];
  output.line(`arrowgate ${programVersion()}; Ctrl-C stops it`);
  for (const [name, text] of rows) output.line(`  ${name.padEnd(9)}  ${text}`);
}
