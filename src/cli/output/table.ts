import type { Command } from 'commander';
import type { Output } from './output.ts';
import { painted, type Colour } from './colour.ts';
import { UsageError } from './service-error.ts';

/** A column of a printed table. */
export interface PrintedColumn {
  readonly heading: string;
  /** Fewest characters to which cells are cut on a narrow terminal; cells are whole where it is absent. */
  readonly least?: number;
  /** Colour of a cell on a terminal. */
  readonly colour?: (cell: string) => Colour | undefined;
}

/** Flags of commands that print a table. */
export interface TableFlags {
  /** Names of the printed columns, with commas between them. */
  readonly columns?: string;
  /** False for a table without its line of headings. */
  readonly header?: boolean;
}

/** Adds the flags of a command that prints a table. */
export function withTable(command: Command): Command {
  return command
    .option('--columns <names>', 'columns of the table, with commas between them, in their order')
    .option('--no-header', 'a table without the line of headings');
}

type Place = Pick<Output, 'width' | 'colour' | 'note'>;

const GAP = '  ';

/**
 * A table that is printed in parts. Columns grow to the widest cell so far. On a terminal wide
 * cells are cut until a row fits; if that is not enough, the last columns are left out.
 */
export class Table {
  readonly #place: Place;
  readonly #columns: readonly PrintedColumn[];
  readonly #indices: readonly number[];
  readonly #isSelected: boolean;
  readonly #hasHeader: boolean;
  #widths: readonly number[];
  /** Number of printed columns; decided by the first part. */
  #count: number | undefined;

  /** @throws UsageError for unknown columns */
  constructor(columns: readonly PrintedColumn[], flags: TableFlags, place: Place) {
    this.#place = place;
    this.#isSelected = flags.columns !== undefined;
    this.#indices = selected(columns, flags.columns);
    this.#columns = this.#indices.map((index) => columns[index]!);
    this.#hasHeader = flags.header !== false;
    this.#widths = this.#columns.map(({ heading }) => (this.#hasHeader ? heading.length : 0));
  }

  /** The lines of some rows, whose cells are in the order of all columns; the headings come first. */
  lines(rows: readonly (readonly string[])[]): readonly string[] {
    const cells = rows.map((row) => this.#indices.map((index) => plain(row[index] ?? '')));
    this.#widths = this.#widths.map((width, at) =>
      cells.reduce((most, row) => Math.max(most, row[at]!.length), width),
    );
    const isFirst = this.#count === undefined;
    const count = (this.#count ??= this.#fitting());
    const widths = this.#narrowed(count);
    const body = cells.map((row) => this.#line(row, widths, false));
    if (!isFirst || !this.#hasHeader) return body;
    return [
      this.#line(
        this.#columns.map(({ heading }) => heading),
        widths,
        true,
      ),
      ...body,
    ];
  }

  /** How many columns fit when all are as narrow as they can be. */
  #fitting(): number {
    const { width } = this.#place;
    const all = this.#columns.length;
    if (width === undefined || this.#isSelected) return all;
    const least = this.#columns.map((column, at) => leastOf(column, this.#widths[at]!));
    let count = all;
    while (count > 1 && rowWidth(least.slice(0, count)) > width) count -= 1;
    if (count < all) {
      const names = this.#columns.slice(count).map(({ heading }) => nameOf(heading));
      this.#place.note(`not shown: ${names.join(', ')}; --columns or a wider terminal shows them`);
    }
    return count;
  }

  #narrowed(count: number): readonly number[] {
    const widths = this.#widths.slice(0, count);
    const { width } = this.#place;
    if (width === undefined) return widths;
    const least = widths.map((wide, at) => leastOf(this.#columns[at]!, wide));
    for (let excess = rowWidth(widths) - width; excess > 0; excess -= 1) {
      const widest = widestOf(widths, least);
      if (widest < 0) break;
      widths[widest]! -= 1;
    }
    return widths;
  }

  #line(row: readonly string[], widths: readonly number[], isHeading: boolean): string {
    const last = widths.length - 1;
    const cells = widths.map((width, at) => {
      const text = cut(row[at]!, width);
      const padded = at === last ? text : text.padEnd(width);
      if (this.#place.colour !== true) return padded;
      const colour = isHeading ? 'bold' : this.#columns[at]!.colour?.(row[at]!);
      return colour === undefined ? padded : painted(padded, colour);
    });
    return cells.join(GAP).trimEnd();
  }
}

/** A whole table as text. */
export function tableText(
  columns: readonly PrintedColumn[],
  rows: readonly (readonly string[])[],
  flags: TableFlags,
  place: Place,
): string {
  return new Table(columns, flags, place).lines(rows).join('\n');
}

function leastOf({ least, heading }: PrintedColumn, width: number): number {
  return least === undefined ? width : Math.min(width, Math.max(least, heading.length));
}

function rowWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
}

/** Index of the widest column that can be narrowed; -1 if there is none. */
function widestOf(widths: readonly number[], least: readonly number[]): number {
  let found = -1;
  for (const [at, width] of widths.entries()) {
    if (width > least[at]! && (found < 0 || width > widths[found]!)) found = at;
  }
  return found;
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

/** Names come from clients: a control character must not reach a terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '?');
}

/** The name of a column in `--columns`. */
function nameOf(heading: string): string {
  return heading.toLowerCase().replaceAll(' ', '_');
}

/** Indices of the columns that a flag names. @throws UsageError */
function selected(columns: readonly PrintedColumn[], typed: string | undefined): readonly number[] {
  if (typed === undefined) return columns.map((_, at) => at);
  const names = columns.map(({ heading }) => nameOf(heading));
  return typed.split(',').map((part) => {
    const at = names.indexOf(nameOf(part.trim()).replaceAll('-', '_'));
    if (at >= 0) return at;
    throw new UsageError(
      `--columns names ${JSON.stringify(part.trim())}, but must name some of ${names.join(',')}`,
    );
  });
}
