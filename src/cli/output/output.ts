/** Minimum interval between two lines of progress, in milliseconds. */
const PAUSE_MILLIS = 500;

/** Duration of work that reports no progress, in milliseconds. */
const SHORT_MILLIS = 2000;

/**
 * Progress reporter of long work; does nothing if the output is not watched.
 * @param shortMillis Nothing is reported before.
 */
export function progressOf(
  output: Output,
  shortMillis: number = SHORT_MILLIS,
): { progress?: (doing: string) => void } {
  if (!output.watched) return {};
  let last = Date.now() + shortMillis - PAUSE_MILLIS;
  return {
    progress: (doing) => {
      const now = Date.now();
      if (now - last < PAUSE_MILLIS || !output.watched) return;
      last = now;
      output.note(doing);
    },
  };
}

const digits = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/**
 * Progress reporter of work that counts: with the rate, and the time left if the total is known.
 * @param unit In the plural: `records`.
 * @param shortMillis Nothing is reported before.
 */
export function meterOf(
  output: Output,
  unit: string,
  { total, shortMillis }: { readonly total?: number; readonly shortMillis?: number } = {},
): (done: number | bigint) => void {
  const { progress } = progressOf(output, shortMillis);
  const began = Date.now();
  return (done) => {
    const seconds = Math.max(1, Date.now() - began) / 1000;
    const rate = Number(done) / seconds;
    const left = total === undefined || rate === 0 ? undefined : (total - Number(done)) / rate;
    const rest = left === undefined || left < 0 ? '' : `, ${durationText(left)} left`;
    progress?.(`${digits.format(done)} ${unit}, ${digits.format(rate)} a second${rest}`);
  };
}

function durationText(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole < 120 ? `${whole} s` : `${Math.ceil(whole / 60)} min`;
}

/** Output of a command; a terminal gets more. */
export interface Output {
  /** A line of the answer, on standard output. */
  line(text: string): void;
  /** Bytes of a long answer, on standard output; resolves when they are taken, with whether anybody still reads. */
  bytes(piece: Uint8Array): Promise<boolean>;
  /** Prints a note for the user to standard error. */
  note(text: string): void;
  /** Whether standard error is a terminal. */
  readonly watched: boolean;
  /** Characters in a line of standard output; undefined if it is no terminal. */
  readonly width?: number;
  /** Lines of the terminal of standard output; undefined if it is none. */
  readonly height?: number;
  /** Whether standard output shows colours. */
  readonly colour?: boolean;
}

/** The streams of this process. @param environment Its variables. */
export function processOutput(environment: Readonly<Record<string, string | undefined>>): Output {
  const { stdout, stderr } = process;
  const { NO_COLOR: noColour = '', TERM: terminal } = environment;
  return {
    line: (text) => void stdout.write(`${text}\n`),
    bytes: (piece) =>
      new Promise((resolve) => {
        stdout.write(piece, (error) => resolve(error === null || error === undefined));
      }),
    note: (text) => void stderr.write(`${text}\n`),
    watched: stderr.isTTY,
    ...(stdout.isTTY ? { width: stdout.columns, height: stdout.rows } : {}),
    colour: stdout.isTTY && noColour === '' && terminal !== 'dumb',
  };
}

/** Rows as columns of equal width, two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((most, row) => Math.max(most, (row[column] ?? '').length), 0),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One run of the command line: where it writes, and how it will exit. */
export interface Run {
  output: Output;
  /** 0 for yes, 1 for a finding, 2 for a usage error. */
  code: 0 | 1 | 2;
}
