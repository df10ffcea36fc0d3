import { columns } from './output.ts';

/** By how much more the rest of a broken line is indented. */
const INDENT = '  ';
/** Fewest characters in which a text is broken. */
const LEAST_ROOM = 20;

/** A text whose lines are broken at spaces where they are longer than a width; a longer word stays whole. */
export function fitted(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => fittedLine(line, width))
    .join('\n');
}

function fittedLine(line: string, width: number): readonly string[] {
  // Lines with colours are rows of tables.
  if (line.length <= width || line.includes('\u001b')) return [line];
  const own = /^ */.exec(line)![0];
  const text = line.slice(own.length);
  const [first = ''] = wrapped(text, width - own.length, false);
  const rest = text.slice(first.length).trimStart();
  if (rest === '') return [line];
  const indent = own + INDENT;
  const others = wrapped(rest, width - indent.length, false);
  return [own + first, ...others.map((each) => indent + each)];
}

/** A label and its text; entries without a text are not printed. */
export type LabelledText = readonly [label: string, text: string | null];

/** Labels with their texts beside them. @param width Characters of a line; undefined for any number. */
export function labelledText(entries: readonly LabelledText[], width: number | undefined): string {
  const labels = Math.max(...entries.map(([label]) => label.length));
  const room = width === undefined ? Infinity : Math.max(LEAST_ROOM, width - labels - 2);
  // The texts come from clients, and must not reach a terminal as control characters.
  return columns(
    entries.flatMap(([label, text]) => {
      if (text === null) return [];
      const [first = '', ...others] = wrapped(text.replaceAll(/\p{Cc}/gu, '?'), room, true);
      return [[label, first], ...others.map((line) => ['', line])];
    }),
  );
}

/**
 * The lines of a text, broken at spaces where there are some.
 * @param cuts Whether words that are longer than the room are cut.
 */
function wrapped(text: string, room: number, cuts: boolean): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > room) {
    const space = rest.lastIndexOf(' ', room);
    const next = space > 0 ? space : cuts ? room : rest.indexOf(' ', 1);
    if (next < 0) break;
    lines.push(rest.slice(0, next).trimEnd());
    rest = rest.slice(next).trimStart();
  }
  return [...lines, rest];
}
