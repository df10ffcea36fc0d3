// A process after minutes of mixed work against one that has just begun, and its first requests against later ones.
import { largeWrites, measureWrites } from './aged/large-writes.ts';
import { MixedWork } from './aged/mixed-work.ts';
import { measureStarts } from './aged/just-started.ts';
import { Subject } from './aged/subject.ts';
import { readOptions } from './harness/options.ts';
import { printResult } from './harness/table.ts';

const options = readOptions();
const scale = options.quick ? 10 : 1;
const WRITTEN_ROWS = 400_000 / scale;
const READ_ROWS = 200_000 / scale;
/** Starts take longer than what is measured of them. */
const STARTS = Math.min(5, options.rounds);

/** Which builds, by the name of the side; the first one is this checkout's. */
const builds: readonly { readonly name: string; readonly root?: string }[] = [
  { name: '' },
  ...(options.against === undefined ? [] : [{ name: ', old build', root: options.against }]),
];

await measureAged();
await measureStarted();

async function measureAged(): Promise<void> {
  const aged = await started('aged');
  const until = Date.now() + options.minutes * 60_000;
  await Promise.all(
    aged.map((subject) => new MixedWork(subject.side, subject.service.url).run(until)),
  );
  const fresh = await started('fresh');
  const subjects = aged.flatMap((subject, at) => [subject, fresh[at]!]);
  const rows = await measureWrites(largeWrites(WRITTEN_ROWS), subjects, options.rounds);
  for (const subject of subjects) await subject.stop();
  printResult('aged', agedNotes(), rows);
}

async function measureStarted(): Promise<void> {
  const rows = [];
  for (const subject of await started('arrowgate')) {
    rows.push(...(await measureStarts(subject, READ_ROWS, STARTS)));
    await subject.stop();
  }
  printResult('just started', startedNotes(), rows);
}

async function started(name: string): Promise<readonly Subject[]> {
  const all = [];
  for (const { name: build, root } of builds) {
    all.push(await Subject.start(`${name}${build}`, root === undefined ? {} : { root }));
  }
  return all;
}

function agedNotes(): readonly string[] {
  return [
    `The aged process has worked for ${options.minutes} minutes: six small tables as in the soak test, and one that`,
    'grows to 450,000 rows, is changed, searched and read, and is dropped. The fresh one has done each of',
    'these writes once. Both are measured in turn. Collections are those on the main thread; the threads that',
    'mark beside it are in the processor time.',
  ];
}

function startedNotes(): readonly string[] {
  return [
    'Requests one after the other: the first ones, one to three seconds after the process listens, and the same ones when the process',
    'has done everything eight times. "Each" is what a client waits for each of them in all rounds; "processor" is',
    'the processor time of one on average, with the threads that compile and collect, by rounds.',
  ];
}
