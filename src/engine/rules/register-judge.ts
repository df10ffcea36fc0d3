import type { TableState } from '../../rules/commit-facts.ts';
import { versionChange } from '../../rules/table-change.ts';
import type { ObjectPath } from '../../protocol/identifier.ts';
import { readManifestFile } from '../lance/manifest-file.ts';
import { lanceTransaction } from '../lance/lance-transaction.ts';
import { lanceVersions } from '../lance/versions.ts';
import { MAIN_CHAIN } from '../table/chain.ts';
import type { Tables } from '../table/tables.ts';
import type { CommitJudge } from './commit-judge.ts';
import { stateBefore } from './lance-judge.ts';
import { lanceAction, lanceClasses, lanceState, movesOf } from './lance-state.ts';
import type { PlacedTable } from './place-judge.ts';

/** Judges that Lance clients' versions become those of a table, as if their newest made it. @throws RuleRefusal */
export async function judgeRegistering(
  rules: CommitJudge,
  path: ObjectPath,
  location: string,
): Promise<void> {
  if (!rules.covers(path)) return;
  const newest = (await lanceVersions(location)).at(-1);
  const change =
    newest === undefined ? null : versionChange(null, await stateIn(newest.manifest), 'apart');
  await rules.judge({ table: path, action: 'register', keeper: 'elsewhere', change, location });
}

/**
 * Judges the versions that Lance clients wrote past the catalog to a table that it knows, one
 * after the other, as if each had been committed to it. @throws RuleRefusal
 */
export async function judgeRegisteringAgain(
  rules: CommitJudge,
  tables: Pick<Tables, 'version'>,
  { path, record }: PlacedTable,
  location: string,
): Promise<void> {
  if (!rules.covers(path)) return;
  if (record.kind === 'declared') return judgeRegistering(rules, path, location);
  const { content: head } = await tables.version(record, undefined, MAIN_CHAIN);
  const placed = { table: path, keeper: 'elsewhere', location } as const;
  await rules.judge({ ...placed, action: 'register', change: null });
  const beyond = (await lanceVersions(location)).filter(({ version }) => version > head.version);
  if (beyond.length === 0) return;
  let before = await stateBefore(location, head);
  for (const { manifest: file } of beyond) {
    const { manifest } = await readManifestFile(file);
    const { change: kind } = await lanceTransaction(location, file, manifest);
    const after = lanceState(manifest);
    const change = versionChange(before, after, movesOf(kind));
    const classes = lanceClasses(before, after, change, kind);
    await rules.judge({ ...placed, action: lanceAction(kind, false), classes, change });
    before = after;
  }
}

async function stateIn(file: string): Promise<TableState> {
  return lanceState((await readManifestFile(file)).manifest);
}
