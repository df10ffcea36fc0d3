import { Command } from 'commander';
import { addAudit } from '../src/cli/audit/audit.ts';
import { addCatalog } from '../src/cli/catalog/catalog.ts';
import { addCommits } from '../src/cli/catalog/commits.ts';
import { addStartCheck } from '../src/cli/check-command.ts';
import { addConfig } from '../src/cli/config-commands.ts';
import { configPaths, settingOf, variablesOf } from '../src/cli/config/config-table.ts';
import { addKeys } from '../src/cli/keys/keys.ts';
import { processOutput } from '../src/cli/output/output.ts';
import { addPolicy } from '../src/cli/policy/policy.ts';
import { addServe } from '../src/cli/serve-command.ts';
import { crossingHeaders } from '../src/gateway/backends/remote-headers.ts';
import { buckets, metricTable } from '../src/gateway/telemetry/metric-table.ts';
import type { TSchema } from 'typebox';
import { commitsSchema } from '../src/policy/settings/commits-schema.ts';
import { issuersSchema } from '../src/policy/settings/issuers-schema.ts';
import { errorTable } from '../src/protocol/errors.ts';
import type { Operation } from '../src/protocol/operations/operation.ts';
import { operationNames, operations } from '../src/protocol/operations/operations.ts';
import { functions } from '../src/sql/functions/table.ts';

/** The documents that say what the tables in the code say, by their path. */
export function referenceDocs(): Readonly<Record<string, string>> {
  return {
    'docs/reference/configuration.md': configurationDoc(),
    'docs/reference/operations.md': operationsDoc(),
    'docs/reference/errors.md': errorsDoc(),
    'docs/reference/headers.md': headersDoc(),
    'docs/reference/metrics.md': metricsDoc(),
    'docs/reference/commands.md': commandsDoc(),
    'docs/reference/sql-functions.md': functionsDoc(),
    'docs/schemas/issuers.schema.json': schemaDoc('issuers.yaml', issuersSchema),
    'docs/schemas/commits.schema.json': schemaDoc('commits.yaml', commitsSchema),
  };
}

/** A JSON Schema, for editors; what only the program reads of it is left out. */
function schemaDoc(title: string, schema: TSchema): string {
  const own = ['expects', 'hidden'];
  const shown = (key: string, value: unknown) => (own.includes(key) ? undefined : value);
  const $schema = 'https://json-schema.org/draft/2020-12/schema';
  return `${JSON.stringify({ $schema, title, ...schema }, shown, 2)}\n`;
}

const GENERATED = 'Written by `npm run docs` from the table in the code; a test holds both equal.';

function configurationDoc(): string {
  const rows = configPaths.map((path) => {
    const { flag, kind, shown, about, secret } = settingOf(path);
    return [
      secret === true ? '–' : `\`${path}\``,
      flag === undefined ? '–' : `\`--${flag}\``,
      variablesOf(path)
        .map((variable) => `\`${variable}\``)
        .join(' '),
      kind.name,
      `\`${shown}\``,
      about,
    ];
  });
  return doc(
    'Configuration',
    `A flag beats the environment, which beats the file (\`arrowgate.yaml\` in the working folder, or
\`--config FILE\`), which beats the default. A key is a path in the file: \`cache.bytes\` is \`bytes\`
under \`cache\`. Unknown keys and bad values stop the start with one sentence and exit code 2.
\`arrowgate config check\` tells beforehand.`,
    ['Key', 'Flag', 'Variable', 'Kind', 'Default', 'Meaning'],
    rows,
  );
}

function operationsDoc(): string {
  return doc(
    'Operations',
    `Each operation with its routes, the access group that a policy line may name instead of it, what
travels in its body, and the modes that ask for more. Every route is also taken with a slash at its
end. The last ones stand beside the specification: LanceDB calls them.`,
    ['Operation', 'Routes', 'Access', 'Body', 'Answer', 'Modes'],
    operationNames.map((name) => operationRow(operations[name])),
  );
}

function operationRow(operation: Operation): readonly string[] {
  return [
    operation.name,
    operation.routes.map(({ method, path }) => `\`${method} ${path}\``).join('<br>'),
    operation.access,
    operation.body,
    operation.response,
    Object.entries(operation.modes ?? {})
      .map(
        ([mode, need]) =>
          `${mode}: ${need.instead ? 'instead ' : 'also '}${need.actions.join(', ')}`,
      )
      .join('<br>') || '–',
  ];
}

function headersDoc(): string {
  return doc(
    'Headers that cross to a backend',
    `A remote backend gets these headers of a client's request, and no others. The gateway adds its own
credential, \`via\`, and the \`x-lancedb-database\` that the backend's configuration names.`,
    ['Header', 'Value', 'Meaning'],
    crossingHeaders.map(({ name, source, meaning }) => [
      `\`${name}\``,
      source === 'client' ? "the client's" : 'checked by the gateway, or its own',
      meaning,
    ]),
  );
}

function metricsDoc(): string {
  return doc(
    'Metrics',
    `\`GET /metrics\` answers the listener of \`listen.admin\`, or a key with \`manage\`. Beside these stand
the metrics of the process and of Node (\`process_*\`, \`nodejs_*\`). Labels have few values: operations
are those of the operation table (\`none\` where a request named none), the status is its class, and no
subject and no object is ever a label. Histograms have buckets up to
${buckets.join(', ')} seconds. Several processes that serve together are told as one.`,
    ['Metric', 'Type', 'Labels', 'Meaning'],
    Object.values(metricTable).map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(' ') || '–',
      help,
    ]),
  );
}

function errorsDoc(): string {
  return doc(
    'Errors',
    `An error is \`{"error", "code", "detail"?, "instance"}\`; \`instance\` is the request's id, and the code
is what to decide by. To the LanceDB client 404 means a missing table, or a missing index on the
routes where it expects one; its other not-found errors and final conflicts are 400 with the same
code, save on the routes that make and delete branches.`,
    ['Code', 'Name', 'Status'],
    errorTable.map(({ code, name, status }) => [String(code), name, String(status)]),
  );
}

const commandAdders = [
  addServe,
  addStartCheck,
  addKeys,
  addPolicy,
  addCatalog,
  addAudit,
  addCommits,
  addConfig,
];

function commandsDoc(): string {
  const program = new Command('arrowgate');
  for (const add of commandAdders) add(program, { output: processOutput, code: 0 });
  const common = new Set(['config', 'json', ...configPaths.map((path) => settingOf(path).flag)]);
  return doc(
    'Commands',
    `\`arrowgate\` is \`node dist/cli/main.js\` in a clone. Exit code 0 means yes, 1 a finding, 2 a mistake in
the call or the configuration. Every command also takes \`--config <file>\` and the flags of the configuration keys
that it needs, such as \`--data\`, \`--policies\` and \`--redis\` (see [Configuration](configuration.md)). All but
\`serve\` take \`--json\`. \`--help\` lists what a command takes.`,
    ['Command', 'Options', 'Does'],
    leavesOf(program).map(({ name, command }) => [
      `\`${name}\``,
      command.options
        .filter(({ long }) => !common.has(long?.slice(2)))
        .map(({ flags, description }) => `\`${flags}\` ${description}`)
        .join('<br>') || '–',
      command.description(),
    ]),
  );
}

interface NamedCommand {
  readonly name: string;
  readonly command: Command;
}

/** The commands that run something, each with its whole name and its arguments. */
function leavesOf(parent: Command, before = 'arrowgate'): readonly NamedCommand[] {
  return parent.commands.flatMap((command) => {
    const name = `${before} ${command.name()}`;
    if (command.commands.length > 0) return leavesOf(command, name);
    const words = command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    );
    return [{ name: [name, ...words].join(' '), command }];
  });
}

function functionsDoc(): string {
  return doc(
    'SQL functions',
    `The scalar functions of expressions, by the names of DataFusion 53 and LanceDB. [SQL](sql.md) describes the
language around them.`,
    ['Function', 'Usage'],
    [...functions].map(([name, { usage }]) => [`\`${name}\``, `\`${usage}\``]),
  );
}

function doc(
  title: string,
  text: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const table = [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
  return `# ${title}\n\n${text}\n\n${GENERATED}\n\n${table}\n`;
}
