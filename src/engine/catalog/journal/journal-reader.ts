import { join } from 'node:path';
import { linesOf } from '../../../storage/line-reader.ts';
import type { Storage } from '../../../storage/storage.ts';
import { StorageError } from '../../../storage/storage-error.ts';
import type { StoreChange } from '../../../store/store.ts';
import { decodeChange } from './journal-line.ts';

/** A line of a journal file that cannot be read. */
export interface JournalDamage {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The last line of its file: a crash tore it before its change was acknowledged, or it is being written now. */
  readonly last: boolean;
}

type OnDamage = (damage: JournalDamage) => void;

const NAME = /^journal-(\d{20})-[0-9a-f]+-\d+\.jsonl$/;

/** The name of a journal file, by the sequence of its first change: names sort in the order of changes. */
export function journalFileName(first: bigint, instance: string, number: number): string {
  return `journal-${first.toString().padStart(20, '0')}-${instance}-${number}.jsonl`;
}

/**
 * Every change of a journal, in the order of their sequence numbers, each once,
 * from the files of all processes. A file whose changes all come later is not
 * opened yet.
 * @param onDamage Called with each line that cannot be read; it is passed over.
 */
export async function* readJournal(
  storage: Storage,
  folder: string,
  onDamage: OnDamage,
): AsyncGenerator<StoreChange> {
  let sequence = -1n;
  const seen = new Set<string>();
  for await (const { change, text } of inOrder(storage, folder, onDamage)) {
    if (change.sequence !== sequence) seen.clear();
    sequence = change.sequence;
    if (!seen.has(text)) yield change;
    seen.add(text);
  }
}

/** The lines of all files, merged by sequence; one may come several times. */
async function* inOrder(
  storage: Storage,
  folder: string,
  onDamage: OnDamage,
): AsyncGenerator<Found> {
  const files = await journalFiles(storage, folder);
  const open: Source[] = [];
  try {
    for (;;) {
      const next = least(open);
      const file = files[0];
      if (file !== undefined && (next === undefined || file.first <= next.head.change.sequence)) {
        files.shift();
        await advance(open, changesOf(storage, join(folder, file.name), file.name, onDamage));
      } else if (next === undefined) {
        return;
      } else {
        yield next.head;
        open.splice(open.indexOf(next), 1);
        await advance(open, next.lines);
      }
    }
  } finally {
    for (const { lines } of open) await lines.return(undefined);
  }
}

interface Found {
  readonly change: StoreChange;
  readonly text: string;
}

/** A file that is being read, and its next change. */
interface Source {
  readonly lines: AsyncGenerator<Found>;
  readonly head: Found;
}

async function advance(open: Source[], lines: AsyncGenerator<Found>): Promise<void> {
  const next = await lines.next();
  if (next.done !== true) open.push({ lines, head: next.value });
}

function least(open: readonly Source[]): Source | undefined {
  return open.reduce<Source | undefined>(
    (best, source) =>
      best === undefined || source.head.change.sequence < best.head.change.sequence ? source : best,
    undefined,
  );
}

/** The names in the folder of a journal. @throws an error that `isMissing` where there is no folder. */
export async function folderNames(storage: Storage, folder: string): Promise<readonly string[]> {
  const names = await storage.names(folder);
  if (names === undefined) throw new StorageError('ENOENT', `there is no folder ${folder}`);
  return names;
}

/** The files of a journal, in the order of their first changes. */
export async function journalFiles(
  storage: Storage,
  folder: string,
): Promise<{ name: string; first: bigint }[]> {
  const names = (await folderNames(storage, folder)).toSorted();
  return names.flatMap((name) => {
    const first = NAME.exec(name)?.[1];
    return first === undefined ? [] : [{ name, first: BigInt(first) }];
  });
}

async function* changesOf(
  storage: Storage,
  path: string,
  file: string,
  onDamage: OnDamage,
): AsyncGenerator<Found> {
  let damaged: number | undefined;
  for await (const line of linesOf(await storage.open(path, 'all'))) {
    if (damaged !== undefined) onDamage({ file, line: damaged, last: false });
    const change = line.ended ? decodeChange(line.bytes) : undefined;
    damaged = change === undefined ? line.number : undefined;
    if (change !== undefined) yield { change, text: line.bytes.toString() };
  }
  if (damaged !== undefined) onDamage({ file, line: damaged, last: true });
}

/** When the files of a journal were written to last, in milliseconds since 1970. */
export async function lastWritten(storage: Storage, folder: string): Promise<number> {
  const files = await journalFiles(storage, folder);
  const stats = await Promise.all(files.map(async ({ name }) => storage.stat(join(folder, name))));
  return stats.reduce((last, stat) => Math.max(last, stat?.writtenMillis ?? 0), 0);
}
