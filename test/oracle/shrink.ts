import type { Failure, Run } from './run.ts';
import { makesVersion, type Program, type Statement } from './statement.ts';
import type { Column } from './value.ts';

/** A program that still fails, and how. */
export interface Shrunk {
  readonly program: Program;
  readonly failure: Failure;
}

/** Smaller programs are tried so often. */
const TRIES = 150;

/**
 * A smaller program that fails as well: statements are left out and then rows, as long as
 * the sides still differ.
 */
export async function shrink(
  start: Shrunk,
  run: (program: Program) => Promise<Run>,
): Promise<Shrunk> {
  let best = start;
  let tries = 0;
  for (let smaller = true; smaller;) {
    smaller = false;
    for (const candidate of candidatesOf(best.program)) {
      if (++tries > TRIES) return best;
      const { failure } = await run(candidate);
      if (failure === undefined) continue;
      best = { program: candidate, failure };
      smaller = true;
      break;
    }
  }
  return best;
}

/** Programs with less in them, the much smaller ones first. */
function* candidatesOf(program: Program): Generator<Program> {
  const { statements, create } = program;
  for (const kept of without(statements))
    yield { ...program, statements: keepVersions(statements, kept) };
  for (const rows of fewerRows(create)) yield { ...program, create: rows };
  for (const [at, statement] of statements.entries()) {
    if (!('rows' in statement)) continue;
    for (const rows of fewerRows(statement.rows)) {
      yield { ...program, statements: statements.with(at, { ...statement, rows }) };
    }
  }
}

/** The list without halves of it, quarters of it, down to single entries. */
function* without<T>(all: readonly T[]): Generator<readonly T[]> {
  for (
    let size = Math.ceil(all.length / 2);
    size >= 1;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let from = all.length - size; from >= 0; from -= size) {
      yield all.filter((_, at) => at < from || at >= from + size);
    }
  }
}

/** Statements that name a version which is no more are left out too. */
function keepVersions(all: readonly Statement[], kept: readonly Statement[]): readonly Statement[] {
  if (all.length === kept.length) return kept;
  let versions = 1;
  return kept.filter((statement) => {
    const version = 'version' in statement ? statement.version : null;
    if (version !== null && version >= versions) return false;
    if (makesVersion(statement)) versions++;
    return true;
  });
}

function* fewerRows(columns: readonly Column[]): Generator<readonly Column[]> {
  const rows = Array.from({ length: columns[0]?.values.length ?? 0 }, (_, row) => row);
  for (const kept of without(rows)) {
    yield columns.map((column) => ({ ...column, values: kept.map((row) => column.values[row]!) }));
  }
}
