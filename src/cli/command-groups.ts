import type { Command } from 'commander';
import type { Run } from './output/output.ts';

/** Adds commands to the program. */
type Add = (program: Command, run: Run) => void;

/** Commands under one word, which are loaded when it is typed: all of them together take long to load. */
interface CommandGroup {
  readonly name: string;
  /** Description in the program's help. */
  readonly about: string;
  /** Whether the word is a command by itself, with options. */
  readonly alone: boolean;
  readonly load: () => Promise<Add>;
}

export const commandGroups: readonly CommandGroup[] = [
  {
    name: 'serve',
    about: 'start the gateway; stops on SIGTERM or SIGINT',
    alone: true,
    load: async () => (await import('./serve-command.ts')).addServe,
  },
  {
    name: 'init',
    about: 'make a folder that starts at once, with policies',
    alone: true,
    load: async () => (await import('./init-command.ts')).addInit,
  },
  {
    name: 'check',
    about: 'check whether serve would start; writes nothing',
    alone: true,
    load: async () => (await import('./check-command.ts')).addStartCheck,
  },
  {
    name: 'keys',
    about: 'manage API keys, also while a gateway runs',
    alone: false,
    load: async () => (await import('./keys/keys.ts')).addKeys,
  },
  {
    name: 'policy',
    about: 'check and explain the policy files',
    alone: false,
    load: async () => (await import('./policy/policy.ts')).addPolicy,
  },
  {
    name: 'catalog',
    about: 'maintain the tables, also while a gateway runs',
    alone: false,
    load: async () => (await import('./catalog/catalog.ts')).addCatalog,
  },
  {
    name: 'audit',
    about: 'search and verify the audit log, also while a gateway runs',
    alone: false,
    load: async () => (await import('./audit/audit.ts')).addAudit,
  },
  {
    name: 'commits',
    about: 'the rules of commits.yaml',
    alone: false,
    load: async () => (await import('./catalog/commits.ts')).addCommits,
  },
  {
    name: 'config',
    about: 'the configuration',
    alone: false,
    load: async () => (await import('./config-commands.ts')).addConfig,
  },
  {
    name: 'completion',
    about: 'print a script that completes commands and flags in a shell',
    alone: false,
    load: loadCompletion,
  },
];

/** The first word of a command line, which selects a group of commands; after `help` the second one. */
function groupWord(words: readonly string[]): string | undefined {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
}

/** Adds all commands. Only the group that the command line names is loaded; the others have name and description. */
export async function addCommands(
  program: Command,
  run: Run,
  words: readonly string[],
): Promise<void> {
  const word = groupWord(words);
  for (const { name, about, alone, load } of commandGroups) {
    if (name === word) {
      (await load())(program, run);
      continue;
    }
    const named = program.command(name).description(about);
    if (alone) named.option('--config <file>');
  }
}

/** The completion of all commands, its own among them. */
async function loadCompletion(): Promise<Add> {
  const { addCompletion } = await import('./completion-command.ts');
  return (program, run) => addCompletion(program, run, addAll);
}

async function addAll(program: Command, run: Run): Promise<void> {
  for (const { load } of commandGroups) (await load())(program, run);
}
