import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface TerminalOptions {
  /** Characters of a line. */
  readonly columns: number;
  readonly rows?: number;
  readonly cwd?: string;
  /** Undefined for one that is not set. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Keys that are typed once the program has printed something. */
  readonly typed?: string;
}

/** Runs the built program in a terminal (`script` of util-linux); answers what the terminal received. */
export async function inTerminal(
  words: readonly string[],
  { columns, rows = 1000, cwd, variables = {}, typed }: TerminalOptions,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const command = [process.execPath, MAIN, ...words].map(quoted).join(' ');
  const shell = `stty cols ${columns} rows ${rows}; exec ${command}`;
  const child = spawn('script', ['-qec', shell, '/dev/null'], {
    cwd,
    stdio: [typed === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', PAGER: 'cat', ...variables },
  });
  const pieces: Buffer[] = [];
  child.stdout?.on('data', (piece: Buffer) => pieces.push(piece));
  child.stdout?.once('data', () => child.stdin?.write(typed ?? ''));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text: Buffer.concat(pieces).toString().replaceAll('\r\n', '\n') };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A text without what differs from run to run: times, ids and digests. Lengths stay. */
export function steady(text: string): string {
  return text
    .replaceAll(/took [\d.]+ ms/g, 'took 0 ms')
    .replaceAll(/arrowgate-\w{6}/g, 'arrowgate-xxxxxx')
    .replaceAll(/^(credential +|(?:.*\b)?key )[a-z0-9]{12}\b/gm, '$1xxxxxxxxxxxx')
    .replaceAll(/^[a-z0-9]{12}(?= +user:)/gm, 'xxxxxxxxxxxx')
    .replaceAll(/^(key: )[\w-]{16}(?![\w-])/gm, '$1xxxxxxxxxxxxxxxx')
    .replaceAll(/\b[0-9a-f]{64}\b/g, (digest) => digest.replaceAll(/./g, 'x'))
    .replaceAll(/\b20\d{6}T\d{6}Z-[0-9a-f]{8}/g, '00000000T000000Z-xxxxxxxx')
    .replaceAll(/(?<=SHA-256\s+|-xxxxxxxx \d+\s+)[\w-]{43}/g, (hash) => hash.replaceAll(/./g, 'x'))
    .replaceAll(/20\d\d-\d\d-\d\d?[T\d:.Z+]*/g, (time) => time.replaceAll(/\d/g, '0'))
    .replaceAll(/\b[0-9a-f]{6,8}-[0-9a-f-]*(?=…|\b)/g, (id) => id.replaceAll(/[0-9a-f]/g, 'x'))
    .replaceAll(/\b[0-9a-f]{12,64}\b/g, (digest) => digest.replaceAll(/./g, 'x'));
}
