import { Argument, Command } from 'commander';
import { NO_PAGER } from './command-output.ts';
import type { Run } from './output/output.ts';

/** Adds all commands to a program. */
type AddAll = (program: Command, run: Run) => Promise<void>;

/** A command with what may follow it. */
interface Completed {
  /** The words that name the command. */
  readonly path: readonly string[];
  /** Further commands, and values of its argument. */
  readonly words: readonly Described[];
  readonly flags: readonly Described[];
}

interface Described {
  readonly name: string;
  readonly about: string;
}

const shells = { bash, zsh, fish };

/** `arrowgate completion bash|zsh|fish`: a script that completes commands and flags. */
export function addCompletion(program: Command, run: Run, addAll: AddAll): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'whose language it is in').choices(Object.keys(shells)))
    .description('print a script that completes commands and flags in a shell')
    .action(async (shell: keyof typeof shells) => {
      run.output.line(shells[shell](await allCommands(run, addAll)).trimEnd());
    });
}

/** The program itself first, then each command. */
async function allCommands(run: Run, addAll: AddAll): Promise<readonly Completed[]> {
  const program = new Command('arrowgate');
  await addAll(program, run);
  const version = { name: '--version', about: 'output the version number' };
  const [name, about] = NO_PAGER;
  const [first, ...rest] = completed(program, []).map((each) => ({
    ...each,
    flags: [...each.flags, { name, about }],
  }));
  return [{ ...first!, flags: [version, ...first!.flags] }, ...rest];
}

function completed(command: Command, path: readonly string[]): readonly Completed[] {
  const help = { name: '--help', about: 'display help for command' };
  const flags = command.options.flatMap(({ long, description: about }) =>
    long === null || long === undefined ? [] : [{ name: long, about }],
  );
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description: about }) =>
    argChoices.map((name) => ({ name, about })),
  );
  const commands = command.commands.map((each) => ({
    name: each.name(),
    about: each.description(),
  }));
  return [
    { path, words: [...commands, ...choices], flags: [...flags, help] },
    ...command.commands.flatMap((each) => completed(each, [...path, each.name()])),
  ];
}

function wordsOf({ words, flags }: Completed): string {
  return [...words, ...flags].map(({ name }) => name).join(' ');
}

/** The words typed so far that are no flags name the command; values of flags do not match a command. */
function bash(all: readonly Completed[]): string {
  const cases = all
    .map((each) => `    ${quoted(each.path.join(' '))}) words=${quoted(wordsOf(each))} ;;`)
    .join('\n');
  return `# eval "$(arrowgate completion bash)"
_arrowgate() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' words='' at
  for ((at = 1; at < COMP_CWORD && at < 3; at++)); do
    case \${COMP_WORDS[at]} in -*) break ;; *) path="\${path:+$path }\${COMP_WORDS[at]}" ;; esac
  done
  _arrowgate_words "$path" || _arrowgate_words "\${path%% *}"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
_arrowgate_words() {
  case $1 in
${cases}
    *) return 1 ;;
  esac
}
complete -o default -F _arrowgate arrowgate
`;
}

function zsh(all: readonly Completed[]): string {
  const cases = all
    .map(({ path, words, flags }) => {
      const entries = [...words, ...flags].map(({ name, about }) =>
        quoted(`${name.replaceAll(':', '\\:')}:${about}`),
      );
      return `    ${quoted(path.join(' '))}) entries=(${entries.join(' ')}) ;;`;
    })
    .join('\n');
  return `#compdef arrowgate
# eval "$(arrowgate completion zsh)"
_arrowgate() {
  local -a entries
  local path_='' at
  for ((at = 2; at < CURRENT && at < 4; at++)); do
    case $words[at] in -*) break ;; *) path_="\${path_:+$path_ }$words[at]" ;; esac
  done
  _arrowgate_entries "$path_" || _arrowgate_entries "\${path_%% *}"
  _describe arrowgate entries || _files
}
_arrowgate_entries() {
  case $1 in
${cases}
    *) return 1 ;;
  esac
}
compdef _arrowgate arrowgate
`;
}

function fish(all: readonly Completed[]): string {
  const lines = all.flatMap(({ path, words, flags }) => {
    const inner = words.map(({ name }) => name).join(' ');
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const outside = inner === '' ? [] : [`not __fish_seen_subcommand_from ${inner}`];
    const when = quoted([...seen, ...outside].join('; and '));
    return [
      ...words.map(
        ({ name, about }) => `complete -c arrowgate -f -n ${when} -a ${name} -d ${quoted(about)}`,
      ),
      ...flags.map(
        ({ name, about }) =>
          `complete -c arrowgate -n ${when} -l ${name.slice(2)} -d ${quoted(about)}`,
      ),
    ];
  });
  return `# arrowgate completion fish | source\n${lines.join('\n')}\n`;
}

/** A word of a shell; a single quote in it becomes a typographic one, which no shell reads. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’').replaceAll('\\', '').replaceAll('\n', ' ')}'`;
}
