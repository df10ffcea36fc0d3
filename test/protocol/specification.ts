import { readFileSync } from 'node:fs';

/** One row of operations.json. */
export interface SpecifiedOperation {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly object: string;
  readonly mutates: boolean;
  readonly query: readonly string[];
  readonly request: string;
  readonly response: string;
  readonly statuses: string;
  readonly modeInBody?: string;
  readonly objectsInBody?: string;
}

function fixture(name: string): unknown {
  const path = new URL(`../fixtures/protocol/${name}`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The operations as the specification has them. */
export const specified = fixture('operations.json') as readonly SpecifiedOperation[];

/** The models as the specification has them: `name!: kind` for each field, or one kind. */
export const specifiedModels = fixture('models.json') as Readonly<
  Record<string, string | readonly string[]>
>;
