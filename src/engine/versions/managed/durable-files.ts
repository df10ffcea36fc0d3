import { join } from 'node:path';
import { Flushes } from '../../../storage/flushes.ts';
import type { Storage } from '../../../storage/storage.ts';
import { readManifestFile } from '../../format/lance/manifest-file.ts';
import { LANCE_INDICES, namesInFolder } from '../../format/lance/versions.ts';
import { filesOfFragment } from './lance-files.ts';
import { locationOf } from './managed-versions.ts';
import type { Gates, JudgeStaged, StagedLanceVersion } from './staged-manifest.ts';

/**
 * Gates of a commit whose files the gateway itself acknowledges: they are on stable storage before it.
 * @param judged Called with each version that may be committed.
 */
export function durableGates(
  { judge, ...gates }: Gates,
  judged: (staged: StagedLanceVersion) => void = () => undefined,
): Gates {
  const judgeDurable: JudgeStaged = async (staged) => {
    await judge?.(staged);
    await flushFiles(staged);
    judged(staged);
  };
  return { ...gates, judge: judgeDurable };
}

/** Puts the files that a version has and the one before has not on stable storage, with their names. */
async function flushFiles({ storage, table, base, file }: StagedLanceVersion): Promise<void> {
  const line = join(file, '..', '..');
  const before = base && (await partsOf(storage, line, join(locationOf(table), base.manifest)));
  const after = await partsOf(storage, line, file);
  const fresh = [...after.files].filter((path) => before?.files.has(path) !== true);
  for (const folder of after.indices) {
    if (before?.indices.has(folder) === true) continue;
    for (const name of await namesInFolder(storage, folder)) fresh.push(join(folder, name));
  }
  const flushes = new Flushes();
  for (const path of fresh) flushes.add(flushFile(storage, path));
  const folders = fresh.flatMap((path) => [join(path, '..'), join(path, '..', '..')]);
  if (fresh.length > 0) folders.push(line);
  for (const folder of new Set(folders)) flushes.add(storage.flush(folder));
  await flushes.settled();
}

/** Files of rows and folders of indices that a manifest names in the folder of its line. */
interface Parts {
  readonly files: ReadonlySet<string>;
  readonly indices: ReadonlySet<string>;
}

async function partsOf(storage: Storage, line: string, path: string): Promise<Parts> {
  const { manifest, segments } = await readManifestFile(storage, path);
  const files = manifest.fragments.flatMap((each) => filesOfFragment(line, each));
  const own = segments.filter(({ base, uuid }) => base === undefined && uuid !== '');
  return {
    files: new Set(files.map(({ file }) => file)),
    indices: new Set(own.map(({ uuid }) => join(line, LANCE_INDICES, uuid))),
  };
}

async function flushFile(storage: Storage, path: string): Promise<void> {
  const file = await storage.open(path, 'all');
  try {
    await file.sync();
  } finally {
    file.close();
  }
}
