import { dirname, join } from 'node:path';
import { Flushes } from '../../../storage/flushes.ts';
import { isObjectKey } from '../../../storage/object-key.ts';
import type { Storage } from '../../../storage/storage.ts';
import { changedFragments } from '../../format/lance/changed-fragments.ts';
import type { LanceFragment, LanceIndexSegment } from '../../format/lance/lance-manifest.ts';
import { LANCE_INDICES, namesInFolder } from '../../format/lance/versions.ts';
import { filesOfFragment } from './lance-files.ts';
import type { Gates, JudgeStaged, StagedLanceVersion } from './staged-manifest.ts';

/**
 * Gates of a commit whose files the gateway itself acknowledges: they are on stable storage before it. They are
 * flushed together with the staged manifest. Whatever a crash leaves of both, no record names it until all of it
 * is there.
 * @param judged Called with each version that may be committed.
 */
export function durableGates(
  { judge, ...gates }: Gates,
  judged: (staged: StagedLanceVersion) => void = () => undefined,
): Gates {
  const judgeDurable: JudgeStaged = async (staged) => {
    await judge?.(staged);
    staged.flushes.add(flushFiles(staged));
    judged(staged);
  };
  return { ...gates, judge: judgeDurable };
}

/** Puts the files that a version has and the one before has not on stable storage, with their names. */
async function flushFiles(staged: StagedLanceVersion): Promise<void> {
  const { storage, file } = staged;
  // Objects are durable from the start.
  if (isObjectKey(file)) return;
  const line = join(file, '..', '..');
  const before = await staged.before();
  const fresh = [...freshFiles(line, before?.manifest.fragments ?? [], staged.manifest.fragments)];
  const known = indexFolders(line, before?.segments ?? []);
  for (const folder of indexFolders(line, staged.segments)) {
    if (known.has(folder)) continue;
    for (const name of await namesInFolder(storage, folder)) fresh.push(join(folder, name));
  }
  const flushes = new Flushes();
  for (const path of fresh) flushes.add(flushFile(storage, path));
  const folders = new Set(fresh.map((path) => dirname(path)));
  for (const folder of folders) flushes.add(storage.flush(folder));
  for (const folder of new Set([...folders].flatMap((each) => namedFolders(line, each)))) {
    const named = storage.folders?.prepare(folder);
    if (named !== undefined) flushes.add(named);
  }
  await flushes.settled();
}

/** A folder of a line and those above it in the line. Their names are flushed once, not at each commit. */
function namedFolders(line: string, folder: string): readonly string[] {
  return folder.startsWith(`${line}/`) ? [folder, ...namedFolders(line, dirname(folder))] : [];
}

/** The files in the folder of a line that fragments name and those before did not. */
function freshFiles(
  line: string,
  before: readonly LanceFragment[],
  after: readonly LanceFragment[],
): ReadonlySet<string> {
  const changed = changedFragments(before, after);
  const [old, now] = [byKey(changed.before), byKey(changed.after)];
  const known = new Set(filesOfOthers(line, old, now));
  return new Set(filesOfOthers(line, now, old).filter((file) => !known.has(file)));
}

type Fragments = ReadonlyMap<string, LanceFragment>;

/** The files of the fragments that others are not. */
function filesOfOthers(line: string, some: Fragments, others: Fragments): readonly string[] {
  return [...some].flatMap(([key, fragment]) =>
    others.has(key) ? [] : filesOfFragment(line, fragment).map(({ file }) => file),
  );
}

function byKey(fragments: readonly LanceFragment[]): Fragments {
  return new Map(fragments.map((fragment) => [keyOf(fragment), fragment]));
}

/** Equal for a fragment that has stayed as it is. */
function keyOf({ id, files, deletions }: LanceFragment): string {
  const names = files.map(({ path, base = '' }) => `${base}/${path}`);
  return [id, ...names, deletions && `${deletions.base ?? ''}/${deletions.name}`].join('\0');
}

/** Folders of indices in the folder of a line. */
function indexFolders(line: string, segments: readonly LanceIndexSegment[]): ReadonlySet<string> {
  const own = segments.filter(({ base, uuid }) => base === undefined && uuid !== '');
  return new Set(own.map(({ uuid }) => join(line, LANCE_INDICES, uuid)));
}

async function flushFile(storage: Storage, path: string): Promise<void> {
  const file = await storage.open(path, 'all');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}
