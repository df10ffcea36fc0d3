import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandGroups } from '../../src/cli/command-groups.ts';
import { runCommand } from '../../src/cli/main.ts';

const silent = {
  line: () => undefined,
  bytes: async () => true,
  note: () => undefined,
  watched: false,
};

async function printed(...words: string[]): Promise<string> {
  const lines: string[] = [];
  const say = (text: string) => void lines.push(text);
  await runCommand(words, { ...silent, line: say, note: say });
  return lines.join('\n');
}

describe('the commands', () => {
  it.each(commandGroups)(
    'are described before $name is loaded as they are afterwards',
    async (group) => {
      const program = new Command();
      (await group.load())(program, { output: silent, code: 0 });
      const [loaded, ...others] = program.commands;
      expect(others).toEqual([]);
      expect([loaded!.name(), loaded!.description(), loaded!.options.length > 0]).toEqual([
        group.name,
        group.about,
        group.alone,
      ]);
    },
  );

  it('are all in the help, whichever are loaded', async () => {
    const help = await printed('--help');
    for (const { name, about } of commandGroups)
      expect(help).toMatch(new RegExp(`${name}.*${about}`));
    expect(help).toContain('serve [options]');
  });

  it.each([['keys', '--help'], ['help', 'keys'], ['keys']])(
    'are found by %s %s',
    async (...words) => {
      expect(await printed(...words)).toContain('revoke');
    },
  );

  it('are refused when there is none of the name', async () => {
    expect(await printed('nothing')).toContain("unknown command 'nothing'");
  });
});
