import type { RequestFilter } from '../../audit/search/filter.ts';
import { typedFilter, type TypedFilter } from '../../gateway/replay/typed-filter.ts';
import { windowOf, type PeriodFlags } from '../config/key-details.ts';
import { UsageError } from '../output/service-error.ts';

/** Flags of `audit search`, as strings. */
export interface FilterFlags extends PeriodFlags, TypedFilter {}

/** @throws UsageError for a value that can mean nothing */
export function filterOf(flags: FilterFlags): RequestFilter {
  const typed = typedFilter(flags);
  if ('fault' in typed) throw new UsageError(`--${typed.name} ${typed.fault}`);
  return { ...windowOf(flags), ...typed.filter };
}
