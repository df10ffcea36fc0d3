import { useState } from 'preact/hooks';
import { ApiError, post, useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { count, time } from '../format.ts';
import type { DroppedTables } from '../policy-types.ts';
import { address, Link } from '../router.tsx';
import { Empty, StateOf } from '../states.tsx';

type Table = DroppedTables['dropped'][number];

/** Dropped tables that can be brought back. */
export function Dropped() {
  const found = useApi<DroppedTables>('dropped');
  const [asked, setAsked] = useState<Table | undefined>();
  const [back, setBack] = useState<string | undefined>();
  const finish = (table: string | undefined): void => {
    setAsked(undefined);
    setBack(table);
    if (table !== undefined) found.reload();
  };
  return (
    <>
      <h1>Dropped tables</h1>
      {back !== undefined && (
        <p class="attention" role="status">
          <Link to={address('catalog', { table: back })}>{back}</Link> is back, with its versions,
          tags and properties.
        </p>
      )}
      {asked !== undefined && <Undrop key={asked.id} of={asked} finish={finish} />}
      <StateOf of={found} what="dropped tables">
        {({ dropped, total }) =>
          dropped.length === 0 ? (
            <Empty>
              <h2>No dropped table is kept</h2>
              <p>A dropped table can be brought back here until its retention ends.</p>
            </Empty>
          ) : (
            <>
              <List dropped={dropped} ask={setAsked} />
              {total > dropped.length && (
                <p class="faint">
                  The last {count(dropped.length)} of {count(total)}.
                </p>
              )}
            </>
          )
        }
      </StateOf>
    </>
  );
}

interface ListProps {
  readonly dropped: readonly Table[];
  readonly ask: (table: Table) => void;
}

function List({ dropped, ask }: ListProps) {
  const mayUndrop = dropped.some((one) => one.may_undrop);
  return (
    <>
      {!mayUndrop && (
        <p class="faint">
          Callers with the right <code>manage</code> on a table can bring it back.
        </p>
      )}
      <table class="rows">
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col">Dropped (UTC)</th>
            <th scope="col">Kept until (UTC)</th>
            <th scope="col">Id</th>
            {mayUndrop && <th scope="col">Change</th>}
          </tr>
        </thead>
        <tbody>
          {dropped.map((one) => (
            <tr key={one.id}>
              <td data-label="Table" class="mono">
                <Link to={address('trail', { since: '30d', object: one.table })}>{one.table}</Link>
              </td>
              <td data-label="Dropped (UTC)">{time(one.dropped).slice(0, 19)}</td>
              <td data-label="Kept until (UTC)">{time(one.until).slice(0, 19)}</td>
              <td data-label="Id" class="mono">
                {one.id}
              </td>
              {mayUndrop && (
                <td data-label="Change">
                  {one.may_undrop && (
                    <button
                      type="button"
                      aria-label={`Bring back ${one.table}`}
                      onClick={() => ask(one)}
                    >
                      Bring back
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface UndropProps {
  readonly of: Table;
  readonly finish: (table: string | undefined) => void;
}

/** Asks for the path of a table that comes back. */
function Undrop({ of: { table, id }, finish }: UndropProps) {
  const [error, setError] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const as = fieldOf(new FormData(event.currentTarget as HTMLFormElement), 'as');
    setBusy(true);
    post<{ readonly table: string }>('dropped/undrop', {
      table,
      id,
      ...(as === table ? {} : { as }),
    })
      .then((done) => finish(done.table))
      .catch((failed: unknown) => {
        setBusy(false);
        setError(failed instanceof ApiError ? failed.message : String(failed));
      });
  };
  return (
    <form class="card undrop" aria-label={`Bring back ${table}`} onSubmit={submit}>
      <h2>Bring back {table}</h2>
      <div>
        <label for="as">Path that it gets</label>
        <input id="as" name="as" defaultValue={table} required spellcheck={false} />
      </div>
      {error !== undefined && (
        <p class="fault" role="alert">
          {error}
        </p>
      )}
      <div class="submit">
        <button type="submit" class="primary" disabled={busy}>
          Bring it back
        </button>
        <button type="button" onClick={() => finish(undefined)}>
          Cancel
        </button>
      </div>
    </form>
  );
}
