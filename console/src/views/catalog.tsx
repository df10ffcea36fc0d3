import { useApi, type Loaded } from '../api.ts';
import { callOf, namesOf, pathOf, type Names } from '../names.ts';
import { address, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';
import { TablePage } from './table.tsx';

/** Names of a listing, and where it goes on. */
interface Listing {
  readonly namespaces?: readonly string[];
  readonly tables?: readonly string[];
  readonly page_token?: string;
}

const PAGE = '100';

/** Namespaces and tables that the caller may see, or one table. */
export function Catalog({ query }: { readonly query: URLSearchParams }) {
  const table = query.get('table');
  const names = namesOf(table ?? query.get('in') ?? '/');
  return (
    <>
      <div class="title">
        <div>
          <Trace names={names} />
          <h1>{names.at(-1) ?? 'Catalog'}</h1>
        </div>
        <div class="actions">
          {names.length === 0 && (
            <Link to="catalog/dropped" class="button">
              Dropped tables
            </Link>
          )}
          <Link
            to={address('trail', { since: '7d', object: didPattern(names, table !== null) })}
            class="button"
          >
            What was done here
          </Link>
        </div>
      </div>
      {table === null ? (
        <Namespace key={pathOf(names)} names={names} query={query} />
      ) : (
        <TablePage key={table} names={names} query={query} />
      )}
    </>
  );
}

function didPattern(names: Names, isTable: boolean): string {
  if (isTable) return pathOf(names);
  return names.length === 0 ? '/**' : `${pathOf(names)}/**`;
}

/** The namespaces above, each a link. */
function Trace({ names }: { readonly names: Names }) {
  if (names.length === 0) return null;
  const above = names.slice(0, -1).map((_name, at) => names.slice(0, at + 1));
  return (
    <nav aria-label="Namespaces above" class="trace">
      <Link to="catalog">Catalog</Link>
      {above.map((each) => (
        <span key={pathOf(each)}>
          {' / '}
          <Link to={address('catalog', { in: pathOf(each) })}>{each.at(-1)}</Link>
        </span>
      ))}
    </nav>
  );
}

function Namespace({ names, query }: { readonly names: Names; readonly query: URLSearchParams }) {
  const [spacesAfter, tablesAfter] = ['namespaces_after', 'tables_after'].map(
    (name) => query.get(name) ?? '',
  );
  const spaces = useApi<Listing>(
    callOf('namespace', names, 'list', { limit: PAGE, page_token: spacesAfter! }),
  );
  const tables = useApi<Listing>(
    callOf('namespace', names, 'table/list', { limit: PAGE, page_token: tablesAfter! }),
  );
  const here = { in: pathOf(names) };
  const isEmpty =
    spaces.data?.namespaces?.length === 0 &&
    tables.data?.tables?.length === 0 &&
    spacesAfter === '' &&
    tablesAfter === '';
  if (isEmpty) {
    return (
      <Empty>
        <h2>Nothing that you may see</h2>
        <p>
          The catalog shows what the policy allows you to list and describe, such as with{' '}
          <code>p, role:auditor, /**, describe, allow</code>.
        </p>
      </Empty>
    );
  }
  return (
    <div class="cards">
      <Listed
        title="Namespaces"
        of={spaces}
        entries={(found) => found.namespaces ?? []}
        to={(name) => address('catalog', { in: pathOf([...names, name]) })}
        more={(token) => address('catalog', { ...here, namespaces_after: token })}
      />
      <Listed
        title="Tables"
        of={tables}
        entries={(found) => found.tables ?? []}
        to={(name) => address('catalog', { table: pathOf([...names, name]) })}
        more={(token) => address('catalog', { ...here, tables_after: token })}
      />
    </div>
  );
}

interface ListedProps {
  readonly title: string;
  readonly of: Loaded<Listing>;
  readonly entries: (found: Listing) => readonly string[];
  readonly to: (name: string) => string;
  readonly more: (token: string) => string;
}

function Listed({ title, of, entries, to, more }: ListedProps) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <StateOf of={of} what={title.toLowerCase()}>
        {(found) => (
          <>
            {entries(found).length === 0 && <p class="faint">None.</p>}
            <ul class="plain names">
              {entries(found).map((name) => (
                <li key={name}>
                  <Link to={to(name)}>{name}</Link>
                </li>
              ))}
            </ul>
            {found.page_token !== undefined && found.page_token !== '' && (
              <nav class="pages" aria-label={`Pages of ${title.toLowerCase()}`}>
                <Link to={more(found.page_token)}>More {title.toLowerCase()}</Link>
              </nav>
            )}
          </>
        )}
      </StateOf>
    </section>
  );
}
