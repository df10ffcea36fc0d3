import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** How a benchmark runs. */
export interface BenchOptions {
  /** How often each side is measured. */
  readonly rounds: number;
  /** Less data and few rounds: shows that everything runs, its numbers say little. */
  readonly quick: boolean;
  /** Whether sizes are included that take long to make. */
  readonly large: boolean;
  /** How many bytes of the disk are written before anything is measured. */
  readonly warmDisk: number;
  /** The folder of another checkout, built, that this one is compared with; undefined for the peers. */
  readonly against: string | undefined;
  /** How long a process works before it is measured as an aged one. */
  readonly minutes: number;
  /** Whether the peer is the LanceDB of the project, and not the newest one. */
  readonly ownPeer: boolean;
  /** Which questions; all of them when empty. */
  readonly names: readonly string[];
}

const UNITS: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/**
 * Reads the flags of `npm run bench`: `--rounds N` (7; 8 with `--against`), `--quick`, `--large`,
 * `--warm-disk SIZE` (4GiB; 1GiB with `--against`, 0 with `--quick`), `--against FOLDER`,
 * `--minutes N` (10; 0.1 with `--quick`), `--own-peer`, and the names of the questions.
 * @throws Error for a flag or value that is not known.
 */
export function readOptions(args: readonly string[] = process.argv.slice(2)): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      large: { type: 'boolean', default: false },
      'warm-disk': { type: 'string' },
      against: { type: 'string' },
      minutes: { type: 'string' },
      'own-peer': { type: 'boolean', default: false },
    },
  });
  const { quick, large } = values;
  return {
    quick,
    large,
    against: values.against === undefined ? undefined : resolve(values.against),
    rounds: countOf(values.rounds ?? (quick ? '2' : values.against === undefined ? '7' : '8')),
    warmDisk: bytesOf(
      values['warm-disk'] ?? (quick ? '0' : values.against === undefined ? '4GiB' : '1GiB'),
    ),
    minutes: Number(values.minutes ?? (quick ? 0.1 : 10)),
    ownPeer: values['own-peer'],
    names: positionals,
  };
}

/** The flags that make another process read the same options. */
export function flagsOf(options: BenchOptions): readonly string[] {
  const { rounds, quick, large, against, minutes } = options;
  return [
    '--rounds',
    String(rounds),
    '--warm-disk',
    '0',
    '--minutes',
    String(minutes),
    ...(quick ? ['--quick'] : []),
    ...(large ? ['--large'] : []),
    ...(against === undefined ? [] : ['--against', against]),
  ];
}

function countOf(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new Error(`--rounds takes a whole number from 1 on, not "${text}"`);
}

function bytesOf(text: string): number {
  const [, number, unit] = /^(\d+)(KiB|MiB|GiB)?$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`--warm-disk takes a size such as 4GiB, not "${text}"`);
  return Number(number) * (UNITS[unit ?? ''] ?? 1);
}
