/** A text of a file before and after a change; undefined where there is no file. */
interface ChangedFile {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Unchanged lines around a change. */
const CONTEXT = 3;
/** Edits beyond which the middle of a file is replaced as a whole. */
const MOST_EDITS = 2000;

interface Edit {
  readonly kind: ' ' | '-' | '+';
  readonly text: string;
}

/** A patch of files in one folder, for `git apply` and `patch -p1`. Empty if nothing differs. */
export function unifiedDiff(files: readonly ChangedFile[]): string {
  return files.map(fileDiff).join('');
}

function fileDiff({ name, before, after }: ChangedFile): string {
  if (before === after) return '';
  const from = before === undefined ? '/dev/null' : `a/${name}`;
  const to = after === undefined ? '/dev/null' : `b/${name}`;
  const mode =
    before === undefined
      ? 'new file mode 100644\n'
      : after === undefined
        ? 'deleted file mode 100644\n'
        : '';
  const hunks = hunksOf(editsBetween(linesOf(before ?? ''), linesOf(after ?? '')));
  // A file without a line has no hunks.
  const names = hunks === '' ? '' : `--- ${from}\n+++ ${to}\n`;
  return `diff --git a/${name} b/${name}\n${mode}${names}${hunks}`;
}

/** Lines with their ends; the last may have none. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function hunksOf(edits: readonly Edit[]): string {
  const changed = edits.flatMap(({ kind }, at) => (kind === ' ' ? [] : [at]));
  const groups: { first: number; last: number }[] = [];
  for (const at of changed) {
    const group = groups.at(-1);
    if (group !== undefined && at - group.last <= 2 * CONTEXT) group.last = at;
    else groups.push({ first: at, last: at });
  }
  return groups
    .map(({ first, last }) =>
      hunkOf(edits, Math.max(0, first - CONTEXT), Math.min(edits.length, last + CONTEXT + 1)),
    )
    .join('');
}

function hunkOf(edits: readonly Edit[], start: number, end: number): string {
  const own = edits.slice(start, end);
  const place = (other: Edit['kind']): string => {
    const first = edits.slice(0, start).filter(({ kind }) => kind !== other).length;
    const count = own.filter(({ kind }) => kind !== other).length;
    return `${count === 0 ? first : first + 1},${count}`;
  };
  const lines = own.map(({ kind, text }) =>
    text.endsWith('\n') ? `${kind}${text}` : `${kind}${text}\n\\ No newline at end of file\n`,
  );
  return `@@ -${place('+')} +${place('-')} @@\n${lines.join('')}`;
}

/** The edits that make one list of lines another. What both begin and end with is kept. */
function editsBetween(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const least = Math.min(before.length, after.length);
  let head = 0;
  while (head < least && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < least - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const kept = (text: string): Edit => ({ kind: ' ', text });
  return [
    ...before.slice(0, head).map(kept),
    ...middleEdits(
      before.slice(head, before.length - tail),
      after.slice(head, after.length - tail),
    ),
    ...before.slice(before.length - tail).map(kept),
  ];
}

/** The shortest edits by the algorithm of Myers, "An O(ND) difference algorithm", 1986. */
function middleEdits(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const most = Math.min(before.length + after.length, MOST_EDITS);
  const reach = new Map<number, number>([[1, 0]]);
  const rounds: ReadonlyMap<number, number>[] = [];
  for (let edits = 0; edits <= most; edits++) {
    rounds.push(new Map(reach));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = isDown(reach, diagonal, edits)
        ? (reach.get(diagonal + 1) ?? 0)
        : (reach.get(diagonal - 1) ?? 0) + 1;
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal])
        x += 1;
      reach.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return traced(rounds, before, after);
    }
  }
  return [
    ...before.map((text): Edit => ({ kind: '-', text })),
    ...after.map((text): Edit => ({ kind: '+', text })),
  ];
}

/** Whether the path to a diagonal comes from the one above it, by an added line. */
function isDown(reach: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true;
  if (diagonal === edits) return false;
  return (reach.get(diagonal - 1) ?? 0) < (reach.get(diagonal + 1) ?? 0);
}

function traced(
  rounds: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
): readonly Edit[] {
  const found: Edit[] = [];
  let [x, y] = [before.length, after.length];
  const keep = (toX: number, toY: number): void => {
    for (; x > toX && y > toY; x--, y--) found.push({ kind: ' ', text: before[x - 1] ?? '' });
  };
  for (let edits = rounds.length - 1; edits > 0; edits--) {
    const reach = rounds[edits]!;
    const down = isDown(reach, x - y, edits);
    const from = down ? x - y + 1 : x - y - 1;
    const [fromX, fromY] = [reach.get(from) ?? 0, (reach.get(from) ?? 0) - from];
    keep(down ? fromX : fromX + 1, down ? fromY + 1 : fromY);
    if (down) found.push({ kind: '+', text: after[fromY] ?? '' });
    else found.push({ kind: '-', text: before[fromX] ?? '' });
    [x, y] = [fromX, fromY];
  }
  keep(0, 0);
  return found.reverse();
}
