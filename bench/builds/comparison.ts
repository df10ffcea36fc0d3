import { median } from '../harness/rounds.ts';
import { aligned, figure, type Row } from '../harness/table.ts';

/** Above this ratio a build counts as slower. */
const SLOWER = 1.05;

/** Values of both builds; those of one round have the same index. */
export interface Comparison {
  readonly work: string;
  readonly unit: Row['unit'];
  readonly old: readonly number[];
  readonly new: readonly number[];
}

/** Prints medians, ratios and raw values. A ratio above 1 means that the new build is slower. */
export function printComparison(area: string, rows: readonly Comparison[]): void {
  const slower = rows.filter((row) => median(ratiosOf(row)) > SLOWER).map(({ work }) => work);
  const lines = [
    `## ${area}: new build against old`,
    '',
    'Ratio: median over the rounds of new to old, above 1 when the new build is slower.',
    '',
    ...aligned([
      ['work', 'unit', 'old', 'new', 'ratio', 'half of the rounds'],
      ['---', '---', '--:', '--:', '--:', '--:'],
      ...rows.map(cellsOf),
    ]),
    '',
    slower.length === 0
      ? `No ratio is above ${SLOWER}.`
      : `Ratios above ${SLOWER}: ${slower.join('; ')}.`,
    '',
    'Raw values, round by round:',
    '',
    '```',
    ...rows.flatMap(({ work, unit, ...values }) =>
      (['old', 'new'] as const).map(
        (name) => `${work}, ${name} (${unit}): ${values[name].map(figure).join(' ')}`,
      ),
    ),
    '```',
    '',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function cellsOf(row: Comparison): readonly string[] {
  const ratios = ratiosOf(row).toSorted((left, right) => left - right);
  const quarter = Math.floor(ratios.length / 4);
  const [low, high] = [ratios[quarter], ratios[ratios.length - 1 - quarter]];
  return [
    row.work,
    row.unit,
    figure(median(row.old)),
    figure(median(row.new)),
    `${figure(median(ratios))} ×`,
    `${figure(low ?? Number.NaN)}–${figure(high ?? Number.NaN)}`,
  ];
}

/** For each round how many times as slow the new build was. */
function ratiosOf({ unit, old, new: current }: Comparison): readonly number[] {
  return old.map((before, round) => {
    const after = current[round] ?? Number.NaN;
    return unit === '/s' ? before / after : after / before;
  });
}
