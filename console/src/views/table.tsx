import { useApi } from '../api.ts';
import { fieldOf } from '../form.ts';
import { bytes, count, time } from '../format.ts';
import { callOf, pathOf, type Names } from '../names.ts';
import { address, go, Link } from '../router.tsx';
import { StateOf, Figure } from '../states.tsx';
import type {
  Branches,
  Commits,
  Described,
  Field,
  Indices,
  Jobs,
  Row,
  Stats,
  Tags,
  Versions,
  Who,
} from '../types.ts';

interface TableProps {
  readonly names: Names;
  readonly query: URLSearchParams;
}

/** A table: its schema, its versions, and who may do what with it. */
export function TablePage({ names, query }: TableProps) {
  const branch = query.get('branch') ?? '';
  const body = branch === '' ? {} : { branch };
  const described = useApi<Described>(callOf('table', names, 'describe'), body);
  const stats = useApi<Stats>(callOf('table', names, 'stats'), body);
  const [one, other] = [query.get('one') ?? '', query.get('other') ?? ''];
  return (
    <>
      <StateOf of={described} what="the table">
        {({ version, schema }) => (
          <div class="stack">
            <dl class="headline">
              <Figure name="Version" value={version === undefined ? '–' : count(version)} />
              <Figure
                name="Rows"
                value={stats.data === undefined ? '–' : count(stats.data.num_rows)}
              />
              <Figure
                name="Size"
                value={stats.data === undefined ? '–' : bytes(stats.data.total_bytes)}
              />
              <Figure
                name="Columns"
                value={schema === undefined ? '–' : count(schema.fields.length)}
              />
            </dl>
            {branch !== '' && (
              <p>
                Branch <strong>{branch}</strong>.{' '}
                <Link to={address('catalog', { table: pathOf(names) })}>Show the main branch</Link>
              </p>
            )}
            <History names={names} query={query} />
            {one !== '' && other !== '' && (
              <Comparison names={names} branch={branch} one={one} other={other} />
            )}
            <div class="cards">
              <section class="card" aria-label="Schema">
                <h2>Schema</h2>
                {schema === undefined ? (
                  <p class="faint">Declared only.</p>
                ) : (
                  <Schema fields={schema.fields} />
                )}
              </section>
              <WhoCan names={names} action={query.get('action') ?? 'read'} />
              <Lines names={names} />
              <IndexList names={names} body={body} />
              <JobList names={names} />
            </div>
          </div>
        )}
      </StateOf>
    </>
  );
}

/** A type of a column in one line, such as `fixed_size_list(2)<float32>`. */
function typeText({ type, length, fields, ...others }: Field['type']): string {
  const given = [length, ...Object.values(others)].filter((value) => value !== undefined);
  const inner = (fields ?? []).map((field) => `${field.name}: ${typeText(field.type)}`).join(', ');
  const parameters = given.length === 0 ? '' : `(${given.map(String).join(', ')})`;
  return `${type}${parameters}${inner === '' ? '' : `<${inner}>`}`;
}

function fieldText({ type, nullable }: Field): string {
  return `${typeText(type)}${nullable === false ? ', not null' : ''}`;
}

function Schema({ fields }: { readonly fields: readonly Field[] }) {
  return (
    <table class="top">
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col" class="type">
            Type
          </th>
        </tr>
      </thead>
      <tbody>
        {fields.map((field) => (
          <tr key={field.name}>
            <td>{field.name}</td>
            <td class="mono">{fieldText(field)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The newest versions, each with the request that made it as far as the log has it. */
function History({ names, query }: TableProps) {
  const path = pathOf(names);
  const branch = query.get('branch') ?? '';
  const after = query.get('after') ?? '';
  const compared = { one: query.get('one'), other: query.get('other') };
  const versions = useApi<Versions>(
    callOf('table', names, 'version/list', {
      descending: 'true',
      limit: '20',
      branch,
      page_token: after,
    }),
  );
  const commits = useApi<Commits>(address('commits', { object: path }));
  const byVersion = new Map(
    (commits.data?.commits ?? [])
      .filter((row) => (row.branch ?? 'main') === (branch === '' ? 'main' : branch))
      .map((row) => [String(row.commit?.version), row]),
  );
  const compare = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const [one, other] = [fieldOf(data, 'one'), fieldOf(data, 'other')];
    go(address('catalog', { table: path, branch, after, one, other }));
  };
  return (
    <section aria-label="Versions">
      <h2>Versions</h2>
      <StateOf of={versions} what="versions">
        {({ versions: found, page_token: next }) => (
          <form onSubmit={compare}>
            <table class="rows">
              <thead>
                <tr>
                  <th scope="col">Version</th>
                  <th scope="col">Time (UTC)</th>
                  <th scope="col">Who</th>
                  <th scope="col">What</th>
                  <th scope="col" class="number">
                    Rows
                  </th>
                  <th scope="col">Compare</th>
                </tr>
              </thead>
              <tbody>
                {found.map(({ version, timestamp_millis }, at) => (
                  <VersionRow
                    key={version}
                    version={String(version)}
                    at={timestamp_millis}
                    by={byVersion.get(String(version))}
                    isOne={compared.one === null ? at === 1 : compared.one === String(version)}
                    isOther={
                      compared.other === null ? at === 0 : compared.other === String(version)
                    }
                  />
                ))}
              </tbody>
            </table>
            <nav class="pages" aria-label="Pages of versions">
              {found.length > 1 && <button type="submit">Compare two versions</button>}
              {after !== '' && <Link to={address('catalog', { table: path, branch })}>Newest</Link>}
              {next !== undefined && next !== '' && (
                <Link to={address('catalog', { table: path, branch, after: next })}>Older</Link>
              )}
            </nav>
          </form>
        )}
      </StateOf>
    </section>
  );
}

interface VersionRowProps {
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly at: number | undefined;
  readonly by: Row | undefined;
  /** Whether it is chosen as the one to compare from, and to. */
  readonly isOne: boolean;
  readonly isOther: boolean;
}

function VersionRow({ version, at, by, isOne, isOther }: VersionRowProps) {
  const commit = by?.commit;
  return (
    <tr>
      <td data-label="Version">{version}</td>
      <td data-label="Time">{at === undefined ? '–' : time(new Date(at).toISOString())}</td>
      <td data-label="Who">{by?.subject ?? <span class="faint">not in the log</span>}</td>
      <td data-label="What">
        <span>
          {by === undefined ? (
            '–'
          ) : (
            <Link to={address(`request/${by.decision_id}`, { began: by.began })}>
              {by.operation}
            </Link>
          )}
          {commit?.schemaChanged === true && <span class="faint">, changed the schema</span>}
        </span>
      </td>
      <td data-label="Rows" class="number">
        {commit === undefined || commit === null
          ? '–'
          : `+${count(commit.rowsAdded)} −${count(commit.rowsRemoved)}`}
      </td>
      <td data-label="Compare">
        <span class="actions">
          <label>
            <input type="radio" name="one" value={version} defaultChecked={isOne} />{' '}
            <span class="sr">Version {version} as the </span>from
          </label>
          <label>
            <input type="radio" name="other" value={version} defaultChecked={isOther} />{' '}
            <span class="sr">Version {version} as the </span>to
          </label>
        </span>
      </td>
    </tr>
  );
}

interface ComparisonProps {
  readonly names: Names;
  readonly branch: string;
  readonly one: string;
  readonly other: string;
}

/** The columns that two versions do not share, and what the commits between them did with rows. */
function Comparison({ names, branch, one, other }: ComparisonProps) {
  const call = callOf('table', names, 'describe');
  const on = branch === '' ? {} : { branch };
  const before = useApi<Described>(call, { ...on, version: Number(one) });
  const after = useApi<Described>(call, { ...on, version: Number(other) });
  return (
    <section class="card" aria-label="Comparison">
      <h2>
        From version {one} to version {other}
      </h2>
      <StateOf of={before} what={`version ${one}`}>
        {(earlier) => (
          <StateOf of={after} what={`version ${other}`}>
            {(later) => (
              <SchemaChanges
                before={earlier.schema?.fields ?? []}
                after={later.schema?.fields ?? []}
              />
            )}
          </StateOf>
        )}
      </StateOf>
    </section>
  );
}

interface SchemaChangesProps {
  readonly before: readonly Field[];
  readonly after: readonly Field[];
}

function SchemaChanges({ before, after }: SchemaChangesProps) {
  const [earlier, later] = [before, after].map(
    (fields) => new Map(fields.map((field) => [field.name, fieldText(field)])),
  );
  const all = [...new Set([...earlier!.keys(), ...later!.keys()])];
  const changed = all.filter((name) => earlier!.get(name) !== later!.get(name));
  if (changed.length === 0) return <p>The columns are the same.</p>;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changed.map((name) => (
          <tr key={name}>
            <td>{name}</td>
            <td class="mono">{earlier!.get(name) ?? 'absent'}</td>
            <td class="mono">{later!.get(name) ?? 'absent'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const ACTIONS = ['read', 'describe', 'append', 'modify', 'schema', 'index', 'drop', 'manage'];

/** Who may do something with the table, by the policy in force. */
function WhoCan({ names, action }: { readonly names: Names; readonly action: string }) {
  const path = pathOf(names);
  const who = useApi<Who>(address('who', { action, object: path }));
  const choose = (event: Event): void => {
    go(
      address('catalog', { table: path, action: (event.target as HTMLSelectElement).value }),
      true,
    );
  };
  return (
    <section class="card" aria-label="Who can">
      <h2>Who can</h2>
      <label for="action">Action</label>
      <select id="action" onChange={choose}>
        {ACTIONS.map((name) => (
          <option key={name} selected={name === action}>
            {name}
          </option>
        ))}
      </select>
      <StateOf of={who} what="who can">
        {({ found }) => (
          <>
            {found.length === 0 && <p>Nobody that the policy names, and no key.</p>}
            <ul class="plain">
              {found.map(({ subject, key, rule, restrictions }) => (
                <li key={`${subject} ${key}`}>
                  <Link to={address('access', { subject, action, object: path })}>{subject}</Link>{' '}
                  {key !== null && <span>with key {key} </span>}
                  <span class="faint">by {rule}</span>
                  {restrictions.length > 0 && (
                    <span>, a part of it: {restrictions.join(', ')}</span>
                  )}
                </li>
              ))}
            </ul>
          </>
        )}
      </StateOf>
    </section>
  );
}

/** Branches and tags. */
function Lines({ names }: { readonly names: Names }) {
  const branches = useApi<Branches>(callOf('table', names, 'branches/list'), {});
  const tags = useApi<Tags>(callOf('table', names, 'tags/list'), {});
  const path = pathOf(names);
  return (
    <section class="card" aria-label="Branches and tags">
      <h2>Branches and tags</h2>
      <StateOf of={branches} what="branches">
        {(found) => (
          <ul class="plain">
            <li>
              <Link to={address('catalog', { table: path })}>main</Link>
            </li>
            {Object.entries(found.branches).map(([name, { parentVersion }]) => (
              <li key={name}>
                <Link to={address('catalog', { table: path, branch: name })}>{name}</Link>{' '}
                <span class="faint">from version {parentVersion ?? '–'}</span>
              </li>
            ))}
          </ul>
        )}
      </StateOf>
      <h3>Tags</h3>
      <StateOf of={tags} what="tags">
        {(found) => (
          <>
            {Object.keys(found.tags).length === 0 && <p class="faint">None.</p>}
            <ul class="plain">
              {Object.entries(found.tags).map(([name, { version }]) => (
                <li key={name}>
                  {name} <span class="faint">at version {version}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </StateOf>
    </section>
  );
}

function IndexList({ names, body }: { readonly names: Names; readonly body: object }) {
  const indices = useApi<Indices>(callOf('table', names, 'index/list'), body);
  return (
    <section class="card" aria-label="Indices">
      <h2>Indices</h2>
      <StateOf of={indices} what="indices">
        {({ indexes }) => (
          <>
            {indexes.length === 0 && <p class="faint">None.</p>}
            <ul class="plain">
              {indexes.map(({ index_name, index_type, columns, num_unindexed_rows }) => (
                <li key={index_name}>
                  <strong>{index_name}</strong>{' '}
                  <span class="faint">
                    {index_type} on {columns.join(', ')}
                    {num_unindexed_rows !== undefined &&
                      Number(num_unindexed_rows) > 0 &&
                      `, ${count(num_unindexed_rows)} rows not indexed`}
                  </span>
                </li>
              ))}
            </ul>
          </>
        )}
      </StateOf>
    </section>
  );
}

/** The jobs of a table, as the caller may see them. */
function JobList({ names }: { readonly names: Names }) {
  const jobs = useApi<Jobs>('v1/jobs/list', {});
  const own = names.join('$');
  return (
    <section class="card" aria-label="Jobs">
      <h2>Jobs</h2>
      <StateOf of={jobs} what="jobs">
        {({ jobs: all }) => {
          const found = all.filter(({ table }) => table === own);
          if (found.length === 0) return <p class="faint">None.</p>;
          return (
            <ul class="plain">
              {found.map((job) => (
                <JobLine key={job.job_id} job={job} />
              ))}
            </ul>
          );
        }}
      </StateOf>
    </section>
  );
}

interface JobDetails {
  readonly result?: { readonly rows_done?: number; readonly rows_total?: number };
  readonly failure?: { readonly message?: string };
}

function JobLine({ job }: { readonly job: Jobs['jobs'][number] }) {
  const details = useApi<JobDetails>('v1/jobs/describe', { job_id: job.job_id });
  const { rows_done: done, rows_total: total } = details.data?.result ?? {};
  return (
    <li>
      <strong>{job.job_type}</strong> {job.state.toLowerCase()}{' '}
      <span class="faint">
        since {time(new Date(job.created_at_millis).toISOString()).slice(0, 16)}
      </span>
      {done !== undefined && total !== undefined && (
        <progress value={done} max={Math.max(total, 1)} aria-label={`Rows of ${job.job_type}`}>
          {count(done)} of {count(total)} rows
        </progress>
      )}
      {details.data?.failure?.message !== undefined && (
        <span class="fault">{details.data.failure.message}</span>
      )}
    </li>
  );
}
