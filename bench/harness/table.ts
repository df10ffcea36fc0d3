import { median, type Samples } from './rounds.ts';

/** One question of a benchmark, answered. */
export interface Row {
  readonly work: string;
  readonly unit: 'ms' | 'µs' | '/s' | '%' | 'MiB';
  /** The project first, then what it is compared with. */
  readonly samples: readonly Samples[];
  /** What the ratio should be, if that is settled: `≤ 0.8`. */
  readonly target?: string;
}

/** Prints a benchmark: what was done, a table of medians with ratios, the raw values below it. */
export function printResult(title: string, notes: readonly string[], rows: readonly Row[]): void {
  const lines = [`## ${title}`, '', ...notes, '', ...tableLines(rows), '', ...rawLines(rows), ''];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function tableLines(rows: readonly Row[]): readonly string[] {
  return aligned([
    ['work', 'side', 'median', 'ratio', 'target'],
    ['---', '---', '--:', '--:', '--:'],
    ...rows.flatMap(medianCells),
  ]);
}

/** The first side stands alone; each other one has the ratio of the first to it. */
function medianCells({ work, unit, samples, target }: Row): readonly string[][] {
  const ours = median(samples[0]?.values ?? []);
  return samples.map(({ name, values }, index) => {
    const middle = median(values);
    const cells = [index === 0 ? work : '', name, `${figure(middle)} ${unit}`];
    if (index === 0) return [...cells, '', ''];
    return [...cells, `${figure(ours / middle)} ×`, index === 1 ? (target ?? '') : ''];
  });
}

function rawLines(rows: readonly Row[]): readonly string[] {
  const lines = rows.flatMap(({ work, unit, samples }) =>
    samples.map(
      ({ name, values }) => `${work}, ${name} (${unit}): ${values.map(figure).join(' ')}`,
    ),
  );
  return ['Raw values, round by round:', '', '```', ...lines, '```'];
}

/** Three digits that matter, thousands apart. */
export function figure(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** The lines of a Markdown table whose columns also line up as plain text. */
export function aligned(cells: readonly (readonly string[])[]): readonly string[] {
  const widths = (cells[0] ?? []).map((_, column) =>
    Math.max(...cells.map((line) => line[column]?.length ?? 0)),
  );
  return cells.map((line) => {
    const padded = line.map((cell, column) => padTo(cell, widths[column] ?? 0, column));
    return `| ${padded.join(' | ')} |`;
  });
}

function padTo(cell: string, width: number, column: number): string {
  if (/^-+:?$/.test(cell)) return cell.padStart(width, '-');
  return column < 2 ? cell.padEnd(width) : cell.padStart(width);
}
