import { principalOf } from '../../gateway/identity/key-ring.ts';
import type { StoredKey } from '../../gateway/identity/keys.ts';
import { decideBound } from '../../policy/decide/restricted-verdict.ts';
import { CompiledSnapshot } from '../../policy/decide/compiled-snapshot.ts';
import { packPolicy } from '../../policy/decide/packed-policy.ts';
import type { PolicySnapshot } from '../../policy/decide/snapshot.ts';
import type { LoadedPolicy } from '../../policy/load.ts';
import type { PolicyLine } from '../../policy/lines/policy-line.ts';
import {
  summaryOfRestriction,
  type RestrictionSummary,
} from '../../policy/settings/restriction-book.ts';
import { namesInLines } from '../../policy/strangers.ts';
import { canonicalPath, type ObjectPath } from '../../protocol/identifier.ts';
import type { Principal } from '../../protocol/principal.ts';

/** Whether a caller can read a table: all of it, under restrictions, or only where a condition holds. */
export type ReadAccess = 'yes' | 'restricted' | 'conditional' | 'no';

/** A name of the policy, or a key with its own roles and scopes. */
export interface MatrixCaller {
  readonly subject: string;
  /** Id of the key; null for a name of the policy. */
  readonly key: string | null;
  readonly principal: Principal;
}

/** One cell of the matrix. */
export interface MatrixCell {
  readonly caller: MatrixCaller;
  /** Canonical path. */
  readonly table: string;
  readonly access: ReadAccess;
  /** The line that decides; null if no line does. */
  readonly rule: string | null;
  readonly restrictions: readonly RestrictionSummary[];
}

/** The operation that the matrix is about. */
export const READING = 'QueryTable';

/** Who can read which tables under a policy. */
export class ReadMatrix {
  readonly callers: readonly MatrixCaller[];
  readonly tables: readonly ObjectPath[];
  readonly #surely: PolicySnapshot;
  readonly #perhaps: PolicySnapshot;

  /** @param keys The keys that may be used. */
  constructor(policy: LoadedPolicy, keys: readonly StoredKey[], tables: readonly ObjectPath[]) {
    const names = [...namesInLines(policy)].toSorted();
    this.callers = [
      ...names.map((subject) => ({ subject, key: null, principal: named(subject) })),
      ...keys.map((key) => ({ subject: key.subject, key: key.id, principal: principalOf(key) })),
    ];
    this.tables = tables;
    this.#surely = policy.snapshot;
    this.#perhaps = withoutConditions(policy);
  }

  /** The cells of a table, in the order of the callers. */
  row(table: ObjectPath): readonly MatrixCell[] {
    return this.callers.map((caller) => this.#cell(caller, table));
  }

  #cell(caller: MatrixCaller, table: ObjectPath): MatrixCell {
    const place = { caller, table: canonicalPath(table) };
    const surely = decideBound(this.#surely, caller.principal, READING, table);
    const { verdict, restrictions } = surely.verdict.allowed
      ? surely
      : decideBound(this.#perhaps, caller.principal, READING, table);
    if (!verdict.allowed) {
      return { ...place, access: 'no', rule: surely.verdict.rule, restrictions: [] };
    }
    const isRestricted = restrictions.length > 0;
    const access = surely.verdict.allowed ? (isRestricted ? 'restricted' : 'yes') : 'conditional';
    return {
      ...place,
      access,
      rule: verdict.rule,
      restrictions: restrictions.map(summaryOfRestriction),
    };
  }
}

/** The policy where every condition of an allow line holds, and none of a deny line. */
function withoutConditions({ policies, roles, packed, settings, snapshot }: LoadedPolicy) {
  if (packed === null) return snapshot;
  const lines = policies.flatMap((line): readonly PolicyLine[] => {
    if (line.condition === undefined) return [line];
    return line.effect === 'deny' ? [] : [{ ...line, condition: undefined }];
  });
  return new CompiledSnapshot(packPolicy(lines, roles), settings);
}

function named(subject: string): Principal {
  return { subject, groups: [], roles: [], credential: { kind: 'key', id: '' } };
}
