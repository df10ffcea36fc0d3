import { arrow } from '../clients/lancedb.ts';
import type { Shrunk } from './shrink.ts';
import type { Program, Statement } from './statement.ts';
import { textOf, type Column } from './value.ts';

/** A failure as a reader repeats it: the seed, what was asked, and what was different. */
export function reportOf({ program, failure }: Shrunk): string {
  const lines = program.statements.map((statement, at) => `${at + 1}. ${statementText(statement)}`);
  return [
    `the program of seed ${program.seed} fails; made small it is:`,
    `create ${tableText(program.create)}`,
    ...lines,
    `The last answers differ: ${failure.difference}`,
  ].join('\n');
}

/** What is printed of a run that finds nothing. */
export function summaryOf(
  seeds: readonly Program['seed'][],
  asked: number,
  refused: number,
): string {
  const range = `seeds ${seeds[0]} to ${seeds.at(-1)}`;
  return `oracle: ${asked} statements, ${refused} of them refused by both, ${range}`;
}

function statementText(statement: Statement): string {
  const shown = Object.entries(statement).filter(([name]) => name !== 'rows' && name !== 'kind');
  const rows = 'rows' in statement ? ` ${tableText(statement.rows)}` : '';
  const parts = shown.map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  return `${statement.kind} ${parts.join(', ')}${rows}`;
}

function tableText(columns: readonly Column[]): string {
  const texts = columns.map(
    ({ name, type, values }) =>
      `${name} ${arrow.Type[type.typeId]} [${values.map(textOf).join(', ')}]`,
  );
  return `{${texts.join('; ')}}`;
}
