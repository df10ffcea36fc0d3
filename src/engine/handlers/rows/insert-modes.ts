/** Modes of an insert. */
export const insertModes = {
  append: { kind: 'append', classes: new Set() },
  overwrite: { kind: 'overwrite', classes: new Set(['modify']) },
} as const;
