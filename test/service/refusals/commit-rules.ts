import type { RefusalGroup } from '../refusal.ts';
import { goodRows } from '../table-bodies.ts';

/** The rules that refuse what is asked below; everything lies in the namespace `ruled`. */
export const RULES = `rules:
  - name: kept
    tables: [/ruled/kept]
    require: { append_only: true, no_drop: true, protected_tags: [gold], protected_branches: [dev] }
  - { name: few, tables: [/ruled/few], require: { max_rows: 3, max_removed_share: 0.5 } }
  - { name: same, tables: [/ruled/same], require: { schema: locked, unique: [id], check: 'id < 3' }, operations: [modify, schema, append] }
  - { name: asked, tables: [/ruled/asked], require: { context: [ticket] } }
`;

const by = (rule: string) => (fault: string) =>
  `the commit rule ${rule} refuses this of /ruled/${rule}: ${fault}`;
const [kept, few, same, asked] = ['kept', 'few', 'same', 'asked'].map(by) as [By, By, By, By];

type By = ReturnType<typeof by>;

/** What is asked of a table of the namespace, and why a rule refuses it. */
type Ruled = readonly [string, object | Uint8Array, string];

const declareAndDeregister = {
  operations: [
    { declare_table: { id: ['ruled', 'new'] } },
    { deregister_table: { id: ['ruled', 'kept'] } },
  ],
};
const taken = 'it removes 3 of 3 rows, and at most a share of 0.5 may be removed';

const ruled: readonly Ruled[] = [
  ['ruled$kept/drop', {}, kept('the table may not be dropped')],
  ['ruled$kept/deregister', {}, kept('the table may not be deregistered')],
  [
    'ruled$kept/rename',
    { new_table_name: 'gone' },
    kept('the table may not be renamed to /ruled/gone, which the rule does not cover'),
  ],
  [
    'batch-commit',
    declareAndDeregister,
    kept('the table may only be appended to, not deregistered'),
  ],
  [
    'ruled$kept/create?mode=overwrite',
    goodRows,
    kept('the table may only be appended to, not overwritten'),
  ],
  ['ruled$kept/insert?mode=overwrite', goodRows, kept('the table may not be overwritten')],
  [
    'ruled$kept/restore',
    { version: 1 },
    kept('the table may only be appended to, not restored to an older version'),
  ],
  [
    'ruled$kept/update',
    { updates: [['ok', 'false']] },
    kept('it changes 3 rows of a table that only gets more'),
  ],
  [
    'ruled$kept/delete',
    { predicate: 'id = 1' },
    kept('it removes 1 row of a table that only gets more'),
  ],
  ['ruled$kept/tags/update', { tag: 'gold', version: 1 }, kept('the tag "gold" is protected')],
  ['ruled$kept/tags/delete', { tag: 'gold' }, kept('the tag "gold" is protected')],
  ['ruled$kept/branches/delete', { name: 'dev' }, kept('the branch "dev" is protected')],
  ['ruled$few/insert?mode=overwrite', goodRows, few(taken)],
  ['ruled$few/delete', { predicate: 'true' }, few(taken)],
  ['ruled$few/drop', {}, few(taken)],
  ['ruled$same/insert', goodRows, same('the check "id < 3" is not true of a row with id = 3')],
  [
    'ruled$same/merge_insert?on=id&when_matched_update_all=true',
    goodRows,
    same('the check "id < 3" is not true of a row with id = 3'),
  ],
  [
    'ruled$same/update',
    { updates: [['id', '1']] },
    same('several rows would have id = 1, and no two may'),
  ],
  [
    'ruled$same/add_columns',
    { new_columns: [{ name: 'more', expression: '1' }] },
    same('the column "more" would be added, and the schema is locked'),
  ],
  [
    'ruled$same/alter_columns',
    { alterations: [{ path: 'ok', rename: 'fine' }] },
    same('the column "ok" would be gone, and the schema is locked'),
  ],
  [
    'ruled$same/drop_columns',
    { columns: ['ok'] },
    same('the column "ok" would be gone, and the schema is locked'),
  ],
  ['ruled$asked/create', goodRows, asked('the request\'s context has no "ticket"')],
  ['ruled$asked/declare', {}, asked('the request\'s context has no "ticket"')],
];

export const commitRules: readonly RefusalGroup[] = [
  {
    what: 'what a commit rule forbids',
    rows: [
      ...ruled.map(
        ([path, body, fault]) =>
          [`POST /v1/table/${path}`, { body }, '400 allow 20', fault] as const,
      ),
      [
        'POST /v1/namespace/ruled/drop',
        { body: { behavior: 'Cascade' } },
        '400 allow 20',
        few(taken),
      ],
    ],
  },
];
