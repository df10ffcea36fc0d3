import type { Command } from 'commander';
import { judging } from '../../engine/rules/commit-judge.ts';
import { conversionJudge, type JudgeConversion } from '../../engine/rules/conversion-judge.ts';
import type { Converted } from '../../engine/upkeep/conversion/table-conversion.ts';
import { tableFormats, type TableFormat } from '../../engine/versions/table-format.ts';
import { canonicalPath } from '../../protocol/identifier.ts';
import { configOf, withConfig } from '../config/command-config.ts';
import { processEnvironment } from '../config/config-environment.ts';
import type { Config } from '../config/config-table.ts';
import type { Run } from '../output/output.ts';
import { ServiceError, UsageError } from '../output/service-error.ts';
import { dataFolderOf } from '../service/data-folder.ts';
import { commandLance } from '../service/open-lance.ts';
import { recorded, type RecordedCommand } from '../service/recorded-command.ts';
import { rulesForExpiry } from '../service/version-expiry.ts';
import { tablePathOf, withUpkeep } from '../service/with-upkeep.ts';

interface ConvertFlags {
  readonly to: string;
  readonly json?: boolean;
}

/** `arrowgate catalog convert`. */
export function addConvert(catalog: Command, run: Run): void {
  withConfig(catalog.command('convert'), ['data', 'policies', 'coordination.redis'])
    .argument('<table>', 'a canonical path, such as /prod/sales')
    .requiredOption('--to <format>', 'lance or arrow')
    .description('give a table another format, with the rows and columns of its newest version')
    .option('--json', 'print JSON')
    .action(async (table: string, flags: ConvertFlags, command: Command) => {
      const [path, to] = [tablePathOf(table), formatOf(flags.to)];
      const config = configOf(command);
      const judge = await judgeOf(config);
      const object = canonicalPath(path);
      const act: RecordedCommand = { operation: 'CatalogConvert', object, details: { to } };
      const { signal } = new AbortController();
      const done = await withUpkeep(
        command,
        (upkeep) =>
          recorded(config, act, async () => {
            const result = await upkeep.convert({ path, to, judge, signal });
            return { result, details: detailsOf(result) };
          }),
        (_, opened) => commandLance(config, opened),
      );
      run.output.line(flags.json === true ? jsonOf(done) : sentence(object, to, done));
    });
}

function formatOf(text: string): TableFormat {
  const format = tableFormats.find((one) => one === text);
  if (format !== undefined) return format;
  throw new UsageError(`--to takes one of ${tableFormats.join(', ')}, not ${JSON.stringify(text)}`);
}

/** @throws ServiceError if there may be rules, and they are not known */
async function judgeOf(config: Config): Promise<JudgeConversion> {
  const source = await rulesForExpiry(config, dataFolderOf(config));
  if (source === undefined) {
    throw new ServiceError(
      `a service had commit rules, and the folder ${config.policies} does not exist: name it with --policies`,
    );
  }
  return conversionJudge(judging(source, (name) => processEnvironment()[name], Date.now));
}

function detailsOf({ id, before, version, rows, tags }: Converted) {
  return { id, before, version: String(version), rows: String(rows), tags: String(tags.length) };
}

function jsonOf({ version, rows, indices, ...rest }: Converted): string {
  const numbers = { version: Number(version), rows: Number(rows) };
  return JSON.stringify({ ...rest, indices: [...indices.keys()], ...numbers });
}

function sentence(name: string, to: TableFormat, converted: Converted): string {
  const { version, rows, before, tags, building, indices } = converted;
  const reasons = [...indices].map(([index, why]) => `${JSON.stringify(index)} (${why})`);
  const quoted = (names: readonly string[]): string[] => names.map((each) => JSON.stringify(each));
  const left = [named('tag', quoted(tags)), named('index', reasons)].filter((text) => text !== '');
  const again = named('index', quoted(building));
  const notes = [
    ...(again === '' ? [] : [`; a service builds ${again} again`]),
    ...(left.length === 0 ? [] : [`; ${left.join(' and ')} did not come along`]),
  ];
  return `${name} has the format ${to}: version ${version} with ${rows} rows${notes.join('')}. \`arrowgate catalog undrop ${name} --id ${before} --as PATH\` brings back the table as it was`;
}

function named(noun: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `${noun} ${names.join(', ')}`;
}
