import { spawnSync } from 'node:child_process';
import { Command } from 'commander';
import { beforeAll, describe, expect, it } from 'vitest';
import { commandGroups } from '../../src/cli/command-groups.ts';
import { run } from '../cli/captured.ts';

const scripts = new Map<string, string>();

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, lines } = await run('completion', shell);
    expect(code).toBe(0);
    scripts.set(shell, lines.join('\n'));
  }
});

/** What bash offers after some words, the last of which is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${scripts.get('bash')}
COMP_WORDS=(arrowgate "$@"); COMP_CWORD=$#; _arrowgate; echo "\${COMPREPLY[*]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script, 'bash', ...words]);
  expect([status, stderr.toString()]).toEqual([0, '']);
  return stdout.toString().split(/\s+/).filter(Boolean);
}

describe('arrowgate completion', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['commands', ['se'], ['serve']],
    ['commands of a group', ['audit', 'ev'], ['evidence']],
    ['flags', ['audit', 'verify', '--ev'], ['--evidence']],
    [
      'flags after the value of a flag',
      ['audit', 'verify', '--anchor', 'x', '--ev'],
      ['--evidence'],
    ],
    ['values of an argument', ['completion', 'b'], ['bash']],
    ['flags of the program', ['--v'], ['--version']],
    ['flags of a command with an argument', ['audit', 'evidence', 'dir', '--sin'], ['--since']],
    ['nothing where a file is named', ['audit', 'verify', '--evidence', 'fil'], []],
  ])('offers %s in bash', (_, words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('knows every command and every flag in every shell', async () => {
    const program = new Command();
    for (const { load } of commandGroups) (await load())(program, { output: quiet, code: 0 });
    const all = program.commands.flatMap((one) => [one, ...one.commands]);
    for (const [shell, script] of scripts) {
      for (const command of all) {
        expect(script).toContain(command.name());
        for (const { long } of command.options) {
          expect(script).toContain(shell === 'fish' ? `-l ${long!.slice(2)} ` : long!);
        }
      }
    }
  });

  it('refuses another shell', async () => {
    const { code, lines, notes } = await run('completion', 'tcsh');
    expect([code, lines]).toEqual([2, []]);
    expect(notes.join()).toContain('Allowed choices are bash, zsh, fish');
  });
});

const quiet = {
  line: () => undefined,
  note: () => undefined,
  bytes: async () => true,
  watched: false,
};
