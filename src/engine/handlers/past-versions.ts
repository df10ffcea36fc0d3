import type { Store } from '../../store/store.ts';
import type { Storage } from '../../storage/storage.ts';
import type { BatchSource } from '../query/scan/batch-source.ts';
import type { Committer } from '../catalog/records/commit-loop.ts';
import type { LocalTables } from '../catalog/local-tables.ts';
import { Catalog } from '../catalog/catalog.ts';
import type { HandlerTable } from './call/handler.ts';
import type { ManifestStore } from '../versions/lines/manifest-store.ts';
import type { MemoryBudget } from '../format/memory/memory-budget.ts';
import type { TablePlaces } from '../format/table-places.ts';
import { Tables } from '../versions/tables.ts';
import { LanceTagFolder } from '../versions/managed/lance-refs.ts';
import { Tags } from '../versions/lines/tags.ts';
import type { AnswerMemory } from '../format/memory/answer-memory.ts';
import type { RowVerdicts } from '../query/restrict/row-verdicts.ts';
import type { MaskSecret } from '../query/restrict/mask-secret.ts';
import type { HeavyWork } from '../workers/heavy-work.ts';
import { countTableRows } from './rows/count-table-rows.ts';
import { demandsCredentials } from './call/table-credentials.ts';
import { describeTable } from './tables/describe-table.ts';
import { describeVersion } from './versions/table-versions.ts';
import { analyzeQuery, explainQuery } from './rows/explain-query.ts';
import { CatalogError } from '../../protocol/errors.ts';
import { queryTable } from './rows/table-reads.ts';
import { tableExists } from './tables.ts';
import { tagVersion } from './versions/tags.ts';

/** Parts for reading past versions. */
interface PastParts {
  readonly storage: Storage;
  /** Cached records. */
  readonly store: Store;
  readonly root: string;
  readonly places: TablePlaces;
  readonly memory: MemoryBudget;
  readonly manifests: ManifestStore;
  readonly reader: BatchSource;
  readonly heavy: HeavyWork;
  readonly answerMemory: AnswerMemory;
  readonly maskSecret: MaskSecret;
  readonly judged: RowVerdicts;
  readonly local: LocalTables;
}

/** Operations that can answer for a version from cached records without the store. */
export function pastHandlers({
  store,
  reader,
  heavy,
  answerMemory,
  maskSecret,
  judged,
  local,
  ...parts
}: PastParts): HandlerTable {
  const committer: Committer = {
    commit: (checks, writes) => store.commit(checks, writes),
    settle: () => Promise.reject(unsettled('what became of this version is known to it alone')),
  };
  const catalog = new Catalog(store, committer, [], local);
  const tables = new Tables({ ...parts, store, committer });
  const tags = new Tags(store, committer, new LanceTagFolder(parts.storage, undefined));
  const reads = { catalog, tables, tags, reader, heavy, answerMemory, maskSecret, judged };
  return {
    DescribeTable: async (call) => {
      if (demandsCredentials(call)) throw unsettled('no credentials are issued');
      return describeTable(catalog, tables, tags, call);
    },
    TableExists: (call) => tableExists(catalog, tables, call),
    DescribeTableVersion: describeVersion(catalog, tables),
    GetTableTagVersion: tagVersion({ catalog, tags }),
    QueryTable: queryTable(reads),
    CountTableRows: countTableRows(reads),
    ExplainTableQueryPlan: explainQuery(reads),
    AnalyzeTableQueryPlan: analyzeQuery(reads),
  };
}

function unsettled(why: string): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    `the store of the catalog does not answer, and ${why}`,
  );
}
