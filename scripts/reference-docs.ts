import { configPaths, settingOf, variablesOf } from '../src/cli/config/config-table.ts';
import { crossingHeaders } from '../src/gateway/backends/remote-headers.ts';
import { buckets, metricTable } from '../src/gateway/telemetry/metric-table.ts';
import type { TSchema } from 'typebox';
import { commitsSchema } from '../src/policy/settings/commits-schema.ts';
import { issuersSchema } from '../src/policy/settings/issuers-schema.ts';
import { errorTable } from '../src/protocol/errors.ts';
import type { Operation } from '../src/protocol/operations/operation.ts';
import { operationNames, operations } from '../src/protocol/operations/operations.ts';

/** The documents that say what the tables in the code say, by their path. */
export function referenceDocs(): Readonly<Record<string, string>> {
  return {
    'docs/configuration.md': configurationDoc(),
    'docs/operations.md': operationsDoc(),
    'docs/errors.md': errorsDoc(),
    'docs/headers.md': headersDoc(),
    'docs/metrics.md': metricsDoc(),
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
