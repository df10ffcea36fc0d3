import type { ColumnFacts, VersionChange } from './commit-facts.ts';
import type { PlainType, RequiredColumn } from './commit-rule.ts';
import { sameColumns } from './table-change.ts';

type Judge = (change: VersionChange) => string | undefined;

/** The fault of a schema change; undefined if there is none. */
export const schemaJudges: Readonly<Record<'additive' | 'locked', Judge>> = {
  additive: ({ before, after }) => {
    if (before === null) return undefined;
    return (
      before.columns.map((column) => lossOf(column, after.columns)).find(isFault) ??
      after.columns.map((column) => additionFault(column, before.columns)).find(isFault)
    );
  },
  locked: ({ before, after }) => {
    if (before === null || sameColumns(before.columns, after.columns)) return undefined;
    const change =
      before.columns.map((column) => lossOf(column, after.columns)).find(isFault) ??
      after.columns.map((column) => novelty(column, before.columns)).find(isFault) ??
      'the columns would stand in another order';
    return `${change}, and the schema is locked`;
  },
};

function isFault(text: string | undefined): text is string {
  return text !== undefined;
}

function named(columns: readonly ColumnFacts[], name: string): ColumnFacts | undefined {
  return columns.find((column) => column.name === name);
}

function lossOf(column: ColumnFacts, after: readonly ColumnFacts[]): string | undefined {
  const name = JSON.stringify(column.name);
  const retained = named(after, column.name);
  if (retained === undefined) return `the column ${name} would be gone`;
  if (retained.exact !== column.exact) {
    return `the column ${name} would become ${retained.exact} instead of ${column.exact}`;
  }
  if (retained.nullable === column.nullable) return undefined;
  return `the column ${name} would become ${retained.nullable ? '' : 'not '}nullable`;
}

function novelty({ name }: ColumnFacts, before: readonly ColumnFacts[]): string | undefined {
  return named(before, name) === undefined
    ? `the column ${JSON.stringify(name)} would be added`
    : undefined;
}

function additionFault(column: ColumnFacts, before: readonly ColumnFacts[]): string | undefined {
  const added = column.nullable ? undefined : novelty(column, before);
  return added === undefined ? undefined : `${added}, and it is not nullable`;
}

/** The first required column that a table has not, or not so. */
export function columnsFault(
  columns: readonly ColumnFacts[],
  required: readonly RequiredColumn[],
): string | undefined {
  for (const { name, type, nullable } of required) {
    const found = named(columns, name);
    const quoted = JSON.stringify(name);
    if (found === undefined) return `the table would have no column ${quoted}`;
    if (!sameType(found.plain, type)) {
      return `the column ${quoted} would be of type ${typeText(found.plain)}, not ${typeText(type)}`;
    }
    if (nullable !== undefined && nullable !== found.nullable) {
      return `the column ${quoted} would be ${found.nullable ? '' : 'not '}nullable`;
    }
  }
  return undefined;
}

/** Parameters of a nested type that a rule does not give may have any value. */
function sameType(found: PlainType, wanted: PlainType): boolean {
  if (found.type !== wanted.type) return false;
  if (wanted.length !== undefined && wanted.length !== found.length) return false;
  if (wanted.fields === undefined) return true;
  const fields = found.fields ?? [];
  return (
    fields.length === wanted.fields.length &&
    wanted.fields.every((field, at) => {
      const beside = fields[at]!;
      return (
        beside.name === field.name &&
        beside.nullable === field.nullable &&
        sameType(beside.type, field.type)
      );
    })
  );
}

function typeText({ type, fields, length }: PlainType): string {
  const inner = fields?.map((field) => `${field.name}: ${typeText(field.type)}`).join(', ');
  return `${type}${inner === undefined ? '' : `<${inner}>`}${length === undefined ? '' : `[${length}]`}`;
}
