import type { Answer } from '../../protocol/backend.ts';
import { jsonAnswer } from '../answers.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Call } from '../handler.ts';
import { asksForPages, pageParameters } from '../parameters.ts';
import { areAll, type NamedTag, type Tags } from '../table/tags.ts';
import { restOn } from './basis.ts';
import { requireWrittenTable } from './table-parts.ts';

/** What the listing of tags works with. */
export interface TagListing {
  readonly catalog: Pick<Catalog, 'requireTable'>;
  readonly tags: Tags;
  /** The most entries that a listing answers at once. */
  readonly pageLimit: number;
}

/**
 * ListTableTags. The LanceDB client reads the map itself and takes it for all
 * there is, others a member of the answer (wire contract, section 9).
 */
export async function listTags(parts: TagListing, call: Call): Promise<Answer> {
  const { dialect } = call.request;
  const page = pageParameters(call, parts.pageLimit);
  const { object } = call.request;
  const table = await parts.catalog.requireTable(object);
  const { content } = table;
  requireWrittenTable(object, content);
  if (dialect === 'lancedb' && !asksForPages(call)) {
    const all = await parts.tags.all(content.id);
    restOn(call, table, all);
    return jsonAnswer(call, entriesOf(all.tags));
  }
  const found = await parts.tags.page(content.id, page.after, page.limit + 1);
  const shown = found.slice(0, page.limit);
  const isAll = page.after === '' && found.length === shown.length;
  if (isAll) restOn(call, table, { checks: areAll(content.id, shown) });
  if (dialect === 'lancedb') return jsonAnswer(call, entriesOf(shown));
  const token = found.length > shown.length ? shown.at(-1)?.name : undefined;
  return jsonAnswer(call, { tags: entriesOf(shown), page_token: token });
}

function entriesOf(tags: readonly NamedTag[]): object {
  return Object.fromEntries(
    tags.map(({ name, tag: { branch, version, manifestBytes } }) => [
      name,
      { ...(branch !== null && { branch }), version, manifestSize: manifestBytes },
    ]),
  );
}
