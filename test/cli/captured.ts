import { runCommand } from '../../src/cli/main.ts';

/** What a command line printed, and how it exited. */
export interface Captured {
  readonly code: number;
  readonly lines: readonly string[];
  readonly notes: readonly string[];
}

/** Runs a command line in this process. */
export async function run(...words: readonly string[]): Promise<Captured> {
  const lines: string[] = [];
  const notes: string[] = [];
  const code = await runCommand(words, {
    line: (text) => void lines.push(text),
    bytes: async (piece) => {
      lines.push(...Buffer.from(piece).toString().split('\n').slice(0, -1));
      return true;
    },
    note: (text) => void notes.push(text),
    watched: false,
  });
  return { code, lines, notes };
}
