import type { TableRecord } from './records.ts';

/** Judges what is done to a table before it is committed. @throws CatalogError for what may not be done. */
export type JudgeTable = (record: TableRecord) => Promise<void>;
