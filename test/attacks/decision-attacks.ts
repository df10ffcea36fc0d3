import { conditionalModel } from '../policy/conditions.ts';

/** A request that must be refused. */
export interface DecisionAttack {
  readonly name: string;
  /** The role of the key that it comes with. */
  readonly role: string;
  /** `POST /v1/table/t/describe`. */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON body. */
  readonly body?: object;
  readonly status: number;
  /** Code of the error table. */
  readonly code: number;
}

/** What the service of these attacks is started with. */
export const attackedService = {
  model: conditionalModel,
  policy: `p, role:admin, /**, *, allow,
p, role:dev, /**, *, allow, branch == dev
p, role:brancher, /**, branch, allow,
p, role:brancher, /**, create, allow,
p, role:brancher, /**, read, allow,
p, role:brancher, /**, read, deny, branch == secret
p, role:reader, /prod/**, read, allow,
p, role:reader, /dev/**, *, deny,
`,
  config: `databases: { prod: /prod, dev: /dev }
trusted_proxies: [127.0.0.1]
authorize: { body_ids: unchecked }
`,
};

/** What an administrator sends before the attacks, after the table `prod$t` was created. */
export const preparation: readonly { readonly line: string; readonly body: object }[] = [
  { line: 'POST /v1/table/prod$t/branches/create', body: { name: 'dev' } },
  { line: 'POST /v1/table/prod$t/branches/create', body: { name: 'secret' } },
  { line: 'POST /v1/table/prod$t/tags/create', body: { tag: 'of-main', version: 1 } },
  { line: 'POST /v1/table/prod$t/tags/create', body: { tag: 'of-dev', version: 1, branch: 'dev' } },
  {
    line: 'POST /v1/table/prod$t/tags/create',
    body: { tag: 'of-secret', version: 1, branch: 'secret' },
  },
];

const invalid = { status: 400, code: 13 } as const;
const denied = { status: 403, code: 15 } as const;

/** Attacks on decisions; none of them changes anything. */
export const decisionAttacks: readonly DecisionAttack[] = [
  {
    name: 'moves a tag from a branch on which it has no right',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/update?branch=dev',
    body: { tag: 'of-main', version: 1 },
    ...denied,
  },
  {
    name: 'moves such a tag with the branch in the body',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/update',
    body: { tag: 'of-secret', version: 1, branch: 'dev' },
    ...denied,
  },
  {
    name: 'deletes a tag of a branch on which it has no right',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/delete',
    body: { tag: 'of-main' },
    ...denied,
  },
  {
    name: 'asks for the version of such a tag',
    role: 'dev',
    line: 'POST /v1/table/prod$t/tags/version',
    body: { tag: 'of-secret' },
    ...denied,
  },
  {
    name: 'counts rows by a tag of another branch',
    role: 'dev',
    line: 'POST /v1/table/prod$t/count_rows?branch=dev',
    body: { tag: 'of-secret' },
    ...denied,
  },
  {
    name: 'makes a branch of rows that it may not read',
    role: 'brancher',
    line: 'POST /v1/table/prod$t/branches/create',
    body: { name: 'mine', from_branch: 'secret' },
    ...denied,
  },
  {
    name: 'chooses the location of a table behind a proxy',
    role: 'admin',
    line: 'POST /authorize/v1/table/prod$new/create',
    headers: { 'x-lance-table-location': 's3://elsewhere/t' },
    ...denied,
  },
  {
    name: 'names another object in a body that only the catalog behind a proxy reads',
    role: 'reader',
    line: 'POST /authorize/v1/table/prod$t/query',
    body: { id: ['dev', 't'] },
    ...denied,
  },
  {
    name: 'has a proxy ask in one database and act in another',
    role: 'reader',
    line: 'POST /authorize/v1/table/t/insert',
    headers: { 'x-lancedb-database': 'prod' },
    ...denied,
  },
  {
    name: 'reads through a database what the policy denies',
    role: 'reader',
    line: 'POST /v1/table/t/count_rows',
    headers: { 'x-lancedb-database': 'dev' },
    body: {},
    ...denied,
  },
  {
    name: 'leaves a database by its prefix',
    role: 'reader',
    line: 'POST /v1/table/t/count_rows',
    headers: { 'x-lancedb-database': 'prod', 'x-lancedb-database-prefix': '../dev' },
    body: {},
    ...invalid,
  },
  {
    name: 'names a database that there is not',
    role: 'reader',
    line: 'POST /v1/table/prod$t/count_rows',
    headers: { 'x-lancedb-database': 'other' },
    body: {},
    ...denied,
  },
  {
    name: 'says two things in the two headers of one key',
    role: 'reader',
    line: 'POST /v1/table/prod$t/count_rows',
    headers: { 'x-service-ctx-team': 'a', 'x-lance-ctx-team': 'b' },
    body: {},
    ...invalid,
  },
];
