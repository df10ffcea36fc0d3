import { CatalogError } from '../../../protocol/errors.ts';
import type { Handler, HandlerTable } from '../call/handler.ts';

const noFunctions =
  'this service runs no code of clients: it keeps no functions; a computed column takes SQL';
const noViews =
  'this service keeps no materialized views: it has nothing that follows the tables of a source_query';

function refuse(message: string): Handler {
  return () => Promise.reject(new CatalogError('Unsupported', message));
}

/** Operations that are not supported; each explains why. */
export const foreignCodeHandlers: HandlerTable = {
  CreateFunction: refuse(noFunctions),
  GetFunction: refuse(noFunctions),
  CreateMaterializedView: refuse(noViews),
  RefreshMaterializedView: refuse(noViews),
};
